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
| `thinker` | what outlives a move: weights and tree |
"""
