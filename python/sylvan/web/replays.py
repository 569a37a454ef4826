"""Games of a run, position by position: of self-play, or an episode that is filmed now."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sylvan.errors import MissingExtra, RunError
from sylvan.games import Game
from sylvan.muzero.quality import foreseen
from sylvan.muzero.search import greedy, latent_search
from sylvan.replay.packing import Layout
from sylvan.replay.record import GameRecord
from sylvan.replay.shards import complete, read_blocks, read_header
from sylvan.runs.agent import load_model
from sylvan.runs.film import film
from sylvan.runs.run import Run
from sylvan.web import protocol as p
from sylvan.web.boards import board_of, mover, still
from sylvan.web.opinion import policy_of
from sylvan.web.rows import finite, labels_of

__all__ = ["filmed", "foreseen_from", "info_of", "listed_games", "replayed"]

GAMES = 100
"""Games on a page of the list."""

STEPS = 300
"""Most steps of a film."""

WIDTH = 240
"""Pixels of a picture, at most."""

AHEAD = 8
"""Steps that a model is asked to foresee."""


def listed_games(name: str, folder: Path, page: int) -> tuple[list[GameRecord], bool]:
    """`GAMES` games of a run, the newest first, and whether there are older ones.

    :param page: 0 is the newest games, 1 the ones before them.
    :raises RunError: the run has no games yet.
    """
    skipped, found = 0, list[GameRecord]()
    for path in sorted((folder / "replay").glob("*.shard"), reverse=True):
        layout = Layout.from_dict(read_header(path)[0])
        blocks = read_blocks(path, layout, on_damage=lambda _: None)
        records = [record for block in blocks for record in block.records()]
        for record in reversed(records):
            if skipped < GAMES * page:
                skipped += 1
            elif len(found) == GAMES:
                return found, True
            else:
                found.append(complete(record, layout.spec) if layout.native else record)
    if not skipped and not found:
        raise RunError(f"{name} has no games yet: wait for the end of its first step.")
    return found, False


def info_of(number: int, record: GameRecord) -> p.GameInfo:
    """A game, for the list."""
    paid = 0.0 if record.rewards is None else record.rewards.sum(axis=0)
    return p.GameInfo(
        number=number,
        step=int(record.step),
        plies=len(record),
        returns=[float(x) for x in record.returns + paid],
        ending=record.ending,
    )


def replayed(
    name: str, run: Run, number: int, record: GameRecord, pictures: Sequence[str] | None = None
) -> p.Replayed:
    """A game, position by position.

    :param pictures: of a film, a PNG in base 64 before each action, and at the end.
    """
    spec = run.config.game.spec
    state, last = spec.first(record.start), None
    plies = []
    for ply, action in enumerate([*map(int, record.actions), None]):
        if hasattr(state, "set_root"):
            state.set_root()
        if spec.is_gymnasium:  # an environment cannot be rebuilt from its actions
            board: p.Board = _picture(spec.short_name, ply, pictures)
        else:
            board = still(board_of(state, last))
        plies.append(
            p.ReplayPly(
                board=board,
                label=None if action is None else labels_of(state, [action])[0],
                seat=0 if spec.is_gymnasium and action is not None else mover(state),
                values=_values(record, ply),
                policy=_policy(record, ply, state),
                reward=_reward(record, ply),
            )
        )
        if action is not None and not spec.is_gymnasium:
            state.apply(action)
            last = action
    return p.Replayed(
        run=name,
        info=info_of(number, record),
        plies=plies,
        is_film=pictures is not None,
        is_learned=run.config.run.algorithm == "muzero",
    )


def filmed(run: Run, seed: int, stop: Callable[[], bool]) -> tuple[GameRecord, list[str]] | None:
    """Let the best network of a run act in its environment: the episode and its pictures.

    :param stop: asked before each step; the film is then given up.
    :raises SylvanError: the environment renders no pictures, or the run has no network yet.
    """
    spec = run.config.game.spec
    model, config = load_model(run.folder), greedy(run.config.search)
    pictures: list[str] = []
    columns: dict[str, list[Any]] = {name: [] for name in ("see", "do", "share", "value", "paid")}

    def act(state: Game, steps: int) -> int:
        search = latent_search(model, state, config.replace(seed=seed + steps))
        observation, legal = np.asarray(state.observation()), list(state.legal_actions())
        result = search.run(observation, legal)
        columns["see"].append(observation)
        columns["share"].append((legal, np.asarray(result.policy)[legal]))
        columns["value"].append([result.value])
        columns["do"].append(result.best)
        return int(result.best)

    for scene in film(spec, seed, act, STEPS):
        if stop():
            return None
        if scene.steps:
            columns["paid"].append(scene.state.rewards())
        pictures.append(_png(scene.picture))
        ending = "end" if scene.state.is_terminal() else "limit"
    return _record(columns, seed, ending), pictures


def _record(columns: dict[str, list[Any]], seed: int, ending: str) -> GameRecord:
    counts = [len(legal) for legal, _ in columns["share"]]
    steps = len(counts)
    return GameRecord(
        actions=np.array(columns["do"], np.int32),
        seats=np.zeros(steps, np.int8),
        policy_offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        policy_actions=np.concatenate([legal for legal, _ in columns["share"]]).astype(np.int32),
        policy=np.concatenate([shares for _, shares in columns["share"]]).astype(np.float32),
        values=np.array(columns["value"], np.float32),
        weights=np.ones(steps, np.float32),
        surprise=np.zeros(steps, np.float32),
        returns=np.zeros(1, np.float32),
        rewards=np.array(columns["paid"], np.float32),
        observations=np.stack(columns["see"]),
        ending=ending,
        seed=seed,
    )


def foreseen_from(run: Run, record: GameRecord, ply: int) -> list[p.ForeseenStep]:
    """Predictions of a run's best model from a ply, beside the true course.

    :raises SylvanError: the run has learned no model, or the position was not searched.
    """
    can_see = range(len(record)) if record.observations is None else record.searched
    if ply not in can_see:
        raise RunError("Nothing is known of this position: choose another one.")
    spec = run.config.game.spec
    steps = foreseen(load_model(run.folder), spec, record, run.config.targets, ply, AHEAD)
    state = spec.first(record.start)
    actions = [int(action) for action in record.actions]
    if not spec.is_gymnasium:
        for action in actions[:ply]:
            state.apply(action)
    found, before = [], None
    for ahead, step in enumerate(steps):
        following = actions[ply + ahead] if ply + ahead < len(actions) else None
        after = None if following is None else labels_of(state, [following])[0]
        legal = step.legal
        found.append(
            p.ForeseenStep(
                label=before,
                reward=None if step.reward is None else finite(step.reward),
                real_reward=step.real_reward,
                value=finite(step.value),
                real_value=step.real_value,
                policy=policy_of(state, legal, step.shares[legal].tolist())[:3],
                real=after,
                legal=float(step.shares[legal].sum()) if legal else None,
            )
        )
        before = after
        if following is not None and not spec.is_gymnasium:
            state.apply(following)
    return found


def _picture(name: str, ply: int, pictures: Sequence[str] | None) -> p.PictureBoard:
    text = f"{name}, step {ply}" if pictures else f"{name}, step {ply}: pictures are not kept."
    image = None if pictures is None else pictures[ply]
    return p.PictureBoard(kind="picture", svg=None, text=text, image=image)


def _png(picture: Any) -> str:
    """A picture as a small PNG in base 64."""
    try:
        from PIL import Image
    except ImportError:
        raise MissingExtra.named("Pictures of episodes need Pillow", "gym") from None
    image = Image.fromarray(np.ascontiguousarray(picture, np.uint8))
    image.thumbnail((WIDTH, WIDTH))
    file = io.BytesIO()
    image.save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def _values(record: GameRecord, ply: int) -> list[float] | None:
    if ply >= len(record) or not len(record.legal(ply)):
        return None
    return [float(x) for x in record.values[ply]]


def _policy(record: GameRecord, ply: int, state: Game) -> list[p.Considered]:
    """The search's policy at a ply, the best moves first."""
    if ply >= len(record):
        return []
    return policy_of(state, record.legal(ply).tolist(), record.target(ply).tolist())


def _reward(record: GameRecord, ply: int) -> float | None:
    if record.rewards is None or ply >= len(record):
        return None
    return float(record.rewards[ply, max(0, int(record.seats[ply]))])
