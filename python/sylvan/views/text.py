"""Labels and numbers as text.

Labels come from users' games and may contain anything: control characters, lone surrogates and
marks that change the reading direction are replaced before a label reaches a terminal, an XML file
or Graphviz.
"""

import unicodedata

ABSENT = "–"
_TURNS = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_BREAKS = frozenset("\t\n\r\v\f\x1c\x1d\x1e\x1f\x85\u2028\u2029")


def clean(label: str) -> str:
    r"""Return a label on one line, with characters that cannot be shown replaced.

    >>> clean("b\tad\x00 \ud800 \u202etxet")
    'b ad� � �txet'
    """
    return "".join(" " if c in _BREAKS else c if _can_be_shown(c) else "\ufffd" for c in label)


def _can_be_shown(c: str) -> bool:
    not_a_character = ord(c) & 0xFFFE == 0xFFFE  # U+FFFE and U+FFFF of each plane
    return unicodedata.category(c) not in ("Cc", "Cs") and c not in _TURNS and not not_a_character


def width(text: str) -> float:
    """Estimate the width of a text in letters: wide East Asian ones count 1.7, marks 0."""
    return sum(
        0.0 if unicodedata.combining(c) else 1.7 if unicodedata.east_asian_width(c) in "WF" else 1.0
        for c in text
    )


def shorten(label: str, letters: int) -> str:
    """Clean a label and cut it to about `letters` letters, with an ellipsis.

    >>> shorten("exd8=Q+", 20), shorten("a very long name of a move", 12)
    ('exd8=Q+', 'a very long…')
    """
    label = clean(label)[: 4 * letters + 4]  # bounds marks, which have no width
    if width(label) <= letters:
        return label
    while width(label) > letters - 1:
        label = label[:-1]
    return label.rstrip() + "…"


def seat_name(game: object, seat: int) -> str:
    """Return what people call a seat of a game, its number where the game does not say.

    >>> seat_name(None, 1)
    'seat 1'
    """
    named = getattr(game, "seat_name", None)
    return f"seat {seat}" if named is None else str(named(seat))


def signed(value: float | None) -> str:
    """Format a value with two decimals and a sign (U+2212 for minus), no sign for zero.

    >>> signed(0.304), signed(-1.0), signed(-0.001), signed(12345.6), signed(None)
    ('+0.30', '−1.00', '0.00', '+12,346', '–')
    """
    if value is None or value != value:
        return ABSENT
    decimals = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2
    figure = f"{abs(value):,.{decimals}f}"
    is_zero = not figure.strip("0.,")
    return figure if is_zero else ("+" if value > 0 else "−") + figure


def exact(value: float) -> str:
    """Format a proven value without trailing zeros.

    >>> exact(1.0), exact(-1.0), exact(0.0), exact(0.25)
    ('+1', '−1', '0', '+0.25')
    """
    sign = "+" if value > 0 else "−" if value < 0 else ""
    return f"{sign}{abs(value):.4g}"


def percent(share: float | None) -> str:
    """Format a share of 1 in percent; small ones with one decimal.

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
    """Format a count and its noun.

    >>> counted(1, "visit"), counted(1200, "visit")
    ('1 visit', '1,200 visits')
    """
    return f"{n:,} {thing}" if n == 1 else f"{n:,} {thing}s"


def short_count(n: int) -> str:
    """Format a count in at most five characters.

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
    """Format a size in bytes, with decimal units.

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
    """Format a duration.

    >>> short_seconds(0.0123), short_seconds(3.21), short_seconds(754)
    ('12.3 ms', '3.21 s', '754 s')
    """
    if seconds < 0.1:
        return f"{1000 * seconds:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 100 else f"{seconds:.0f} s"
