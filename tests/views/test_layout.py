"""The layout: no two boxes touch, lines do not cross, the first line is straight."""

from hypothesis import given
from hypothesis import strategies as st

from sylvan.views.layout import layout

GAP, FAMILY_GAP = 3.0, 7.0


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[list[int]], list[float]]:
    """Draw the children of every box (box 0 is the root) and the heights."""
    n = draw(st.integers(1, 60))
    children: list[list[int]] = [[] for _ in range(n)]
    for box in range(1, n):
        nearest = draw(st.booleans())  # a chain now and then, else any parent
        children[box - 1 if nearest else draw(st.integers(0, box - 1))].append(box)
    heights = draw(st.lists(st.sampled_from([10.0, 20.0, 40.0]), min_size=n, max_size=n))
    return children, heights


def preorder(children: list[list[int]]) -> list[int]:
    order, stack = [], [0]
    while stack:
        box = stack.pop()
        order.append(box)
        stack.extend(reversed(children[box]))
    return order


@given(trees())
def test_boxes_of_a_column_are_separate_and_in_preorder(tree):
    """Boxes in preorder with space between them do not overlap, and their lines do not cross."""
    children, heights = tree
    positions = layout(children, heights, gap=GAP, family_gap=FAMILY_GAP)
    parent = {child: box for box, below in enumerate(children) for child in below}
    last: dict[int, int] = {}
    for box in preorder(children):
        column, y = positions[box].column, positions[box].y
        if column in last:
            above = last[column]
            room = (y - heights[box] / 2) - (positions[above].y + heights[above] / 2)
            siblings = parent.get(box) == parent.get(above)
            assert room >= (GAP if siblings else FAMILY_GAP) - 1e-9
        last[column] = box


@given(trees())
def test_children_are_to_the_right_and_the_first_is_in_line(tree):
    children, heights = tree
    positions = layout(children, heights, gap=GAP, family_gap=FAMILY_GAP)
    for box, below in enumerate(children):
        for number, child in enumerate(below):
            assert positions[child].column == positions[box].column + 1
            assert (
                (positions[child].y == positions[box].y)
                if number == 0
                else (positions[child].y > positions[box].y)
            )


@given(trees())
def test_no_box_is_above_the_top(tree):
    children, heights = tree
    positions = layout(children, heights, gap=GAP, family_gap=FAMILY_GAP)
    assert min(p.y - h / 2 for p, h in zip(positions, heights, strict=True)) == 0.0


def test_a_short_branch_moves_up_beside_a_long_one():
    """Box 4 needs only the first column, so boxes further right do not push it down."""
    children = [[1, 4], [2, 3], [], [], []]
    positions = layout(children, [10.0] * 5, gap=GAP, family_gap=FAMILY_GAP)
    assert positions[4].y == positions[3].y


def test_siblings_are_closer_than_other_boxes():
    positions = layout([[1, 2], [], []], [10.0] * 3, gap=GAP, family_gap=FAMILY_GAP)
    assert positions[2].y - positions[1].y == 10.0 + GAP
