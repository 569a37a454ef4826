"""Seats have the names that people use: White and Black in chess; values of chess are in pawns."""

import json

import sylvan
from sylvan.games import Chess, ConnectFour
from sylvan.views import save_json, snapshot, to_svg
from sylvan.views.snapshot import load_json


def test_chess_speaks_of_white_and_black_and_of_pawns():
    for moves, name in (("", "White"), ("e4", "Black")):
        result = sylvan.search(Chess(moves=moves), simulations=100)
        head = str(result).splitlines()[0]
        pawns = result.game.pawns(result.value)
        assert head.endswith(f" for {name}") and "seat" not in head
        assert f"{pawns:+.2f}".replace("-", "−") in head and "pawns, value" in head
        picture = to_svg(result)
        assert f"value for {name}" in picture and f"{name} to move" in picture
        assert "seat 0" not in picture and "seat 1" not in picture


def test_a_proven_mate_names_the_winner():
    result = sylvan.search(Chess("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1"), simulations=500)
    assert "proven value +1 for White" in str(result).replace("Proven", "proven")


def test_other_games_number_their_seats():
    result = sylvan.search(ConnectFour("4"), simulations=50)
    assert "for seat 1" in str(result).splitlines()[0] and "pawns" not in str(result)
    assert "seat_names" not in snapshot(result)


def test_names_are_in_the_file(tmp_path):
    taken = snapshot(sylvan.search(Chess(), simulations=50), nodes=5)
    save_json(taken, tmp_path / "tree.json")
    assert load_json(tmp_path / "tree.json") == taken
    assert taken["seat_names"] == ["White", "Black"]
    # Fewer names than seats, in an edited file, are not used.
    (tmp_path / "edited.json").write_text(json.dumps({**taken, "seat_names": ["White"]}))
    assert "value for seat 0" in to_svg(load_json(tmp_path / "edited.json"))
