"""Practice: advantages by hand, the policy follows them, and a critic that sees all hands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from sylvan import _native
from sylvan.blob.practice import Experience, Practice, PracticeConfig, practise
from sylvan.errors import ConfigError, NetworkError
from sylvan.games import Blob
from sylvan.networks import build_network, load_network

SMALL = PracticeConfig(tables=40, batch=64, passes=1, average=0.0)


def practice(**settings: Any) -> Practice:
    network = build_network("suits1x16", game=Blob(), seed=1)
    return Practice(network, SMALL.replace(**settings), "cpu")


def test_advantages_by_hand() -> None:
    """Three seats; seat 1 decides twice at the first table, seat 2 once at the second."""
    own = practice(trace=0.5)
    shares = np.full((2, 8), np.nan, np.float32)
    shares[0, :3], shares[1, :3] = (0.0, 1.0, 0.5), (0.9, 0.0, 0.6)
    values = np.zeros((3, 8), np.float32)
    values[0, :3], values[1, :3], values[2, :3] = (0.5, 0.5, 0.1), (0.4, 0.2, 0.2), (0.8, 0.4, 0.2)
    values[:, 3:] = 7.0  # of empty seats
    seen, hands = np.zeros((1, 168), np.uint8), np.zeros((1, 0), np.uint8)
    rest = (seen, hands, np.ones((1, 66), bool), np.zeros(1, np.int64))
    log = np.zeros(1, np.float32)
    asked = [
        (np.array([0]), np.array([1]), *rest, log, values[:1]),
        (np.array([1]), np.array([2]), *rest, log, values[1:2]),
        (np.array([0]), np.array([1]), *rest, log, values[2:]),
    ]
    experience = own._experience(asked, np.array([3, 3]), shares)
    # Expected utilities: 0.5 - 0.3, 0.4 - 0.2, 0.8 - 0.3; in the end 1 - 0.25 and 0.6 - 0.45.
    second = 0.75 - 0.5
    first = (0.5 - 0.2) + 0.5 * second
    assert experience.advantages == pytest.approx([first, 0.15 - 0.2, second])
    assert experience.shares[0, :3] == pytest.approx([1.0, 0.5, 0.0])  # from seat 1 on
    assert experience.shares[1, :3] == pytest.approx([0.6, 0.9, 0.0])  # from seat 2 on
    assert np.isnan(experience.shares[:, 3:]).all()


def test_experience_has_the_drawn_actions() -> None:
    own = practice()
    experience = own.play()
    assert len(experience.actions) > 100
    assert experience.legal[np.arange(len(experience.actions)), experience.actions].all()
    assert (experience.legal.sum(axis=1) > 1).all()
    seen = own._unpacked(torch.from_numpy(experience.seen))
    assert np.array_equal(np.packbits(seen.numpy().astype(bool), axis=1), experience.seen)
    with torch.no_grad():
        policy = own.network(seen).policy.masked_fill(~torch.from_numpy(experience.legal), -np.inf)
    logs = torch.log_softmax(policy, 1).gather(1, torch.from_numpy(experience.actions)[:, None])
    assert np.allclose(logs[:, 0], experience.logs, atol=1e-5)


def test_what_pays_becomes_likelier() -> None:
    own = practice(entropy=0.0)
    experience = own.play()
    bids = experience.actions >= 52
    experience.advantages[:] = (
        np.where(experience.actions == 52, 1.0, -1.0) * bids
    )  # a bid of 0 pays

    def chance() -> float:
        seen = own._unpacked(torch.from_numpy(experience.seen[bids]))
        legal = torch.from_numpy(experience.legal[bids])
        with torch.no_grad():
            policy = own.network(seen).policy.masked_fill(~legal, -np.inf)
        return float(torch.softmax(policy, 1)[:, 52].mean())

    before = chance()
    for _ in range(5):
        own.learn(experience, 1e-3)
    assert chance() > before + 0.02


def test_it_goes_on_for_some_minutes(tmp_path: Path) -> None:
    said: list[str] = []
    network = build_network("suits1x16", game=Blob(), seed=1)
    practise(network, tmp_path, SMALL, minutes=0.01, device="cpu", tell=said.append)
    assert said and "decisions" in said[0]
    load_network(tmp_path / "networks" / "last.safetensors", game=Blob())


# --- a critic that sees the deal ------------------------------------------------------------------


def dealt(players: int, cards: int, seed: int) -> Blob:
    """A single round."""
    return Blob(players, cards, sequence="single", dealer=seed % players, seed=seed).this_round()


def test_hands_are_those_of_the_games_from_the_seat_to_move_on() -> None:
    games = [dealt(3 + seed % 6, 1 + seed % 6, seed) for seed in range(24)]
    rngs = [[_native.Rng(1, seat) for seat in range(game.num_players)] for game in games]
    tables = _native.BlobTables(games, [[None] * game.num_players for game in games], rngs)
    rng = np.random.default_rng(1)
    asked = 0
    while len((answer := tables.ask())[0]):
        indices, seats, observations, legal = answer
        hands = tables.hands()
        assert hands.shape == (len(indices), 8, 52) and hands.dtype == np.uint8
        for row, (index, seat) in enumerate(zip(indices, seats, strict=True)):
            game = games[index]
            while len(game.legal_actions()) == 1:  # seats of bots
                game.apply(game.legal_actions()[0])
            assert game.to_play() == seat
            count = game.num_players
            for away in range(count):
                held = np.flatnonzero(hands[row, away]).tolist()
                assert held == sorted(game.hand((int(seat) + away) % count))
            assert not hands[row, count:].any()
            assert np.array_equal(hands[row, 0], observations[row, :52])
        actions = [int(rng.choice(np.flatnonzero(may))) for may in legal]
        for index, action in zip(indices, actions, strict=True):
            games[index].apply(action)
        tables.tell(actions)
        asked += len(indices)
    assert asked > 200
    assert tables.hands().shape == (0, 8, 52)


def test_the_critic_starts_as_the_networks_own_value() -> None:
    """For any hands, so the first advantages equal those without the critic."""
    own = practice(critic="deal")
    assert own.critic is not None
    experience = own.play()
    seen = own._unpacked(torch.from_numpy(experience.seen))
    hands = own._unpacked(torch.from_numpy(experience.hands), 416)
    with torch.no_grad():
        assert torch.allclose(own.critic(seen, hands), own.network(seen).value, atol=1e-6)


def test_the_critic_knows_no_suit_from_another() -> None:
    own = practice(critic="deal")
    critic = learned(own)
    experience = own.play()
    cells = own.network.body.suit_cells.reshape(4, -1)  # the cells of the view come first
    seen = own._unpacked(torch.from_numpy(experience.seen))
    hands = own._unpacked(torch.from_numpy(experience.hands), 416)
    order = [2, 0, 3, 1]
    other = seen.clone()
    other[:, cells.flatten()] = seen[:, cells[order].flatten()]
    moved = hands.reshape(-1, 8, 4, 13)[:, :, order].flatten(1)
    with torch.no_grad():
        assert torch.allclose(critic(seen, hands), critic(other, moved), atol=1e-5)
        assert not torch.allclose(critic(seen, hands), critic(seen, moved), atol=1e-3)


def learned(own: Practice) -> torch.nn.Module:
    """Its critic, with random weights for the hands."""
    assert own.critic is not None
    with torch.no_grad():
        weight = own.critic.body.suit.weight
        weight[:, -8 * 13 :] = torch.randn(
            len(weight), 8 * 13, generator=torch.Generator().manual_seed(3)
        )
    return own.critic


TABLES = _native.BlobTables


class Shuffled:
    """Tables that return wrong hands."""

    def __init__(self, *given: Any) -> None:
        self.tables = TABLES(*given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tables, name)

    def hands(self) -> NDArray[np.uint8]:
        return np.random.default_rng(5).permuted(self.tables.hands(), axis=2)


def played(critic: str) -> tuple[Practice, Experience]:
    own = practice(critic=critic)
    if critic == "deal":
        learned(own)
    torch.manual_seed(1)
    return own, own.play()


def test_the_policy_does_not_see_the_hands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other hands change the advantages only; observations, actions and values stay."""
    _, without = played("view")
    _, true = played("deal")
    monkeypatch.setattr(_native, "BlobTables", Shuffled)
    _, false = played("deal")
    assert not np.array_equal(true.hands, false.hands)
    assert not np.allclose(true.advantages, false.advantages, atol=1e-3)
    for experience in (true, false):
        assert experience.seen.shape == without.seen.shape == (len(experience.actions), 168)
        for column in ("seen", "legal", "actions", "logs", "shares"):
            same = np.array_equal(
                getattr(experience, column), getattr(without, column), equal_nan=column == "shares"
            )
            assert same, column


