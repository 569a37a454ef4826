"""The learner's side: plays the leases of a run on the workers of a cluster.

`ClusterPlayer` replaces this machine's actors (`sylvan.selfplay.lease_player`). It
cuts a step's lease into parts, puts the network into the storage, submits the parts, waits until
all have a shard, verifies the shards and joins their games in order. Ratings are cut and played in
the same way. Nothing else in a run changes: the training loop, the learner and the checkpoints do
not know of the cluster.

In exact mode the games of a step are those of its own lease, so the run equals the run on one
machine. In fast mode a step takes as many games as its lease has, of any lease that is done, in the
order of arrival: nobody waits for a slow worker. Leases that are more than `stale` steps late are
dropped.

The parts and their networks follow from the step's checkpoint, so a learner that is killed submits
the same leases again, and those that have a shard already are done. The shards of a step are
removed when the next step begins: then a checkpoint has the games in its replay.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from statistics import median
from typing import Any, Protocol

from sylvan.cluster.coordinator import Arrivals
from sylvan.cluster.lease import Done, Lease, content_hash, cut
from sylvan.cluster.network_files import model_of
from sylvan.cluster.profile import Probe, version
from sylvan.cluster.ratings import can_be_sent, pairing_unpacked, task_of
from sylvan.cluster.reanalysis import columns_unpacked, job_of
from sylvan.cluster.recipe import Recipe, episodes_blob, positions_blob, recipe_of
from sylvan.cluster.shard_games import ShardGames, joined
from sylvan.cluster.storage import DamagedShard, Storage
from sylvan.errors import ClusterError, GameContractError
from sylvan.muzero.model_player import ModelPlayer
from sylvan.muzero.reanalyse import SearchColumns, SearchJob
from sylvan.planning import SearchConfig
from sylvan.ratings.pairings import Pairing, PlayedPairing, RatingWatch
from sylvan.ratings.pairings import joined as joined_parts
from sylvan.runs.run import Run
from sylvan.runs.workers import WorkerTotals
from sylvan.selfplay.game_columns import GameColumns
from sylvan.selfplay.lease_player import Load, PlayedLease, Watch
from sylvan.selfplay.leases import Lease as StepLease
from sylvan.selfplay.leases import Unfinished, cut_episodes
from sylvan.selfplay.statistics import SelfPlayStatistics

log = logging.getLogger(__name__)

__all__ = ["ClusterPlayer", "LearnerLink"]

PATIENCE = 0.05
"""Seconds between two questions to the coordinator."""

STORAGE_PATIENCE = 600.0
"""Seconds in which a storage that disappeared may come back."""

RETRY = 0.5
"""Seconds between two attempts to use the storage."""

MOST_BATCHES = 16
"""Maximum batches whose positions are searched elsewhere at once; the learner keeps them all."""

PARTS = 2
"""Parts of a step for each worker, if games are many: each worker plays two at once, but with a
learned model one after another."""


class LearnerLink(Protocol):
    """The coordinator, as the learner reaches it; a call returns when it is done."""

    def submit(self, leases: Sequence[Lease], step: int, probe: Probe | None) -> None:
        """As `Coordinator.submit`."""

    def add(self, leases: Sequence[Lease]) -> None:
        """As `Coordinator.add`."""

    def collect(self, life: str, number: int) -> Arrivals:
        """As `Coordinator.collect`."""

    def again(self, name: str, reason: str) -> None:
        """As `Coordinator.again`."""

    def forget_leases(self, names: Sequence[str]) -> None:
        """As `Coordinator.forget_leases`."""

    def news(self) -> list[str]:
        """Problems since the last call, for the user."""


class ClusterPlayer:
    """Plays leases on a cluster.

    :param storage: that all workers reach.
    :param identity: of the run.
    :param workers: how many are expected; a step has at least two parts for each.
    :param exact: take the leases of a step in order, else as they arrive.
    :param stale: in fast mode, a step takes no games of leases of an earlier step than this many
        before it. Their network is older than that by `selfplay.lag`, and one.
    :param check: called while a batch is waited for; an exception that it raises ends the run.
    :param tell: shows a sentence to the user at once; default: at the end of the step.
    """

    def __init__(
        self,
        run: Run,
        link: LearnerLink,
        storage: Storage,
        identity: str,
        workers: int = 1,
        exact: bool = True,
        stale: int = 2,
        sleep: Callable[[float], None] = time.sleep,
        tell: Callable[[str], None] | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self.run, self.link, self.storage = run, link, storage
        self.identity, self.workers, self.exact, self.stale = identity, workers, exact, stale
        self._sleep, self._check = sleep, check
        self.notes: list[str] = []
        self._tell = tell or self.notes.append
        self._recipe: Recipe | None = None
        self._settings = ""
        self._probe: Probe | None = None
        self._parts: dict[int, list[Lease]] = {}
        """The submitted parts of steps that are not over."""
        self._heard = Arrivals()
        """The coordinator's last answer."""
        self._unread: dict[str, Done] = {}
        """Leases that are over, whose games were not needed yet."""
        self._broken: dict[str, str] = {}
        """Leases that no worker can play, and why."""
        self._going_on: dict[str, list[Unfinished]] = {}
        """The episodes that parts continue."""
        self._rated: list[Lease] = []
        """The parts of the rating that is under way."""
        self._asked: dict[str, Lease] = {}
        """The jobs of reanalysis that are under way, by their names."""
        self._step = 0
        """The learner's step."""
        self._done: dict[str, Done] = {}
        self._games: dict[str, ShardGames] = {}
        """Games that were read."""
        self._ended = 0.0
        """When the last step had its games; 0 before the first."""
        self._totals = WorkerTotals(run.folder)
        self._taken: set[str] = set()
        """Fast mode: leases whose games are in the replay, or in that of the step being played."""

    def play(
        self, lease: StepLease, following: Sequence[StepLease], load: Load, watch: Watch | None
    ) -> PlayedLease:
        """Play a lease to its end on the workers, and begin the following ones."""
        began, self._step = time.perf_counter(), lease.number
        self._patiently(lambda: self._prepare(lease, following, load))
        self._patiently(lambda: self._submit(lease.number))
        before = set(self._done)
        while not self._is_complete(lease):
            self._patiently(lambda: self._collect(lease))
            if watch is not None:
                watch(self._so_far(self._arrived(lease), time.perf_counter() - began))
            if not self._is_complete(lease):
                self._sleep(PATIENCE)
        parts = self._arrived(lease)
        self._taken |= {part.name for part in parts}
        statistics = self._statistics(self._done.keys() - before, began)
        self._add_totals(lease.number, [self._done[part.name] for part in parts])
        found = [self._games[part.name] for part in parts]
        assert self._recipe is not None
        games = joined([each.games for each in found], self._recipe.first)
        dropped = [
            _error(number, kind, text) for each in found for number, kind, text in each.dropped
        ]
        unfinished = [
            episode
            for part, each in zip(parts, found, strict=True)
            for episode in self._cut_episodes(part, each.games)
        ]
        return PlayedLease(games, dropped, statistics, unfinished)

    def play_pairings(
        self,
        settings: Mapping[str, Any],
        step: int,
        network: Any,
        pairings: Mapping[Pairing, Callable[[], Any] | None],
        watch: RatingWatch | None,
    ) -> dict[Pairing, PlayedPairing]:
        """As `PlaysPairings.play_pairings`."""
        parts: dict[str, tuple[Lease, Pairing]] = {}
        self._patiently(lambda: parts.update(self._cut_pairings(settings, step, network, pairings)))
        self._rated = [lease for lease, _ in parts.values()]
        found: dict[str, PlayedPairing] = {}
        self._patiently(lambda: self._submit(step))
        while len(found) < len(parts):
            self._patiently(lambda: self._collect_ratings(step, found))
            if watch is not None:
                for pairing in pairings:
                    over = sum(parts[name][0].count for name in found if parts[name][1] == pairing)
                    watch(pairing.opponent, over, pairing.games)
            if len(found) < len(parts):
                self._sleep(PATIENCE)
        self._rated = []
        self._forget([lease for lease, _ in parts.values()])
        played: dict[Pairing, list[PlayedPairing]] = {}
        for name, (_, pairing) in parts.items():
            played.setdefault(pairing, []).append(found[name])
        return {pairing: joined_parts(each) for pairing, each in played.items()}

    def _cut_pairings(
        self,
        settings: Mapping[str, Any],
        step: int,
        network: Any,
        pairings: Mapping[Pairing, Callable[[], Any] | None],
    ) -> dict[str, tuple[Lease, Pairing]]:
        """The parts of the pairings that workers can play, in order, by the names of the leases."""
        recipe, parts = self._recipe, dict[str, tuple[Lease, Pairing]]()
        if recipe is None or (own := model_of(network)) is None:
            return {}
        rated = self.storage.put_blob(own)
        for pairing, load in pairings.items():
            other = b"" if load is None else model_of(load())
            if other is None or not can_be_sent(recipe, pairing):
                continue
            task = self._put(task_of(settings, pairing))
            size = math.ceil(pairing.games * len(pairings) / (PARTS * self.workers))
            for first, count in cut(0, pairing.games, max(1, size)):
                common = (self.identity, step, first, count, rated, self._settings)
                lease = Lease(*common, kind="rating", other=self._put(other), task=task)
                parts[lease.name] = lease, pairing
        return parts

    # --- reanalysis ---------------------------------------------------------------------------

    @property
    def batches_at_once(self) -> int:
        """As `SearchesElsewhere.batches_at_once`; each has at least one job."""
        return min(MOST_BATCHES, PARTS * self.workers)

    def search_elsewhere(
        self, search: SearchConfig, model: Any, jobs: Sequence[SearchJob]
    ) -> Callable[[], list[SearchColumns]] | None:
        """As `SearchesElsewhere.search_elsewhere`."""
        recipe, file = self._recipe, model_of(model)
        if recipe is None or recipe.one_actor or file is None:
            return None
        leases: list[Lease] = []

        def ask() -> None:
            network = self.storage.put_blob(file)
            tasks = [self.storage.put_blob(job_of(search, job)) for job in jobs]
            leases[:] = [
                Lease(
                    self.identity,
                    self._step,
                    0,
                    len(job.seats),
                    network,
                    self._settings,
                    kind="reanalysis",
                    task=task,
                )
                for job, task in zip(jobs, tasks, strict=True)
            ]

        self._patiently(ask)
        self._asked |= {lease.name: lease for lease in leases}
        self.link.add(leases)
        return lambda: self._searched(leases)

    def _searched(self, leases: Sequence[Lease]) -> list[SearchColumns]:
        """Wait for the results of some jobs."""
        found: dict[str, SearchColumns] = {}

        def collect() -> None:
            missing = {lease.name: lease for lease in leases if lease.name not in found}
            for name in self._hear(self._step, missing):
                shard = self._verified(missing[name], self._unread[name])
                if shard is not None:
                    found[name] = columns_unpacked(shard[1])
                del self._unread[name]

        while True:
            self._patiently(collect)
            if len(found) == len({lease.name for lease in leases}):
                break
            self._check()
            self._sleep(PATIENCE)
        for lease in leases:
            self._asked.pop(lease.name, None)
        self._forget(leases)
        with suppress(OSError):  # what is left goes at the next step
            for lease in leases:
                self.storage.remove_shard(lease.name)
                self.storage.remove_blob(lease.task)
        return [found[lease.name] for lease in leases]

    # --- games --------------------------------------------------------------------------------

    def _cut_episodes(self, part: Lease, games: GameColumns) -> list[Unfinished]:
        """The episodes of a part that other leases continue."""
        assert self._recipe is not None
        if not self._recipe.learned:
            return []
        going_on = self._going_on[part.name]
        return cut_episodes(
            StepLease(part.step, 0, part.first, part.count, unfinished=going_on), games
        )

    def _add_totals(self, step: int, played: Sequence[Done]) -> None:
        """Add leases to the totals of the workers, which only a report reads."""
        leases = [(each.worker, each.machine, {**each.figures, **_counts(each)}) for each in played]
        with suppress(OSError):
            self._totals.add(step, leases)

    def state_dict(self) -> dict[str, Any]:
        """Fast mode: the leases whose games were taken before their step."""
        submitted = {part.name for parts in self._parts.values() for part in parts}
        return {} if self.exact else {"taken": sorted(self._taken & submitted)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the state from `state_dict`."""
        self._taken = set(state.get("taken", ()))

    def stop(self) -> None:
        """Nothing plays here; what the workers play will be found in the storage."""

    def _prepare(self, lease: StepLease, following: Sequence[StepLease], load: Load) -> None:
        """Cut what is not cut yet, and remove what is not needed any more."""
        self._asked.clear()
        for each in (lease, *following):
            if each.number not in self._parts:
                self._parts[each.number] = self._cut(each, load(each))
                log.info("step %d has %d leases", each.number, len(self._parts[each.number]))
        self._tidy(lease.number)

    def _patiently(self, call: Callable[[], None]) -> None:
        """Call until the storage works, but not for ever.

        :raises OSError: the storage does not work for `STORAGE_PATIENCE` seconds.
        """
        end, told = time.monotonic() + STORAGE_PATIENCE, set[str]()
        while True:
            try:
                call()
                break
            except OSError as error:
                if time.monotonic() > end:
                    raise
                text = f"The storage does not work ({error}): trying again."
                if text not in told:
                    told.add(text)
                    self._tell(text)
                self._sleep(RETRY)
        if told:
            self._tell("The storage works again.")

    # --- cutting ------------------------------------------------------------------------------

    def _cut(self, lease: StepLease, evaluator: Any) -> list[Lease]:
        """The parts of a lease; what they need is in the storage afterwards."""
        recipe = self._recipe or self._make_recipe(evaluator)
        network = self.storage.put_blob(self._network(evaluator, lease.network))
        if self._probe is None:
            self._probe = self._make_probe(recipe, evaluator, network)
        positions = self._put(positions_blob(lease.positions))
        size = lease.count if recipe.one_actor else self._part_size(recipe, lease.count)
        parts = []
        for first, count in cut(lease.first, lease.count, size):
            place = first - lease.first
            going_on = lease.unfinished[place : place + count]
            common = (network, self._settings, positions, self._put(episodes_blob(going_on)))
            parts.append(Lease(self.identity, lease.number, first, count, *common))
            self._going_on[parts[-1].name] = going_on
        return parts

    def _put(self, data: bytes) -> str:
        return self.storage.put_blob(data) if data else ""

    def _part_size(self, recipe: Recipe, count: int) -> int:
        """Games of a part: small enough for every worker to have two, at most as many as a worker
        plays at once.
        """
        most: int = recipe.selfplay["games"]
        return max(1, min(most, math.ceil(count / (PARTS * self.workers))))

    def _network(self, evaluator: Any, step: int) -> bytes:
        """The file of a network that `evaluator` runs."""
        model = model_of(evaluator)
        if model is not None:
            return model
        folder = self.run.checkpoints.path(step)
        average = folder / "average.safetensors"
        return (average if average.exists() else folder / "network.safetensors").read_bytes()

    def _make_recipe(self, evaluator: Any) -> Recipe:
        config = self.run.config
        recipe = recipe_of(config, evaluator, exact=self.exact)
        if recipe.learned:  # check the settings here, not in each worker
            here = config.selfplay.replace(processes=0)
            checked = ModelPlayer(recipe.spec, here, recipe.seed, search=config.search)
            self.notes += checked.notes
        if recipe.one_actor:
            self.notes.append(
                "The network's answers depend on the rest of a batch on this machine: one worker "
                "plays all games of a step, so that they are reproducible. --cluster-mode fast "
                "uses all workers."
            )
        self._settings = self.storage.put_blob(recipe.to_bytes())
        self._recipe = recipe  # now that it is in the storage
        return recipe

    def _make_probe(self, recipe: Recipe, evaluator: Any, network: str) -> Probe:
        seed = self.run.config.run.seed
        return Probe(
            self._settings,
            network,
            recipe.libraries,
            recipe.device,
            seed,
            recipe.answers(evaluator, seed),
            version(),
            recipe.profile,
        )

    # --- submitting and collecting ------------------------------------------------------------

    def _submit(self, step: int) -> None:
        leases = [part for number in sorted(self._parts) for part in self._parts[number]]
        self.link.submit([*self._asked.values(), *self._rated, *leases], step, self._probe)

    def _tidy(self, step: int) -> None:
        """Forget what is in the replay of a checkpoint, and what is too late."""
        oldest = step if self.exact else step - self.stale
        for number in [number for number in self._parts if number < oldest]:
            self._forget(self._parts.pop(number))
        if not self.exact:
            for number, parts in self._parts.items():
                self._forget([part for part in parts if part.name in self._taken])
                self._parts[number] = [part for part in parts if part.name not in self._taken]
        parts = [part for parts in self._parts.values() for part in parts]
        for name in self.storage.shards() - {part.name for part in parts}:
            self.storage.remove_shard(name)
        blobs = {self._settings}
        for part in parts:
            blobs |= {part.network, part.positions, part.unfinished}
        if self._probe is not None:
            blobs |= {self._probe.network}
        self.storage.keep_blobs(blobs)

    def _forget(self, parts: Sequence[Lease]) -> None:
        names = [part.name for part in parts]
        self.link.forget_leases(names)
        for name in names:
            self._games.pop(name, None)
            self._going_on.pop(name, None)
            self._done.pop(name, None)
            self._unread.pop(name, None)
            self._broken.pop(name, None)

    def _candidates(self, lease: StepLease) -> list[Lease]:
        """The parts whose games this step may take."""
        if self.exact:
            return self._parts[lease.number]
        return [
            part
            for number in sorted(self._parts)
            for part in self._parts[number]
            if part.name not in self._taken
        ]

    def _missing(self, lease: StepLease) -> list[Lease]:
        return [part for part in self._candidates(lease) if part.name not in self._games]

    def _arrived(self, lease: StepLease) -> list[Lease]:
        """The parts that this step takes, in the order in which their games are stored."""
        candidates = {part.name: part for part in self._candidates(lease)}
        arrived = [candidates[name] for name in self._games if name in candidates]
        return sorted(arrived, key=lambda part: part.first) if self.exact else arrived

    def _is_complete(self, lease: StepLease) -> bool:
        """Whether this step has its games."""
        if not self._missing(lease):
            return True
        return not self.exact and sum(p.count for p in self._arrived(lease)) >= lease.count

    def _collect(self, lease: StepLease) -> None:
        """Read the games of what is over, as far as this step needs them.

        :raises ClusterError: no worker can play one of the leases.
        """
        missing = {part.name: part for part in self._missing(lease)}
        for name in self._hear(lease.number, missing):
            if not self._is_complete(lease):
                self._read(missing[name], self._unread[name])
                del self._unread[name]

    def _collect_ratings(self, step: int, found: dict[str, PlayedPairing]) -> None:
        """Read the parts of ratings that are over.

        :raises ClusterError: no worker can play one of them.
        """
        missing = {part.name: part for part in self._rated if part.name not in found}
        for name in self._hear(step, missing):
            shard = self._verified(missing[name], self._unread[name])
            if shard is not None:
                found[name] = pairing_unpacked(*shard)
            del self._unread[name]

    def _hear(self, step: int, missing: Collection[str]) -> list[str]:
        """Ask the coordinator for news; return those of the missing leases that are over.

        :raises ClusterError: no worker can play one of them.
        """
        found = self.link.collect(self._heard.life, self._heard.number)
        if found.life != self._heard.life:
            self._unread.clear()
            self._broken.clear()
            if self._heard.life:  # it was restarted, and may not know all leases
                self._submit(step)
        self._heard = found
        for text in self.link.news():
            self._tell(text)
        self._unread |= {done.name: done for done in found.done}
        self._broken |= dict(found.broken)
        for name in missing:
            if name in self._broken:
                raise ClusterError(self._broken[name])
        return [name for name in self._unread if name in missing]

    def _read(self, lease: Lease, done: Done) -> None:
        assert self._recipe is not None
        shard = self._verified(lease, done)
        if shard is not None:
            self._games[lease.name] = ShardGames.from_bytes(*shard, self._recipe.first)
            self._done[lease.name] = done

    def _verified(self, lease: Lease, done: Done) -> tuple[dict[str, Any], bytes] | None:
        """The shard of a lease that is over; None if it is damaged: then it is played again."""
        try:
            facts, payload = self.storage.read_shard(lease)
        except DamagedShard as error:
            self.storage.remove_shard(lease.name)
            self.link.again(lease.name, f"{error} It is played again.")
            return None
        if self.exact and content_hash(payload) != done.checksum:
            self.storage.remove_shard(lease.name)
            self.link.again(
                lease.name,
                f"The shard of lease {lease.name} has other games than {done.worker} reported: it "
                "is played again.",
            )
            return None
        return facts, payload

    # --- figures ------------------------------------------------------------------------------

    def _so_far(self, parts: Iterable[Lease], seconds: float) -> SelfPlayStatistics:
        found = SelfPlayStatistics(seconds=seconds)
        for part in parts:
            if (done := self._done.get(part.name)) is not None:
                found.games += done.games
                found.positions += done.positions
                found.simulations += done.simulations
        return found

    def _statistics(self, names: Iterable[str], began: float) -> SelfPlayStatistics:
        """Statistics of some leases beside the games.

        Workers also play while the learner learns: their work since the last step is counted for
        the time since `began`, and seconds are the mean of the workers.
        """
        played = [self._done[name] for name in names]
        now = time.perf_counter()
        found = SelfPlayStatistics(seconds=now - began)
        share = found.seconds / (now - (self._ended or began))
        self._ended = now

        def total(name: str) -> float:
            return sum(done.figures.get(name, 0.0) for done in played)

        found.played_games = share * sum(done.games for done in played)
        found.played_positions = share * sum(done.positions for done in played)
        found.played_simulations = share * sum(done.simulations for done in played)
        found.batches, found.rows = int(total("batches")), int(total("rows"))
        found.capacity = int(total("capacity"))
        found.cache_lookups = int(total("cache_lookups"))
        found.cache_hits = int(total("cache_hits"))
        if (worked := total("seconds")) > 0:
            found.network_seconds = found.seconds * total("network") / worked
            found.search_seconds = found.seconds * total("waited") / worked
        found.workers, found.slowest_worker = _slowest(played)
        return found


def _slowest(played: Sequence[Done]) -> tuple[int, float]:
    """Number of workers, and the speed of the slowest as a share of the median."""
    positions: dict[str, float] = {}
    seconds: dict[str, float] = {}
    for done in played:
        if done.figures.get("seconds"):
            positions[done.worker] = positions.get(done.worker, 0) + done.positions
            seconds[done.worker] = seconds.get(done.worker, 0) + done.figures["seconds"]
    speeds = [positions[name] / seconds[name] for name in positions]
    middle = median(speeds) if speeds else 0.0
    return len(speeds), min(speeds) / middle if middle else 0.0


def _counts(done: Done) -> dict[str, float]:
    return {name: getattr(done, name) for name in ("games", "positions", "simulations")}


def _error(number: int, kind: str, text: str) -> tuple[int, Exception]:
    """The error of a dropped game."""
    return number, GameContractError(f"{kind}: {text}")
