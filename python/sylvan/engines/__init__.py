"""Engines: searches that talk to other programs and to people, and what they need for it.

| file | idea |
|---|---|
| `score` | a value as chess programs write it: centipawns, mate in n, win-draw-loss |
"""
