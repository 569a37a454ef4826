"""Actions as planes, for every kind."""

import numpy as np
import pytest
import torch

from sylvan.errors import NetworkError
from sylvan.games import Chess
from sylvan.networks.action_planes import ActionPlanes, action_kind, chess_moves


@pytest.mark.parametrize(
    ("actions", "height", "width", "is_chess", "kind"),
    [
        (9, 3, 3, False, "squares"),
        (362, 19, 19, False, "squares"),
        (7, 6, 7, False, "columns"),
        (4672, 8, 8, True, "moves"),
        (4672, 8, 8, False, "learned"),
        (18, 6, 6, False, "learned"),
    ],
)
def test_the_kind_that_fits_a_board(actions, height, width, is_chess, kind):
    assert action_kind(actions, height, width, chess=is_chess) == kind


def test_an_action_marks_its_square_and_a_pass_none():
    planes = ActionPlanes("squares", 10, 3, 3)(torch.tensor([5, 9]), torch.float32)
    assert planes.shape == (2, 1, 3, 3)
    assert planes[0, 0].tolist() == [[0, 0, 0], [0, 0, 1], [0, 0, 0]] and not planes[1].any()


def test_a_column_is_filled():
    planes = ActionPlanes("columns", 3, 2, 3)(torch.tensor([2]), torch.float32)
    assert planes[0, 0].tolist() == [[0, 0, 1], [0, 0, 1]]


@pytest.mark.parametrize("kind", ["learned", "filled"])
def test_learned_planes_keep_the_batch(kind):
    """A reshape to (-1, 1, 8, 8) would split one action's 256 numbers into four rows."""
    planes = ActionPlanes(kind, 300, 8, 8)
    batch = planes(torch.tensor([7, 7, 250]), torch.float32)
    assert batch.shape == (3, planes.planes, 8, 8)
    assert torch.equal(batch[0], batch[1]) and not torch.equal(batch[0], batch[2])
    assert list(planes.state_dict()) == ["table"]  # a parameter


def test_actions_that_do_not_fit_the_board_are_refused():
    with pytest.raises(NetworkError, match=r"5.*6.*7"):
        ActionPlanes("columns", 5, 6, 7)


def uci_of(planes, black):
    """A move from its planes, as UCI; ranks are flipped for Black."""
    squares = [tuple(np.argwhere(planes[i])[0]) for i in (0, 1)]
    letters = ["", *(letter for i, letter in enumerate("nbr") if planes[2 + i].any())]
    text = "".join(f"{'abcdefgh'[f]}{8 - r if black else r + 1}" for r, f in squares)
    return text + letters[-1]


def test_moves_of_chess_match_the_codec():
    """Compared with the codec in Rust, over all legal moves of random games, with promotions."""
    table, rng, seen = chess_moves(), np.random.default_rng(3), set()
    fens = ["8/P6k/8/8/8/8/p6K/8 w - - 0 1", "1n6/P6k/8/8/8/8/p6K/1N6 b - - 0 1", None, None]
    for fen in fens:
        game = Chess(fen) if fen else Chess()
        for _ in range(120):
            if game.is_terminal():
                break
            for action in game.legal_actions():
                # Promotion to a queen is the default.
                plain = game.action_to_string(action).removesuffix("q")
                assert uci_of(table[action], game.to_play() == 1) == plain
                seen.add(len(plain))
            game.apply(int(rng.choice(game.legal_actions())))
    assert seen == {4, 5}
    assert (table[:, 0].sum(axis=(1, 2)) == 1).all() and table[:, 1].sum() == 1456 + 336 + 66
