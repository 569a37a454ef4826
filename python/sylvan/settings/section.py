"""The base class of a section of settings: typed, frozen, and strict about names."""

from __future__ import annotations

import difflib
import re
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from sylvan.errors import ConfigError

__all__ = ["Section", "plain_rule"]


class Section(BaseModel):
    """A section of settings; each part of a run defines its own next to its code.

    >>> from pydantic import Field
    >>> class Walk(Section):
    ...     plies: int = Field(4, ge=0, description="length of the walk")
    >>> Walk(plys=3)
    Traceback (most recent call last):
    sylvan.errors.ConfigError: There is no setting 'plys' in walk: did you mean 'plies'?
    >>> Walk(plies=-1)
    Traceback (most recent call last):
    sylvan.errors.ConfigError: walk.plies is -1: it must be at least 0 (length of the walk).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    @classmethod
    def title(cls) -> str:
        """The section's name in files and messages: `SelfPlayConfig` is `selfplay`."""
        return cls.__name__.removesuffix("Config").lower()

    @model_validator(mode="before")
    @classmethod
    def _known(cls, settings: Any) -> Any:
        """Refuse an unknown name and suggest the closest one."""
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
        """Validate settings given by name.

        :raises ConfigError: a setting is unknown or out of range.
        """
        try:
            super().__init__(**settings)
        except ValidationError as error:
            raise ConfigError(_sentence(error, type(self))) from None

    def replace(self, **settings: Any) -> Self:
        """A copy with some settings changed."""
        return type(self)(**{**self.model_dump(exclude_unset=True), **settings})


def _sentence(error: ValidationError, section: type[Section]) -> str:
    """Describe the first failure of a pydantic error in one sentence."""
    failure = error.errors()[0]
    own = failure.get("ctx", {}).get("error")
    if isinstance(own, ConfigError):  # raised by our validators, wrapped by pydantic
        return str(own)
    name = ".".join(str(part) for part in (section.title(), *failure["loc"]))
    if not failure["loc"] or failure["loc"][0] not in section.model_fields:
        return f"{name}: {failure['msg']}."
    description = section.model_fields[str(failure["loc"][0])].description
    reason = f" ({description})" if description else ""
    return f"{name} is {failure['input']!r}: it must be {plain_rule(failure['msg'])}{reason}."


def plain_rule(message: str) -> str:
    """Shorten a pydantic message to plain words.

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
