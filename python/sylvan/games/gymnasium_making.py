"""Make Gymnasium environments: by name, by class or function, from a vector environment, wrapped.

A wrapper is named `module:Class` or `path.py:Class`, with arguments if it needs any:
`gymnasium.wrappers:ResizeObservation(shape=(48, 48))`. The first of several is the innermost.

A vector environment is made with one copy (`gymnasium_vector.py`).
"""

from __future__ import annotations

import ast
import difflib
import importlib
import inspect
import os
import sys
import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from sylvan.errors import ConfigError, MissingExtra
from sylvan.games.own_files import load_object

__all__ = ["gymnasium_module", "made_environment"]

MODULES = {"ALE": "ale_py"}
"""Modules that register the environments of a namespace."""


def gymnasium_module() -> ModuleType:
    """Import Gymnasium.

    :raises MissingExtra: it is not installed.
    """
    try:
        return importlib.import_module("gymnasium")
    except ModuleNotFoundError:
        raise MissingExtra.named(
            "Gymnasium environments need the package gymnasium", "gym"
        ) from None


def made_environment(
    environment: Any, settings: dict[str, Any], wrappers: Sequence[str] = ()
) -> tuple[Any, str]:
    """Return a `gymnasium.Env` and its name.

    :param environment: as in `from_gymnasium`.
    :param settings: keyword arguments of `gymnasium.make`, or of the class.
    :param wrappers: see above.
    :raises ConfigError: the environment or a wrapper does not exist, or not take its arguments.
    """
    gym = gymnasium_module()
    if isinstance(environment, str):
        made, name = _named(gym, environment, settings), environment
    elif isinstance(environment, gym.Env | gym.vector.VectorEnv):
        made, name = environment, _name(environment)
    elif callable(environment):
        made, name = _built(gym, environment, **settings), environment.__name__
    else:
        raise ConfigError(
            f"The environment is {environment!r}: give a name, a class or function "
            "that makes an environment, or a gymnasium.Env."
        )
    if isinstance(made, gym.vector.VectorEnv):
        made = _only_copy(made, name)
    if isinstance(wrappers, str) or not all(isinstance(each, str) for each in wrappers):
        raise ConfigError(f"wrappers is {wrappers!r}: give a list of names, module:Class.")
    for each in wrappers:
        made = _wrapped(made, each)
    return made, name


def _named(gym: ModuleType, name: str, settings: dict[str, Any]) -> Any:
    """Make an environment by name; a module before a colon may be in the current folder."""
    if ":" in name:
        _find_modules_here()
    try:
        with warnings.catch_warnings():  # raised by libraries that environments load
            warnings.simplefilter("ignore", DeprecationWarning)
            return gym.make(name, disable_env_checker=True, **settings)
    except gym.error.DependencyNotInstalled as error:
        raise MissingExtra(
            f"The environment {name} needs another package: {error}; pip install 'sylvan[gym]' "
            "installs most of them."
        ) from None
    except gym.error.Error:
        if (vector := _vector_named(gym, name, settings)) is not None:
            return vector
        raise ConfigError(f"Gymnasium has no environment {name!r}: {_hint(gym, name)}") from None
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"The environment {name} cannot be loaded ({error}): install its module, or name a "
            "file and a class in it, gym:path.py:Class."
        ) from None
    except (TypeError, ValueError, AssertionError) as error:
        raise ConfigError(
            f"The environment {name} cannot be made with {settings}: {error}."
        ) from None


def _vector_named(gym: ModuleType, name: str, settings: dict[str, Any]) -> Any:
    """Make an environment that is only registered as a vector environment; else None."""
    spec = gym.registry.get(name.rpartition(":")[2])
    if spec is None or spec.vector_entry_point is None or spec.entry_point is not None:
        return None
    mode = gym.VectorizeMode.VECTOR_ENTRY_POINT
    return gym.make_vec(name, num_envs=1, vectorization_mode=mode, **settings)


def _only_copy(vector: Any, name: str) -> Any:
    from sylvan.games.gymnasium_vector import OnlyCopy

    return OnlyCopy(vector, name)


