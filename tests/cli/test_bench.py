"""The signature of the search: one integer over all visit counts of fixed positions.

It changes only if a change of the search, a game or an evaluator changes visit counts. Then note it
in the CHANGELOG and pin the new one: `sylvan bench` prints it.
"""

import pytest

from sylvan.cli import benchmark as bench

SIGNATURE = 7329102191372246448


@pytest.mark.parametrize("threads", [1, 2])
def test_the_signature_is_pinned_for_any_number_of_threads(threads):
    result = bench.run(threads)
    assert result.signature == SIGNATURE
    assert result.simulations > 500_000
