"""`sylvan bench`: the speed of the search on fixed positions, and its signature."""

from typing import Annotated

import typer

from sylvan.cli.terminal import Bar, print_json

__all__ = ["bench"]


def bench(
    threads: Annotated[
        int, typer.Option(min=1, help="Threads; the signature does not depend on them.")
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Search fixed positions and print the speed and a signature.

    The signature is one integer over all visit counts: the same on every machine and for any number
    of threads. Another signature means another search.

    Examples:

    - `sylvan bench`
    - `sylvan bench --threads 2 --json`
    """
    from itertools import count

    from sylvan.cli.benchmark import jobs, run

    begun, parts = count(), len(jobs())
    with Bar("searching fixed positions") as bar:
        result = run(threads, watch=lambda _: bar.show(next(begun), parts))
    if as_json:
        facts = {"signature": result.signature, "simulations": result.simulations}
        print_json({**facts, "seconds": result.seconds, "speed": result.speed, "threads": threads})
        return
    print(f"signature    {result.signature}")
    print(f"simulations  {result.simulations:,}")
    print(f"speed        {result.speed:,.0f} simulations/s on {threads} thread(s)")
