"""Training runs: a folder with settings, checkpoints and metrics, and the loop that trains.

| file | contents |
|---|---|
| `config` | all settings of a run, section by section |
| `presets` | default settings per game and machine |
| `checkpoints` | the state of a run at the end of a step |
| `metrics` | the figures of each step, as JSON lines |
| `run` | the run's folder and its lock |
| `seeds` | random generators by purpose |
| `watcher` | callbacks of the loop |
| `warm_start` | start from another network's weights |
| `play_figures` | statistics of a step's finished games |
| `history` | networks of earlier steps, spread over the run |
| `publish` | write the best and the last network |
| `trainer` | the phases of a step, for any algorithm |
| `budget` | the budget in steps and time |
| `interrupts` | Ctrl-C at a step boundary |
| `alphazero_trainer` | the parts of an AlphaZero run |
| `muzero_publish` | write the best and the last learned model |
| `muzero_trainer` | the parts of a MuZero run |
| `loop` | the training loop, `train` |
| `rehearsal` | measure what steps cost on this machine |
| `figures` | names of all figures, and figures derived from them |
| `fit` | fit a preset to a budget of minutes |
| `palette` | colours of plots and live view |
| `panel` | one frame of the live view |
| `live` | the live view, or a line per step |
| `logger` | copy the figures to other programs, by name |
| `tensorboard` | copy the figures to TensorBoard |
| `wandb` | copy the figures to Weights & Biases |
| `mlflow` | copy the figures to MLflow |
| `plots` | plots of one or several runs |
| `workers` | what each worker of a cluster has played |
| `report` | all plots of a run on one HTML page |
| `overview` | find runs, read their state, compare their settings |
| `export` | export a run's network to a file |
| `agent` | load a learned model and act with it |
| `film` | an episode of an environment as pictures |
| `model_player` | a player that plans with a learned model |
"""
