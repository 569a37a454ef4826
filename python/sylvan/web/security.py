"""Access to the server: hosts, origins, a token.

- *Host.* Every request must name this server: a page of another site that resolves its own name to
  127.0.0.1 (DNS rebinding) names its own host.
- *Origin.* A websocket must come from a page of this server: browsers let any page open a
  websocket to any server, and say which page it was.
- *Token.* On any other address than loopback, a request needs the token that the server printed:
  once as `?token=`, then as a cookie that scripts cannot read. It is compared in constant time.
- *Content-Security-Policy.* The page may load and connect to nothing but this server.
"""

from __future__ import annotations

import ipaddress
import secrets
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.datastructures import URL
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Guard", "Policy", "is_loopback"]

COOKIE = "sylvan_token"

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Policy:
    """Whom the server answers."""

    host: str = "127.0.0.1"
    """The address it listens on."""
    names: tuple[str, ...] = ()
    """Other names by which pages may call it."""
    token: str | None = field(default=None, repr=False)
    """None: no token is needed."""

    @classmethod
    def of(cls, host: str, names: tuple[str, ...] = ()) -> Policy:
        """The policy for an address: a new token unless it is loopback."""
        return cls(host, names, None if is_loopback(host) else secrets.token_urlsafe(24))

    def is_known(self, authority: str | None) -> bool:
        """Whether a Host header, or the host of an origin, names this server."""
        name = _name(authority)
        if name is None:
            return False
        if is_loopback(name) or name in (self.host, *self.names):
            return True
        # All addresses of this machine: an IP address cannot be rebound, a name can.
        return self.host in ("0.0.0.0", "::") and _is_address(name)

    def is_own_page(self, origin: str | None, host: str | None) -> bool:
        """Whether an Origin header is that of a page which this server sent."""
        if origin is None or host is None:
            return False
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        same = parts.netloc.lower() == host.lower()
        return parts.scheme in ("http", "https") and same and self.is_known(parts.netloc)

    def accepts(self, token: str | None) -> bool:
        """Whether a token is the right one."""
        if self.token is None:
            return True
        return secrets.compare_digest((token or "").encode(), self.token.encode())


def _name(authority: str | None) -> str | None:
    """The host of `host:port`, in lower case."""
    if not authority:
        return None
    try:
        parts = urlsplit(f"//{authority}")
        _ = parts.port  # raises for what is not a number
    except ValueError:
        return None
    return None if parts.username is not None or parts.path else parts.hostname


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """Refuses requests that the policy does not allow; adds the headers to every answer."""

    def __init__(self, app: ASGIApp, policy: Policy) -> None:
        self.app, self.policy = app, policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        host, policy = request.headers.get("host"), self.policy
        guarded = _with_headers(send)
        given = request.query_params.get("token")
        if not policy.is_known(host):
            await self._refuse(scope, receive, guarded, "This server has another name.")
        elif scope["type"] == "websocket" and not policy.is_own_page(
            request.headers.get("origin"), host
        ):
            await self._refuse(scope, receive, guarded, "Only pages of this server may connect.")
        elif not policy.accepts(request.cookies.get(COOKIE)):
            if scope["type"] == "http" and given is not None and policy.accepts(given):
                await self._admitted(request.url)(scope, receive, guarded)
            else:
                text = "Open the address with the token that `sylvan web` printed."
                await self._refuse(scope, receive, guarded, text)
        else:
            await self.app(scope, receive, guarded)

    def _admitted(self, url: URL) -> RedirectResponse:
        """Move the token from the address to a cookie; the rest of the address stays."""
        rest = url.remove_query_params("token").query
        answer = RedirectResponse(f"{url.path}?{rest}" if rest else url.path, status_code=303)
        assert self.policy.token is not None
        answer.set_cookie(COOKIE, self.policy.token, httponly=True, samesite="strict")
        return answer

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, sentence: str) -> None:
        if scope["type"] == "websocket":
            await receive()  # the request to connect
            await send({"type": "websocket.close", "code": 1008, "reason": sentence})
        else:
            await PlainTextResponse(f"{sentence}\n", status_code=403)(scope, receive, send)


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [
                *message["headers"],
                *((key.encode(), value.encode()) for key, value in HEADERS.items()),
            ]
        await send(message)

    return sent
