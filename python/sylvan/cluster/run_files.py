"""The cluster's files in a run's folder: identity, lock, plan, status, logs.

RUN/cluster/
    identity             names the run in its leases
    .lock                held by the coordinator: a second one is refused
    plan.json            the leases that are handed out, for a coordinator that is restarted
    status.json          what `sylvan cluster status` shows, a second old at most
    logs/                a file for the coordinator, the learner and each worker
    leases/, blobs/      the storage, unless it is elsewhere
"""

from __future__ import annotations

import base64
import json
import logging
import os
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sylvan.cluster.coordinator import Coordinator
from sylvan.cluster.lease import PROTOCOL, Done, Lease, content_hash
from sylvan.cluster.profile import Probe
from sylvan.cluster.storage import DamagedShard, Storage
from sylvan.errors import ClusterError, RunError
from sylvan.files import write_bytes
from sylvan.runs.run import locked

__all__ = ["ClusterFiles", "finished_in"]

FACTS = ("driver", "learner", "dashboard", "cluster", "mode", "expected")
"""Facts from the driver and the learner for the coordinator's status."""

LOG_BYTES = 32 * 2**20
"""Size from which the log of an earlier session is removed."""


class ClusterFiles:
    """The folder `cluster` of a run."""

    def __init__(self, run: Path) -> None:
        self.folder = run / "cluster"

    @property
    def status(self) -> Path:
        """The newest status."""
        return self.folder / "status.json"

    def age(self) -> float:
        """Seconds since the status was written, by the clock of the machine that has the folder:
        those of others may differ.
        """
        written = self.status.stat().st_mtime
        try:
            with tempfile.NamedTemporaryFile(dir=self.folder, prefix=".now-") as file:
                now = os.stat(file.name).st_mtime
        except OSError:  # it may only be read here
            now = time.time()
        return max(0.0, now - written)

    def make(self) -> None:
        """Create the folder in that of the run, which must be there: it may be unmounted."""
        self.folder.mkdir(exist_ok=True)
        (self.folder / "logs").mkdir(exist_ok=True)

    def identity(self) -> str:
        """The run's name in its leases; made at the first use."""
        path = self.folder / "identity"
        if not path.exists():
            self.make()
            write_bytes(path, uuid.uuid4().hex.encode())
        return path.read_text()

    def storage(self, address: str | None) -> Storage:
        """The storage at an address; default: this folder."""
        return Storage(address or self.folder)

    @contextmanager
    def coordinating(self, patience: float = 0.0) -> Iterator[None]:
        """Be the only coordinator of the run.

        :param patience: seconds to wait for the last one, which may be dying.
        :raises ClusterError: another one is at work.
        """
        end = time.monotonic() + patience
        with ExitStack() as stack:
            while True:
                try:
                    stack.enter_context(locked(self.folder))
                    break
                except RunError:
                    if time.monotonic() >= end:
                        raise ClusterError(
                            f"{self.folder.parent} has a coordinator already: another `sylvan "
                            "train --cluster` is training this run; stop it, or give another "
                            "folder with --run."
                        ) from None
                time.sleep(0.1)
            yield

    def log_to_file(self, name: str) -> None:
        """Append this process's log to a file in the run's folder."""
        self.make()
        handler = logging.FileHandler(self._log(name))
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        root = logging.getLogger("sylvan")
        for earlier in [each for each in root.handlers if isinstance(each, logging.FileHandler)]:
            root.removeHandler(earlier)
            earlier.close()
        root.addHandler(handler)
        root.setLevel(logging.INFO)
        root.info("process %d", os.getpid())

    def stderr_to_file(self, name: str) -> None:
        """Append all that this process writes to its standard error to its log: errors of the
        interpreter and of native code.
        """
        with self._log(name).open("ab") as file:
            os.dup2(file.fileno(), 2)

    def tidy(self) -> None:
        """Remove long logs of earlier sessions; no process of the run may be at work."""
        for path in (self.folder / "logs").glob("*.log"):
            if path.stat().st_size > LOG_BYTES:
                path.unlink()

    def _log(self, name: str) -> Path:
        return self.folder / "logs" / f"{name}.log"

    # --- the coordinator's state ------------------------------------------------------------

    def save_plan(self, coordinator: Coordinator) -> None:
        """Write what a restarted coordinator needs; what is done follows from the shards."""
        probe = coordinator.probe
        plan = {
            "protocol": PROTOCOL,
            "step": coordinator.step,
            "leases": [lease.to_dict() for lease in coordinator.leases],
            "probe": None
            if probe is None
            else asdict(probe) | {"answers": base64.b64encode(probe.answers).decode()},
        }
        write_bytes(self.folder / "plan.json", json.dumps(plan).encode())

    def load_plan(self, coordinator: Coordinator) -> None:
        """Submit the plan of the last coordinator, if there was one."""
        try:
            plan = json.loads((self.folder / "plan.json").read_bytes())
        except (FileNotFoundError, ValueError):
            return
        if plan.get("protocol") != PROTOCOL:  # of another version: the learner submits it anew
            return
        probe = plan["probe"]
        if probe is not None:
            probe = Probe(**probe | {"answers": base64.b64decode(probe["answers"])})
        leases = [Lease.from_dict(fields) for fields in plan["leases"]]
        coordinator.submit(leases, plan["step"], probe)

    def facts(self) -> dict[str, Any]:
        """The facts that the last coordinator had of the other processes."""
        try:
            status = json.loads(self.status.read_bytes())
        except (FileNotFoundError, ValueError):
            return {}
        return {name: status[name] for name in FACTS if name in status}

    def save_status(self, status: dict[str, Any]) -> None:
        """Write the status."""
        write_bytes(self.status, json.dumps(status).encode())


def finished_in(storage: Storage, lease: Lease) -> Done | None:
    """Read a finished lease from its shard; None if it has none."""
    try:
        if not storage.has_shard(lease):
            return None
        _, payload = storage.read_shard(lease)
    except (DamagedShard, OSError):
        return None
    checksum = content_hash(payload)
    games = lease.count if lease.kind == "selfplay" else 0
    return Done(lease.name, "an earlier worker", checksum, len(payload), 0.0, games=games)