def test_the_network_learns_nothing_from_the_hands() -> None:
    """The policy's update depends on the advantages, not on the hands."""
    after = []
    for critic, lie in (("view", False), ("deal", False), ("deal", True)):
        own, experience = played(critic)
        experience.advantages[:] = np.linspace(-1, 1, len(experience.actions))
        if lie:
            experience.hands[:] = np.random.default_rng(2).integers(0, 256, experience.hands.shape)
        own.learn(experience, 1e-3)
        after.append(own.network.state_dict())
    for weights in after[1:]:
        assert list(weights) == list(after[0])
        assert all(torch.equal(weights[name], after[0][name]) for name in weights)


def test_advantages_of_a_critic_by_hand() -> None:
    """V is the critic's value, computed here seat by seat."""
    own = practice(critic="deal", trace=1.0)  # then the advantage is the result minus V
    critic, experience = learned(own), own.play()
    seen = own._unpacked(torch.from_numpy(experience.seen))
    hands = own._unpacked(torch.from_numpy(experience.hands), 416)
    with torch.no_grad():
        values = critic(seen, hands).numpy()

    def above(them: NDArray[np.float32]) -> float:
        return float(them[0] - them[1:].mean())

    for shares, said, advantage in zip(
        experience.shares, values, experience.advantages, strict=True
    ):
        there = ~np.isnan(shares)
        assert advantage == pytest.approx(above(shares[there]) - above(said[there]), abs=1e-5)


