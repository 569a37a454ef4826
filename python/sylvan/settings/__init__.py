"""The base of all settings: typed, frozen, strict about names, stored in files.

| file | contents |
|---|---|
| `section` | `Section`, the base class of a group of settings; validates them |
| `file` | read settings from TOML and YAML, write them to TOML |
"""

from sylvan.settings.section import Section, plain_rule

__all__ = ["Section", "plain_rule"]
