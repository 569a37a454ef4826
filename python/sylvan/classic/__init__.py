"""The interfaces of the founding documents, one file each, thin over the core.

| file | document |
|---|---|
| `muzero_chess` | `select_action`, `MCTS.run`, `Node`, `MuZeroNetwork`, `ChessEnvironment` |
| `mcts_specification` | `Node`, `MCTS.search` and `get_policy`, `ChessGame`, `ChessNN` |
| `node_edge` | `MCTS.run_simulations`, `Node`, `Edge`, `plot_tree` |
| `alphachess` | edge statistics, self-play, a game in the terminal, under a bound of 16 GB |
| `blob_mcts_node` | `MCTSNode` for three to eight players; the game is in `blob_game` |

They have the documents' names, signatures and defaults, and the correct result where a document is
wrong: `docs/founding.md` has the list. The first document's nodes, settings, network and
environment are in `latent_nodes`, `muzero_settings`, `muzero_network` and `chess_environment`, the
command of the programs around it in `muzero_command`, the second's game and network in `chess_game`
and `neural_network`; `predictions` (probabilities as the core takes them), `progress` (a bar) and
`settings` (files of settings) serve all.
"""
