"""Columns behave like lists whose beginning is dropped; returned views never change."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sylvan.replay.columns import Column

STEPS = st.lists(st.tuples(st.booleans(), st.integers(0, 3000)), max_size=40)


@given(begin=st.integers(0, 100), steps=STEPS)
def test_a_column_matches_a_list_whose_beginning_is_dropped(begin, steps):
    column, model, first, views = Column(np.int64, (), begin), [], begin, []
    for grows, size in steps:
        if grows:
            column.extend(np.arange(len(model), len(model) + size))
            model += range(len(model), len(model) + size)
        else:
            index = first + size
            column.drop(index)
            first = max(first, min(index, begin + len(model)))
        views.append((column.flat, column.flat.copy()))
        assert (column.begin, column.end) == (first, begin + len(model))
        assert column.flat.tolist() == model[first - begin :]
        assert len(column) == len(column.flat)
        if len(column):
            indices = np.array([column.begin, column.end - 1])
            assert column[indices].tolist() == [model[index - begin] for index in indices]
    assert all(np.array_equal(view, copy) for view, copy in views)
