"""Columns behave like lists that forget their beginning, and never change what they handed out."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sylvan.replay.columns import Column

STEPS = st.lists(st.tuples(st.booleans(), st.integers(0, 3000)), max_size=40)


@given(begin=st.integers(0, 100), steps=STEPS)
def test_a_column_is_a_list_that_forgets(begin, steps):
    column, model, first, handed_out = Column(np.int64, (), begin), [], begin, []
    for grows, size in steps:
        if grows:
            column.extend(np.arange(len(model), len(model) + size))
            model += range(len(model), len(model) + size)
        else:
            place = first + size
            column.drop(place)
            gone = min(place, begin + len(model))
            first = max(first, gone)
        handed_out.append((column.flat, column.flat.copy()))
        assert (column.begin, column.end) == (first, begin + len(model))
        assert column.flat.tolist() == model[first - begin :]
        assert len(column) == len(column.flat)
        if len(column):
            places = np.array([column.begin, column.end - 1])
            assert column[places].tolist() == [model[place - begin] for place in places]
    assert all(np.array_equal(view, copy) for view, copy in handed_out)
