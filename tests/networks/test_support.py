"""Numbers as distributions: the transform h, two-hot encoding, and the inverse."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sylvan.networks.support import Categorical, Scalar, number_form, squeezed, unsqueezed

NUMBERS = st.floats(-1e6, 1e6, allow_nan=False, width=32)


def h(x):
    """The paper's formula, in double precision."""
    return math.copysign(math.sqrt(abs(x) + 1) - 1, x) + 0.001 * x


@pytest.mark.parametrize(("number", "small"), [(0, 0), (3, 1.003), (-8, -2.008), (99, 9.099)])
def test_the_transform_by_hand(number, small):
    assert float(squeezed(torch.tensor(float(number)))) == pytest.approx(small, abs=1e-6)


@given(NUMBERS)
def test_the_transform_matches_the_paper(number):
    assert float(squeezed(torch.tensor(number))) == pytest.approx(h(number), rel=1e-5, abs=1e-6)


@given(st.floats(-1e9, 1e9, allow_nan=False))
def test_the_inverse_transform_is_exact(number):
    transformed = squeezed(torch.tensor(number, dtype=torch.float64))
    assert float(unsqueezed(transformed)) == pytest.approx(number, rel=1e-11, abs=1e-11)


@given(NUMBERS)
def test_single_precision_loses_little(number):
    found = float(unsqueezed(squeezed(torch.tensor(number, dtype=torch.float32))))
    assert found == pytest.approx(number, rel=3e-6, abs=3e-6)


@given(NUMBERS, NUMBERS)
def test_the_transform_is_monotonic(one, other):
    less, more = sorted((one, other))
    assert squeezed(torch.tensor(less)) <= squeezed(torch.tensor(more))


def test_a_number_between_two_integers_is_two_hot():
    plain = Categorical(4, squeeze=False)
    shares = plain.encode(torch.tensor([[3.75, -4.0, 0.0]]))
    assert shares.shape == (1, 3, 9)
    assert shares[0, 0].tolist() == [0, 0, 0, 0, 0, 0, 0, 0.25, 0.75]
    assert shares[0, 1].tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0]
    assert shares[0, 2].tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 0]


@given(st.floats(-900, 900, width=32), st.booleans())
def test_encoded_numbers_are_decoded(number, squeeze):
    form = Categorical(30, squeeze=True) if squeeze else Categorical(900, squeeze=False)
    shares = form.encode(torch.tensor([[number]]))
    assert int((shares > 0).sum()) <= 2 and float(shares.sum()) == pytest.approx(1, abs=1e-5)
    # The logits of exactly these probabilities.
    found = float(form.decode(torch.log(shares + 1e-30).flatten(1)))
    assert found == pytest.approx(number, rel=1e-4, abs=1e-3)


@pytest.mark.parametrize("number", [1e5, -1e5, 5000.0])
def test_numbers_beyond_the_support_are_clipped(number):
    shares = Categorical(30).encode(torch.tensor([[number]]))[0, 0]
    assert int(shares.argmax()) == (60 if number > 0 else 0) and float(shares.max()) == 1


def test_the_cross_entropy_by_hand():
    wdl = Categorical(1, squeeze=False)
    logits = torch.log(torch.tensor([[0.2, 0.3, 0.5, 0.6, 0.3, 0.1]]))
    numbers = torch.tensor([[1.0, -0.5]])  # the first seat wins; half a loss for the second
    expected = (-math.log(0.5) - 0.5 * math.log(0.6) - 0.5 * math.log(0.3)) / 2
    assert float(wdl.error(logits, numbers)) == pytest.approx(expected, rel=1e-6)
    assert wdl.decode(logits)[0].tolist() == pytest.approx([0.3, -0.5])


def test_scalars_stay_in_their_range():
    bent = Scalar((-2.0, 6.0))
    far = bent.decode(torch.tensor([[-100.0, 0.0, 100.0]]))
    assert far[0].tolist() == [-2.0, 2.0, 6.0]
    assert float(bent.error(torch.zeros(1, 1), torch.tensor([[6.0]]))) == pytest.approx(1.0)
    free = Scalar()
    assert float(free.error(torch.tensor([[3.0, 1.0]]), torch.tensor([[1.0, 1.0]]))) == 2.0


def test_equal_logits_decode_to_zero():
    for form in (number_form("categorical", 30), number_form("wdl", 30), number_form("scalar", 1)):
        assert np.allclose(form.decode(torch.zeros(2, 3 * form.size)).numpy(), 0, atol=1e-6)
