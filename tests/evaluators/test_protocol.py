"""The contract of evaluators: optional attributes, and which evaluators are asynchronous."""

import numpy as np
import pytest

from sylvan.evaluators import Cached, Uniform
from sylvan.evaluators.protocol import (
    AsyncEvaluator,
    encoding_of,
    is_ready,
    name_of,
    preferred_batch_of,
)
from sylvan.games.encoding import Encoding


def plain(leaves):
    return np.zeros(len(leaves.actions)), np.zeros(len(leaves))


class Full:
    name = "full"
    encoding = Encoding(codec="lc0")
    preferred_batch = 7

    def __call__(self, leaves):
        return plain(leaves)

    def submit(self, leaves):
        return leaves

    def collect(self, ticket):
        return plain(ticket)


def test_a_function_has_no_preferences():
    assert name_of(plain) == "function"
    assert encoding_of(plain) is None
    assert preferred_batch_of(plain) is None
    assert not isinstance(plain, AsyncEvaluator)


@pytest.mark.parametrize("evaluator", [Full(), Cached(Full())], ids=["itself", "cached"])
def test_optional_attributes_are_read(evaluator):
    assert name_of(evaluator) == "full"
    assert encoding_of(evaluator) == Encoding(codec="lc0")
    assert preferred_batch_of(evaluator) == 7


def test_only_submit_and_collect_together_are_asynchronous():
    assert isinstance(Full(), AsyncEvaluator)
    assert not isinstance(Cached(Full()), AsyncEvaluator)  # they would bypass the cache
    assert not isinstance(Uniform(), AsyncEvaluator)


def test_an_evaluator_may_say_whether_it_is_ready():
    class Slow(Full):
        def ready(self, ticket):
            return ticket == 2

    assert is_ready(Full(), 1)
    assert is_ready(Slow(), 2) and not is_ready(Slow(), 1)
