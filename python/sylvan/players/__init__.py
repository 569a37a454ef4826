"""Players, and how strong they are.

| file | contents |
|---|---|
| `batching` | searches as generators that share an evaluator's batch |
| `clock` | time management: seconds per move |
| `score` | values as centipawns, mate distance, wins-draws-losses |
| `player` | `Player`, and the random and the searching one |
| `uci_client` | start a UCI program and read its answers |
| `uci_player` | a UCI program as a player |
| `specs` | create a player from its text on the command line |
| `strength` | simulations and temperature for an Elo |
| `elo` | Elo difference, its interval, and the SPRT |
"""
