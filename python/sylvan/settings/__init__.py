"""The base of all settings: typed, frozen, strict about names, and kept in files.

| file | what |
|---|---|
| `section` | `Section`, settings that belong together; a wrong one gives one sentence |
| `file` | settings in TOML and YAML files |
"""

from sylvan.settings.section import Section, plain_rule

__all__ = ["Section", "plain_rule"]