def _find_modules_here() -> None:
    """Let imports find modules in the current folder."""
    if not {"", os.getcwd()} & set(sys.path):
        sys.path.append(os.getcwd())


def _hint(gym: ModuleType, name: str) -> str:
    """Advice about a name that is not registered."""
    namespace, slash, _ = name.partition("/")
    if slash and ":" not in name and namespace not in {s.namespace for s in gym.registry.values()}:
        module = MODULES.get(namespace)
        package = "the module that registers it" if module is None else f"its module, {module}"
        return f"put {package}, in front, gym:{module or 'module'}:{name}."
    module, _, own = name.rpartition(":")
    if isinstance(getattr(sys.modules.get(module), own, None), type):
        return (
            f"{own} is a class that {module} does not register: name its file, gym:path.py:{own}."
        )
    close = difflib.get_close_matches(own, gym.registry, 1, 0.5)
    return f"did you mean {close[0]!r}?" if close else "gymnasium.pprint_registry() lists them."


def _built(
    gym: ModuleType, make: Any, max_episode_steps: int | None = None, **settings: Any
) -> Any:
    """Make an environment with a class or function; truncate after `max_episode_steps`."""
    vector = isinstance(make, type) and issubclass(make, gym.vector.VectorEnv)
    if vector and "num_envs" in inspect.signature(make).parameters:
        settings = {"num_envs": 1} | settings
    try:
        made = make(**settings)
    except TypeError as error:
        raise ConfigError(
            f"The environment {make.__name__} does not take {settings}: {error}."
        ) from None
    if isinstance(made, gym.vector.VectorEnv):
        made = _only_copy(made, make.__name__)
    if not isinstance(made, gym.Env):
        raise ConfigError(
            f"{make.__name__} makes a {type(made).__name__}, which is not a gymnasium.Env: give a "
            "class or a function that makes one."
        )
    return made if max_episode_steps is None else gym.wrappers.TimeLimit(made, max_episode_steps)


def _name(environment: Any) -> str:
    spec = getattr(environment, "spec", None)
    return str(spec.id) if spec is not None else type(environment.unwrapped).__name__


def _wrapped(made: Any, text: str) -> Any:
    """Put a wrapper around an environment.

    :raises ConfigError: it does not exist, is no wrapper, or does not take its arguments.
    """
    name, arguments = _parsed(text)
    wrapper = load_object(name, "the wrapper") if ".py:" in name else _imported(name)
    try:
        found = wrapper(made, **arguments)
    except Exception as error:
        raise ConfigError(
            f"The wrapper {text} cannot be put around {_name(made)}: "
            f"{type(error).__name__}: {error}."
        ) from None
    if not hasattr(found, "step"):
        raise ConfigError(f"The wrapper {text} returns a {type(found).__name__}, not a wrapper.")
    return found


def _parsed(text: str) -> tuple[str, dict[str, Any]]:
    """Name and arguments of a wrapper.

    >>> _parsed("gymnasium.wrappers:ResizeObservation(shape=(48, 48))")
    ('gymnasium.wrappers:ResizeObservation', {'shape': (48, 48)})
    """
    name, bracket, rest = text.partition("(")
    if ":" not in name:
        raise ConfigError(
            f"The wrapper {text!r} has no module: give module:Class or path.py:Class."
        )
    try:
        call: Any = ast.parse(f"f({rest}" if bracket else "f()", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise ValueError("only arguments by name")
        return name, {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
    except (SyntaxError, ValueError):
        raise ConfigError(
            f"The arguments of the wrapper {text!r} cannot be read: give them by name, as in "
            "module:Class(size=3)."
        ) from None


def _imported(name: str) -> Any:
    """Import `module:Class`; the module may be in the current folder."""
    _find_modules_here()
    module, _, own = name.partition(":")
    try:
        return getattr(importlib.import_module(module), own)
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"The wrapper {name} cannot be loaded ({error}): give module:Class or path.py:Class."
        ) from None
