"""`sylvan doctor`: report installed versions, extras and hardware."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sylvan.cli.terminal import print_json

if TYPE_CHECKING:
    from sylvan.cli.diagnosis import Extra, Report

__all__ = ["doctor"]


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Report what is installed, which extras work, and the machine's hardware.

    Exit code 1 if the native module does not load, because Sylvan then cannot work.
    """
    from sylvan.cli.diagnosis import examine

    report = examine()
    if as_json:
        print_json(report)
    else:
        _print(report)
    if not report["native_works"]:
        raise typer.Exit(1)


def _print(report: Report) -> None:
    memory = report["memory"]
    lines = {
        "sylvan": report["sylvan"],
        "python": report["python"],
        "platform": report["platform"],
        "native module": report["native"],
        **{name: version or "missing" for name, version in report["dependencies"].items()},
        **{f"extra {name}": _describe(extra) for name, extra in report["extras"].items()},
        "cores": report["cores"],
        "memory": f"{memory / 2**30:.1f} GiB" if memory else "unknown",
        "gpu": ", ".join(report["gpu"]) or "none",
    }
    width = max(map(len, lines))
    for name, value in lines.items():
        print(f"{name:<{width}}  {value}")


def _describe(extra: Extra) -> str:
    packages = extra["packages"]
    missing = [name for name, version in packages.items() if version is None]
    if missing:
        return f"not installed: {extra['install']} (missing: {', '.join(missing)})"
    versions = ", ".join(f"{name} {version}" for name, version in packages.items())
    return versions if extra["works"] else f"installed, but does not load: {versions}"
