"""Learning: train networks on self-play or on existing games.

Files, in the order in which data flows.

| file | idea |
|---|---|
| `schedule` | the learning rate over a run |
| `config` | settings of the learner |
| `group` | several processes share each batch |
| `losses` | targets, and the losses against them |
| `feed` | prefetches batches and copies them to the device |
| `plugins` | a user's own network or loss |
| `optimizer` | AdamW and SGD, and their state as arrays |
| `average` | the moving average of the weights |
| `graphed` | forward and backward pass as a CUDA graph |
| `saved_batch` | writes a batch whose loss is not finite to a file |
| `progress` | the callback for a learner's progress |
| `base_learner` | one update, the loop over batches, the state: the same for all learners |
| `learner` | the learner of networks with a policy and a value |
| `positions` | samples positions, to calibrate and measure int8 networks |
| `quantization_loss` | measures the loss of an int8 network |
| `inference` | the evaluator of self-play |

Pretraining on records:

| file | idea |
|---|---|
| `pgn_stream` | scans PGN files |
| `puzzles` | turns puzzles and their solutions into records |
| `examples` | turns games and labelled positions into records |
| `pretrain` | stores the records and trains on them |

Pretraining on packed chess games, which all stay on the device:

| file | idea |
|---|---|
| `game_files` | reads packed games into columns |
| `centipawns` | evaluations as probabilities of win, draw and loss |
| `position_batches` | makes batches |
| `imitation` | settings, losses and updates |
| `imitation_checkpoint` | saves and resumes |
| `imitation_log` | the log |
| `imitation_run` | the whole run, from files to an exported network |

Self-play beside games:

| file | idea |
|---|---|
| `file_games` | mixes the games of files into the batches of self-play |
"""

from typing import TYPE_CHECKING

from sylvan.lazy import on_first_use

if TYPE_CHECKING:
    from sylvan.learning.positions import sample_positions
    from sylvan.learning.quantization_loss import measure_loss

# Name -> the module of this package that defines it.
_HOMES = {
    "measure_loss": "quantization_loss",
    "sample_positions": "positions",
}

__all__ = ["measure_loss", "sample_positions"]

__getattr__ = on_first_use(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
