"""The list of mutants stays true to the sources that it breaks."""

import pytest

from tests.mutants.mutants import ROOT, load

MUTANTS = load()


def test_there_are_many_and_every_name_is_its_own():
    assert len(MUTANTS) >= 20
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_what_a_mutant_replaces_occurs_once(mutant):
    assert mutant.source(ROOT).read_text().count(mutant.old) == 1
    assert mutant.new != mutant.old
    assert mutant.why
