"""For those who write a game: `check_game` plays it at random and finds its mistakes."""

from sylvan.testing.check import GameReport, check_game

__all__ = ["GameReport", "check_game"]
