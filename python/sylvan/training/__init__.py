"""Version 0.1 kept everything about training here; `sylvan.moved` forwards its documented modules.

It goes with version 0.3. See `sylvan.selfplay`, `sylvan.replay`, `sylvan.learning`,
`sylvan.ratings` and `sylvan.runs`.
"""
