"""Words and figures as the views show them.

Labels come from games anyone may write, so nothing is assumed of them: control characters, lone
surrogates and marks that turn the reading direction are replaced before a label reaches a
terminal, an XML file or Graphviz.
"""

import unicodedata

ABSENT = "–"
_TURNS = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_BREAKS = frozenset("\t\n\r\v\f\x1c\x1d\x1e\x1f\x85\u2028\u2029")


def clean(label: str) -> str:
    r"""A label on one line, with every character one that can be shown.

    >>> clean("b\tad\x00 \ud800 \u202etxet")
    'b ad� � �txet'
    """
    return "".join(" " if c in _BREAKS else c if _can_be_shown(c) else "\ufffd" for c in label)


def _can_be_shown(c: str) -> bool:
    not_a_character = ord(c) & 0xFFFE == 0xFFFE  # U+FFFE, U+FFFF and their like on each plane
    return unicodedata.category(c) not in ("Cc", "Cs") and c not in _TURNS and not not_a_character


def width(text: str) -> float:
    """About how wide a text is, in letters: wide East Asian ones count 1.7, marks nothing."""
    return sum(
        0.0 if unicodedata.combining(c) else 1.7 if unicodedata.east_asian_width(c) in "WF" else 1.0
        for c in text
    )


def shorten(label: str, letters: int) -> str:
    """A clean label of at most about so many letters, an ellipsis for the rest.

    >>> shorten("exd8=Q+", 20), shorten("a very long name of a move", 12)
    ('exd8=Q+', 'a very long…')
    """
    label = clean(label)[: 4 * letters + 4]  # marks take no room, but not without end
    if width(label) <= letters:
        return label
    while width(label) > letters - 1:
        label = label[:-1]
    return label.rstrip() + "…"


def signed(value: float | None) -> str:
    """A value to two places with its sign, a true minus, and no sign on zero.

    >>> signed(0.304), signed(-1.0), signed(-0.001), signed(12345.6), signed(None)
    ('+0.30', '−1.00', '0.00', '+12,346', '–')
    """
    if value is None or value != value:
        return ABSENT
    places = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2
    figure = f"{abs(value):,.{places}f}"
    is_zero = not figure.strip("0.,")
    return figure if is_zero else ("+" if value > 0 else "−") + figure


def exact(value: float) -> str:
    """A proven value, without places it does not need.

    >>> exact(1.0), exact(-1.0), exact(0.0), exact(0.25)
    ('+1', '−1', '0', '+0.25')
    """
    sign = "+" if value > 0 else "−" if value < 0 else ""
    return f"{sign}{abs(value):.4g}"


def percent(share: float | None) -> str:
    """A share of one in percent; small ones keep a place.

    >>> percent(0.5), percent(0.034), percent(0.0004), percent(0.0), percent(None)
    ('50%', '3.4%', '<0.1%', '0%', '–')
    """
    if share is None or share != share:
        return ABSENT
    if share == 0:
        return "0%"
    if share < 0.001:
        return "<0.1%"
    return f"{100 * share:.1f}%" if share < 0.0995 else f"{100 * share:.0f}%"


def counted(n: int, thing: str) -> str:
    """A count and what it counts.

    >>> counted(1, "visit"), counted(1200, "visit")
    ('1 visit', '1,200 visits')
    """
    return f"{n:,} {thing}" if n == 1 else f"{n:,} {thing}s"


def short_count(n: int) -> str:
    """A count in at most five letters.

    >>> short_count(9999), short_count(12_345), short_count(600_001), short_count(12_000_000)
    ('9999', '12.3k', '600k', '12M')
    """
    if n < 10_000:
        return str(n)
    for unit, size in (("k", 1e3), ("M", 1e6), ("G", 1e9)):
        if n < 999.5 * size:
            return f"{n / size:.3g}{unit}"
    return f"{n:.1e}"


def short_bytes(n: int) -> str:
    """A size in bytes, with decimal units.

    >>> short_bytes(512), short_bytes(75_000), short_bytes(1_250_000), short_bytes(16_000_000_000)
    ('512 bytes', '75 kB', '1.25 MB', '16 GB')
    """
    if n < 1000:
        return f"{n} bytes"
    for unit, size in (("kB", 1e3), ("MB", 1e6), ("GB", 1e9)):
        if n < 999.5 * size:
            return f"{n / size:.3g} {unit}"
    return f"{n / 1e12:.3g} TB"


def short_seconds(seconds: float) -> str:
    """A time span.

    >>> short_seconds(0.0123), short_seconds(3.21), short_seconds(754)
    ('12.3 ms', '3.21 s', '754 s')
    """
    if seconds < 0.1:
        return f"{1000 * seconds:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 100 else f"{seconds:.0f} s"
