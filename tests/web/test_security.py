"""Access to the server: hosts, origins, tokens."""

import http.client
import json
import threading
import time
from contextlib import ExitStack

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from sylvan.errors import MissingPage
from sylvan.web import app
from sylvan.web.desk import Desk
from sylvan.web.security import COOKIE, Policy, is_loopback
from tests.web.serving import served


def asked(address, path="/", **headers):
    connection = http.client.HTTPConnection(address, timeout=10)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, dict(answer.headers), answer.read()
    finally:
        connection.close()


def hello(address, **options):
    """The first message over a websocket."""
    options.setdefault("origin", f"http://{address}")
    with connect(f"ws://{address}/socket", **options) as socket:
        return json.loads(socket.recv(timeout=10))


def test_the_page_and_its_files_are_served_and_nothing_else(address):
    status, headers, body = asked(address)
    assert status == 200 and b"<title>Sylvan</title>" in body
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert asked(address, "/app.js")[0] == 200
    for path in ("/../app.py", "/%2e%2e/app.py", "/protocol.py", "/etc/passwd", "/x/y"):
        assert asked(address, path)[0] == 404


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "", "a@127.0.0.1"]
)
def test_another_host_is_refused(address, host):
    """DNS rebinding: another name resolves to this machine."""
    assert asked(address, Host=host)[0] in (400, 403)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
def test_names_of_this_machine_are_accepted(address, host):
    port = address.rpartition(":")[2]
    assert asked(address, Host=f"{host}:{port}")[0] == 200


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "null",
        "http://evil.example",
        "http://127.0.0.1",  # another port: another server of this machine
        "http://127.0.0.1:1",
        "file://",
        "http://[",
    ],
)
def test_a_websocket_of_another_page_is_refused(address, origin):
    with pytest.raises((InvalidStatus, ConnectionClosed)):
        hello(address, origin=origin)


def test_a_page_of_ours_may_connect(address):
    assert hello(address)["type"] == "hello"


def test_other_addresses_need_the_token(built):
    policy = Policy.of("192.168.7.7", ("127.0.0.1",))
    assert policy.token and len(policy.token) >= 32
    with served(policy=policy) as address:
        assert asked(address)[0] == 403
        assert asked(address, "/app.js")[0] == 403
        assert asked(address, "/?token=wrong")[0] == 403
        assert asked(address, Cookie=f"{COOKIE}=wrong")[0] == 403
        with pytest.raises((InvalidStatus, ConnectionClosed)):
            hello(address)
        status, headers, _ = asked(address, f"/?token={policy.token}")
        assert status == 303 and headers["location"] == "/"
        link = asked(address, f"/?token={policy.token}&table=abc")[1]["location"]
        assert link == "/?table=abc"  # a link to a table stays one
        cookie = headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=strict" in cookie
        given = cookie.partition(";")[0]
        assert asked(address, Cookie=given)[0] == 200
        assert hello(address, additional_headers={"Cookie": given})["type"] == "hello"


def test_a_token_is_new_each_time_and_never_shown():
    tokens = {Policy.of("0.0.0.0").token for _ in range(20)}
    assert len(tokens) == 20
    assert all(str(token) not in repr(Policy("0.0.0.0", (), token)) for token in tokens)
    assert Policy.of("127.0.0.1").token is None
    assert Policy.of("localhost").token is None


@pytest.mark.parametrize("given", ["", "x", "é" * 24, None])
def test_a_wrong_token_is_no_error(given):
    assert not Policy.of("0.0.0.0").accepts(given)


def test_all_addresses_means_addresses_not_names():
    policy = Policy.of("0.0.0.0", ("desk.local",))
    assert policy.is_known("192.168.1.5:8710") and policy.is_known("desk.local")
    assert not policy.is_known("evil.example")


def test_loopback():
    assert is_loopback("127.0.0.2") and is_loopback("::1")
    assert not is_loopback("10.0.0.1") and not is_loopback("example.org")


def test_the_eleventh_page_gets_a_sentence(address):
    origin = f"http://{address}"
    with ExitStack() as pages:
        for _ in range(app.MOST_PAGES):
            socket = pages.enter_context(connect(f"ws://{address}/socket", origin=origin))
            assert json.loads(socket.recv(timeout=10))["type"] == "hello"
        with connect(f"ws://{address}/socket", origin=origin) as socket:
            message = json.loads(socket.recv(timeout=10))
            assert message["type"] == "problem" and str(app.MOST_PAGES) in message["sentence"]
            with pytest.raises(ConnectionClosed):
                socket.recv(timeout=10)


@pytest.mark.alone
def test_a_closed_tab_stops_its_search_within_a_second(address):
    """The threads of its page end."""

    def searching():
        return [thread for thread in threading.enumerate() if thread.name == "Analysis"]

    given_up = time.monotonic() + 10
    while searching() and time.monotonic() < given_up:
        time.sleep(0.01)  # pages of other tests
    assert not searching()
    with connect(f"ws://{address}/socket", origin=f"http://{address}") as socket:
        socket.send('{"type":"open","game":"connect4"}')
        socket.send('{"type":"configure","evaluator":"rollout","settings":{}}')
        socket.send('{"type":"run"}')
        while not (message := json.loads(socket.recv(timeout=10))).get("simulations"):
            if message["type"] == "search":
                socket.send(json.dumps({"type": "ack", "serial": message["serial"]}))
        assert len(searching()) == 1
        socket.close()
        closed = time.monotonic()
    while searching():
        assert time.monotonic() < closed + 1
        time.sleep(0.01)


def test_without_the_page_there_is_a_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(app, "STATIC", tmp_path)
    with pytest.raises(MissingPage, match="make web"):
        app.make_app(Desk(), Policy())
