"""Replay: games on the disk and in memory, and batches drawn from them.

Files, in the order in which data flows.

| file | idea |
|---|---|
| `config` | settings: the size of the window, and how batches are drawn |
| `record` | one game with its search results |
| `games` | several games as columns |
| `packing` | records as bytes, many side by side |
| `shards` | files of records, with checksums |
| `targets` | value and policy targets of a record |
| `columns` | growing arrays |
| `window` | the newest positions in memory, as columns |
| `draws` | weighted sampling of rows |
| `batches` | observations and targets of drawn rows, as arrays |
| `buffer` | the replay: stores games, draws batches, restores checkpoints |
"""
