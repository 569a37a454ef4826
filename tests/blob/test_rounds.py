"""Training rounds of Blob: equal for any number of threads, resumable, refused if damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sylvan.blob.players import Bot
from sylvan.blob.rounds import (
    BlobRounds,
    BlobStream,
    RoundsConfig,
    make_rounds,
    read_rounds,
)
from sylvan.errors import ConfigError, ReplayError
from sylvan.games import Blob

COUNTER = RoundsConfig(deals=0, explore=0.1)
JUDGED = RoundsConfig(deals=2, most_cards=3)


def equal(one: BlobRounds, two: BlobRounds) -> bool:
    return all(np.array_equal(one.parts[name], two.parts[name]) for name in one.parts)


@pytest.mark.parametrize("config", [COUNTER, JUDGED])
def test_rounds_follow_from_their_numbers(config: RoundsConfig) -> None:
    all_ = BlobRounds.played(0, 30, config)
    two = [BlobRounds.played(0, 11, config, threads=3), BlobRounds.played(11, 19, config)]
    assert equal(all_, BlobRounds.joined(two))


def test_what_is_cut_off_goes_on(tmp_path: Path) -> None:
    played, lessons = make_rounds(tmp_path / "some", COUNTER, rounds=40)
    assert played == 40 and lessons > 0
    make_rounds(tmp_path / "some", COUNTER, rounds=100)
    make_rounds(tmp_path / "all", COUNTER, rounds=100, threads=2)
    assert equal(read_rounds([tmp_path / "some"]), read_rounds([tmp_path / "all"]))
    with pytest.raises(ConfigError, match="made with"):
        make_rounds(tmp_path / "some", JUDGED, rounds=101)


def test_rows_are_what_the_game_shows() -> None:
    """Replays rounds by the rules; compares observations, legal actions and choices."""
    rounds = BlobRounds.played(0, 40, COUNTER)
    batch = rounds.rows(np.arange(40), temperature=0.1, threads=2)
    row, counter = 0, Bot("counter")
    for number in range(40):
        players, cards, dealer, trump, up = map(int, rounds.parts["tables"][number])
        suit = (
            "turned_up" if up != 255 else ["spades", "hearts", "clubs", "diamonds", "none"][trump]
        )
        game = Blob(players, cards, sequence="single", trump=suit, dealer=dealer, seed=None)
        dealt = rounds.parts["hands"][rounds.hand_at[number] : rounds.hand_at[number + 1]]
        game.deal(dealt.reshape(players, cards).tolist(), None if up == 255 else up)
        first = row
        movers = []
        plies = slice(rounds.ply_at[number], rounds.ply_at[number + 1])
        marks = rounds.parts["marks"][plies]
        for action, mark in zip(rounds.parts["actions"][plies].tolist(), marks, strict=True):
            if mark:
                assert np.array_equal(batch.observations[row], game.observation())
                assert np.flatnonzero(batch.legal[row]).tolist() == game.legal_actions()
                assert batch.policy[row].argmax() == action == counter.choose(game, _rng())
                movers.append(game.to_play())
                row += 1
            game.apply(action)
        shares = np.array(game.returns())
        for at, seat in enumerate(movers):
            value = batch.value[first + at]
            assert np.allclose(value[:players], np.roll(shares, -seat), atol=1e-6)
            assert np.isnan(value[players:]).all()
    assert row == len(batch) == rounds.lessons.sum()


def _rng():  # type: ignore[no-untyped-def]
    from sylvan import _native

    return _native.Rng(0)


def test_a_stream_goes_through_all_rounds() -> None:
    rounds = BlobRounds.played(0, 120, COUNTER)
    stream = BlobStream(rounds, temperature=0.1)
    aside = stream.held_out()
    assert aside is not None and len(aside) + stream.positions == rounds.lessons.sum()
    rng = np.random.default_rng(1)
    seen = [stream.sample(50, rng) for _ in range(stream.positions // 50)]
    drawn = np.concatenate([batch.positions[:, 0] for batch in seen])
    counts = np.bincount(drawn, minlength=120)
    assert (counts <= rounds.lessons).all()  # no repetition within an epoch
    assert not set(drawn) & set(aside.positions[:, 0])


def test_spoilt_files_are_refused(tmp_path: Path) -> None:
    make_rounds(tmp_path, JUDGED, rounds=5)
    (path,) = tmp_path.glob("*.rounds")
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    with pytest.raises(ReplayError, match="read"):
        read_rounds([path])
    rounds = BlobRounds.played(0, 5, JUDGED)
    rounds.parts["actions"][0] = 51  # a card instead of a bid
    with pytest.raises(ReplayError, match="rounds"):
        rounds.rows(np.arange(5), 0.1)
    (tmp_path / "none").mkdir()
    with pytest.raises(ConfigError, match="rounds"):
        read_rounds([tmp_path / "none"])
