"""`python -m tests.runs.killed_muzero_runs FOLDER`: kills and resumes a run that learns a model.

In a process of its own: a process in which PyTorch has differentiated cannot be forked.
"""

import signal
import sys
from pathlib import Path

from tests.runs.killing import killed_at, load_everything, outcome_of, sitting, tiny_learned

STEPS = 4
KILLS = [("optimizer", 9), ("search", 40), ("shard", 2), ("checkpoint", 8), ("publish", 1)]


def main(folder: Path) -> None:
    """Kill a run at each place, go on, and compare with one that was not disturbed."""
    load_everything()
    assert sitting(tiny_learned(STEPS), folder / "undisturbed") == 0
    undisturbed = outcome_of(folder / "undisturbed", STEPS)
    for place, count in KILLS:
        run = folder / place
        ended = sitting(tiny_learned(STEPS), run, killed_at(place, count))
        assert ended == signal.SIGKILL, f"{place}: the run was not killed"
        assert sitting(tiny_learned(STEPS), run) == 0
        assert outcome_of(run, STEPS) == undisturbed, f"{place}: other bits"
        print(place, "is equal")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
