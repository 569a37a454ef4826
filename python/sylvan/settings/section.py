"""A part of a run's settings: typed, frozen, and strict about names."""

from __future__ import annotations

import difflib
import re
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from sylvan.errors import ConfigError

__all__ = ["Section", "plain_rule"]


class Section(BaseModel):
    """Settings that belong together; each part of a run has its own beside its code.

    >>> from pydantic import Field
    >>> class Walk(Section):
    ...     plies: int = Field(4, ge=0, description="how far to go")
    >>> Walk(plys=3)
    Traceback (most recent call last):
    sylvan.errors.ConfigError: There is no setting 'plys' in walk: did you mean 'plies'?
    >>> Walk(plies=-1)
    Traceback (most recent call last):
    sylvan.errors.ConfigError: walk.plies is -1: it must be at least 0 (how far to go).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    @classmethod
    def title(cls) -> str:
        """The section's name in files and messages: `SelfPlayConfig` is `selfplay`."""
        return cls.__name__.removesuffix("Config").lower()

    @model_validator(mode="before")
    @classmethod
    def _known(cls, settings: Any) -> Any:
        """Say which name is meant when one does not exist."""
        for name in settings if isinstance(settings, dict) else ():
            if name not in cls.model_fields:
                close = difflib.get_close_matches(str(name), cls.model_fields, 1, 0.5)
                hint = (
                    f"did you mean {close[0]!r}?"
                    if close
                    else f"there are {', '.join(cls.model_fields)}."
                )
                raise ConfigError(f"There is no setting {name!r} in {cls.title()}: {hint}")
        return settings

    def __init__(self, **settings: Any) -> None:
        """Take settings by name; raise `ConfigError` with one sentence if one does not fit."""
        try:
            super().__init__(**settings)
        except ValidationError as error:
            raise ConfigError(_sentence(error, type(self))) from None

    def replace(self, **settings: Any) -> Self:
        """A copy with some settings changed."""
        return type(self)(**{**self.model_dump(exclude_unset=True), **settings})


def _sentence(error: ValidationError, section: type[Section]) -> str:
    """The first fault of a pydantic error in one sentence."""
    fault = error.errors()[0]
    own = fault.get("ctx", {}).get("error")
    if isinstance(own, ConfigError):  # ours, in pydantic's wrapping
        return str(own)
    place = ".".join(str(part) for part in (section.title(), *fault["loc"]))
    if not fault["loc"] or fault["loc"][0] not in section.model_fields:
        return f"{place}: {fault['msg']}."
    meaning = section.model_fields[str(fault["loc"][0])].description
    reason = f" ({meaning})" if meaning else ""
    return f"{place} is {fault['input']!r}: it must be {plain_rule(fault['msg'])}{reason}."


def plain_rule(message: str) -> str:
    """A pydantic message in plain words.

    >>> plain_rule("Input should be greater than or equal to 0")
    'at least 0'
    """
    start = r"^(Input|String|List) should (be|have) |^Value error, "
    rule = re.sub(rf"{start}|, (unable|got) .*", "", message)
    for pydantic, plain in _PLAIN.items():
        rule = rule.replace(pydantic, plain)
    return rule


_PLAIN = {
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
    "greater than": "above",
    "less than": "below",
    "a valid ": "a ",
    "a integer": "a whole number",
    "boolean": "True or False",
    "a True": "True",
}
