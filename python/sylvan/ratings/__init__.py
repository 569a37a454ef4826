"""Ratings: how strong the networks of a run are.

| file | contents |
|---|---|
| `duel` | many games between two players, in parallel |
| `mistakes` | mistake rates on positions whose best moves are known |
| `yardsticks` | fixed opponents, by name |
| `pairings` | the games of a rating, which other machines may play |
| `rating` | Elo ratings of many players from all their results |
| `arena` | rate each new network of a run, choose the best |
"""
