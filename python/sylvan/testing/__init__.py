"""`check_game` plays a game at random and finds its mistakes. In the order in which data flows:

`probe`     a state and its path; calls its methods and reports errors with the path
`facts`     rules of the attributes: seats, action codes, ranges
`view`      the answers of one state's methods, and rules of a single state
`hidden`    rules of `observe` and `sample`
`extras`    rules of `estimate` and `auxiliary`
`play`      random plays, and rules that need several states
`keys`      rule of `key()`: equal keys, equal futures
`symmetry`  rule of `symmetries()`
`check`     `check_game` and its report
"""

from sylvan.testing.check import GameReport, check_game

__all__ = ["GameReport", "check_game"]