def test_the_critic_learns_what_the_view_cannot_know() -> None:
    """Here the next seat's share is 1 if it holds an ace."""
    own = practice(critic="deal", batch=4096)
    experience = own.play()
    hands = own._unpacked(torch.from_numpy(experience.hands), 416).numpy().reshape(-1, 8, 52)
    next_has_ace = hands[:, 1, 12::13].any(axis=1)
    experience.shares[:, 1] = next_has_ace
    figures: dict[str, float] = {}
    for _ in range(60):
        figures = own.learn(experience, 3e-3)
    assert figures["critic"] < 0.8 * figures["value"]


def test_a_critic_is_not_kept(tmp_path: Path) -> None:
    """The file has the same format; practice can continue from it with either critic."""
    start = build_network("suits1x16", game=Blob(), seed=1)
    names = {name: weight.shape for name, weight in start.state_dict().items()}
    config = SMALL.replace(critic="deal")
    said: list[str] = []
    practise(start, tmp_path, config, minutes=0.01, device="cpu", tell=said.append)
    assert "critic" in said[0]
    network = load_network(tmp_path / "networks" / "last.safetensors", game=Blob())
    assert {name: weight.shape for name, weight in network.state_dict().items()} == names
    assert network.header == start.header
    for critic in ("deal", "view"):
        Practice(network, SMALL.replace(critic=critic), "cpu").play()


def test_a_critic_that_cannot_be_is_refused() -> None:
    with pytest.raises(ConfigError, match="critic"):
        SMALL.replace(critic="all")
    network = build_network("mlp1x16", game=Blob(), seed=1)
    with pytest.raises(NetworkError, match="suits"):
        Practice(network, SMALL.replace(critic="deal"), "cpu")


def test_a_curriculum_begins_with_one_card_and_ends_with_all() -> None:
    own = practice(curriculum=0.5)

    def cards(progress: float) -> set[int]:
        return {own._dealt(progress).cards for _ in range(300)}

    assert cards(0.0) == {1}
    assert max(cards(0.25)) == 6  # half of the ten cards that four players can hold, and one
    assert cards(0.5) == cards(1.0) == set(range(1, 11))


def test_hands_grow_during_practice() -> None:
    own = practice(curriculum=1.0)
    most = [own._most_cards(7, progress) for progress in np.linspace(0, 1, 50)]
    assert most == sorted(most) and (most[0], most[-1]) == (1, 7)
    assert set(most) == set(range(1, 8))


def test_without_a_curriculum_progress_changes_nothing() -> None:
    early, late = practice(), practice()
    assert all(early._dealt(0.0) == late._dealt(1.0) for _ in range(50))


def test_a_curriculum_is_a_share() -> None:
    with pytest.raises(ConfigError, match=r"1\.5"):
        PracticeConfig(curriculum=1.5)
