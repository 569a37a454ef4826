"""Self-play: play many games in parallel with the newest network, and record them.

| file | contents |
|---|---|
| `config` | `SelfPlayConfig`, the settings |
| `openings` | how games start: the first state, random moves, or a position of an earlier game |
| `temperature` | choose a move from the policy target |
| `ending` | resignation, and results at the move limit |
| `plies` | a sequence of plies as columns |
| `diary` | the plies of games in progress |
| `unfinished` | games in progress between steps |
| `evaluation` | run the evaluator in parallel to the search |
| `places` | the games of one forest, in slots |
| `halves` | one of the two forests that alternate |
| `hidden_halves` | the same for games with hidden information |
| `statistics` | figures of a step |
| `batch_leaves` | a batch of leaves of many games, for evaluators |
| `game_columns` | finished games as columns |
| `actors` | `Actors`: games played on threads in Rust |
| `selfplay` | `SelfPlay`, the steps |
"""
