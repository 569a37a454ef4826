"""The interfaces of the founding documents, thin over the core.

They have the documents' names, signatures and defaults, and the correct result where a document is
wrong: `docs/founding.md` has the list. Files in the order in which data flows:

| file | contents |
|---|---|
| `move_codec` | moves as codes, of the program around `alphachess` |
| `settings` | settings files of `alphachess` |
| `muzero_settings` | `MCTSConfig`, `MuZeroConfig` |
| `chess_game` | `ChessGame` of `mcts-specification` |
| `chess_environment` | `ChessEnvironment` of `muzero-chess` |
| `blob_game` | `BlobGame` and its players |
| `progress` | a progress bar |
| `neural_network` | `ChessNN` of `mcts-specification` |
| `muzero_network` | `MuZeroNetwork` of `muzero-chess` |
| `network_outputs` | the answers of a learned model, in any of their forms |
| `predictions` | predicted probabilities as logits of the core |
| `agents` | the agents of `node-edge-chess` |
| `formulas` | the score of a child; shares at a temperature |
| `tree_node` | nodes that read the core's tree |
| `latent_tree` | the tree of `muzero-chess` in the core |
| `latent_nodes` | `Node` and `RootNode` of `muzero-chess` |
| `nodes` | `Node` and `Edge` of `node-edge-chess` |
| `steps_by_hand` | the steps of `node-edge-chess`, for loops by hand |
| `drawing` | Graphviz source of trees |
| `muzero_chess` | the document: `MCTS.run`, `select_action` |
| `mcts_specification` | the document: `MCTS.search`, `get_policy` |
| `node_edge` | the document: `MCTS.run_simulations`, `plot_tree` |
| `alphachess` | the document: edge statistics, self-play, a game in the terminal |
| `blob_mcts` | the search that `blob-mcts-node` announces |
| `blob_mcts_node` | the document: `MCTSNode` |
| `muzero_command` | the command of the programs around `muzero-chess` |
"""
