"""Light and dark style rules for the SVG views.

Rules are scoped to one class, so that a picture does not change the notebook around it.
"""

from typing import Literal

from sylvan.errors import ConfigError

Theme = Literal["auto", "light", "dark"]

INK = "#15191e"  # text on cards, which are light in both themes

_COLOURS: dict[str, dict[str, str]] = {
    "light": {
        "page": "#ffffff",
        "words": "#1d2329",
        "quiet": "#616b77",
        "link": "#ccd3da",
        "pv": "#15191e",
        "frame": "#a3acb5",
    },
    "dark": {
        "page": "#171b20",
        "words": "#e8ecf0",
        "quiet": "#9aa4af",
        "link": "#525c67",
        "pv": "#ffffff",
        "frame": "#171b20",
    },
}

_FONTS = "system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',Arial,sans-serif"
_SHAPES = (
    f"text{{font-family:{_FONTS};font-variant-numeric:tabular-nums}}",
    ".link,.pv{fill:none;stroke-linecap:butt}",
    ".frame{stroke-width:1}",
    ".pvframe{stroke-width:2.4}",
    ".ghost{fill:none;stroke-width:1;stroke-dasharray:3 3}",
    f".end{{stroke:{INK};stroke-width:3;stroke-opacity:.6}}",
    f".ink{{fill:{INK}}}",
    f".faint{{fill:{INK};fill-opacity:.72}}",
)
_PAINT = (
    ".page{{fill:{page}}}",
    ".words{{fill:{words}}}",
    ".quiet{{fill:{quiet}}}",
    ".link{{stroke:{link}}}",
    ".pv,.pvframe{{stroke:{pv}}}",
    ".frame{{stroke:{frame}}}",
    ".tick{{stroke:{page}}}",
    ".ghost{{stroke:{quiet}}}",
)


def style(theme: Theme, scope: str) -> str:
    """Return the rules of a theme, scoped to a class; `auto` follows the reader's preference."""
    if theme not in ("auto", *_COLOURS):
        raise ConfigError(f"there is no theme {theme!r}: choose 'auto', 'light' or 'dark'")
    base = _COLOURS["dark" if theme == "dark" else "light"]
    rules = [_scoped(rule, scope) for rule in _SHAPES]
    rules += [_scoped(rule.format(**base), scope) for rule in _PAINT]
    if theme == "auto":
        dark = [_scoped(rule.format(**_COLOURS["dark"]), scope) for rule in _PAINT]
        rules.append("@media (prefers-color-scheme:dark){" + "".join(dark) + "}")
    return "\n".join(rules)


def _scoped(rule: str, scope: str) -> str:
    """Scope each selector of a rule to the class."""
    selectors, body = rule.split("{", 1)
    return ",".join(f".{scope} {selector}" for selector in selectors.split(",")) + "{" + body
