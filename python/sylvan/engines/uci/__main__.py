"""`python -m sylvan.engines.uci`: the engine for a chess GUI."""

from sylvan.engines.uci.engine import main

if __name__ == "__main__":
    main()
