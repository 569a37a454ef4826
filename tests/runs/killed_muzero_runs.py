"""`python -m tests.runs.killed_muzero_runs FOLDER`: kill and resume a MuZero run.

It needs its own process: a process that has used PyTorch's autograd cannot be forked.
"""

import signal
import sys
from pathlib import Path

from tests.runs.killing import killed_at, load_everything, outcome_of, session, tiny_learned

STEPS = 4
KILLS = [("optimizer", 9), ("search", 40), ("shard", 2), ("checkpoint", 8), ("publish", 1)]


def main(folder: Path) -> None:
    """Kill a run at each point, resume it, and compare with an uninterrupted one."""
    load_everything()
    assert session(tiny_learned(STEPS), folder / "undisturbed") == 0
    undisturbed = outcome_of(folder / "undisturbed", STEPS)
    for point, count in KILLS:
        run = folder / point
        ended = session(tiny_learned(STEPS), run, killed_at(point, count))
        assert ended == signal.SIGKILL, f"{point}: the run was not killed"
        assert session(tiny_learned(STEPS), run) == 0
        assert outcome_of(run, STEPS) == undisturbed, f"{point}: other bits"
        print(point, "is equal")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
