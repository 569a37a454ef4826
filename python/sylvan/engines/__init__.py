"""Engines: searches that talk to other programs and to people, and what they need for it.

| file | idea |
|---|---|
| `score` | a value as chess programs write it: centipawns, mate in n, win-draw-loss |
| `clock` | how long to think |
| `strength` | how to play at an Elo |
| `uci` | the protocol: lines in, lines out |
| `uci_commands` | what a GUI sends, as data |
| `uci_options` | what a GUI can set |
| `uci_report` | what a GUI is told |
| `deliberation` | one `go` while it lasts |
| `weights` | an evaluator as a person names it |
| `lines` | lines between programs |
| `analysis`, `analysis_batch`, `analysis_schema` | the JSON server: queue, batch, lines |
| `thinker` | what outlives a move: weights and tree |
| `pgn`, `openings` | games and first positions from files |
| `annotate` | going over a game: marks, better lines, a summary per player |
| `batching` | many searches, one evaluator call |
| `players`, `uci_player`, `uci_client` | what chooses a move: chance, a search, another program |
| `specs` | players in words, as a command line names them |
| `arbiter` | one game between two players, with clocks |
| `match`, `ledger`, `report` | many games, the file that keeps them, what they came to |
| `elo` | the difference in Elo, its interval, and when to stop |
"""
