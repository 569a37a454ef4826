"""Self-play: play many games in parallel with a recent network, and record them.

| file | contents |
|---|---|
| `config` | `SelfPlayConfig`, the settings |
| `ending` | resignation, and results at the move limit |
| `faults` | games whose own code fails |
| `restarts` | positions to start games from |
| `roots` | positions to try out an evaluator |
| `game_columns` | finished games as columns |
| `leases` | which games a step consists of, and which network plays them |
| `batch_leaves` | a batch of leaves of many games, for evaluators |
| `auxiliary` | auxiliary targets of a game |
| `actors` | `Actors`: games played on threads in Rust |
| `statistics` | figures of a step |
| `loading` | load the evaluator of the next lease in a thread |
| `lease_player` | who plays leases; `LeasePlayer` does on this machine |
| `selfplay` | `SelfPlay`, the steps |
"""
