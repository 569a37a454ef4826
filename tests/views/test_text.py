"""Any label becomes one line that a terminal, XML and Graphviz can show."""

import re

from hypothesis import given
from hypothesis import strategies as st

from sylvan.views.text import clean, shorten, width
from tests.views.trees import TURNS, texts

# Char of XML 1.0, section 2.2, without control characters and line ends.
SHOWN = re.compile("[\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010fffd]*")


@given(texts)
def test_a_clean_label_is_one_line_of_shown_characters(label):
    cleaned = clean(label)
    assert SHOWN.fullmatch(cleaned)
    assert len(cleaned) == len(label)
    assert not set(cleaned) & set(TURNS + "\u2028\u2029")
    assert clean(cleaned) == cleaned


@given(texts, st.integers(2, 40))
def test_a_short_label_fits_and_begins_as_the_long_one(label, letters):
    short = shorten(label, letters)
    assert width(short) <= letters
    assert short == clean(label) or clean(label).startswith(short.removesuffix("…"))
