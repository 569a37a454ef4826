"""Break the search core in one place at a time, and see that the tests notice.

Every mutant of mutants.toml is put into a copy of the sources, built, and tested with the quick
tests of the search, most telling first, and the unit tests of the core. A mutant that no test
kills has shown what the tests do not check, or is no mistake at all; either way the exit code is 1,
as it is if one cannot be built.

    python tests/mutants/run.py                 all of them; about half a minute each
    python tests/mutants/run.py --only NAME     one, or several with several --only
    python tests/mutants/run.py --list          names and reasons
    python tests/mutants/run.py --work FOLDER   keep the copy and its build there for another run
"""

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.mutants.mutants import ROOT, Mutant, load

SOURCES = ["crates", "Cargo.toml", "Cargo.lock", "pyproject.toml", "python", "tests", "examples"]
# The tests that kill most mutants come first; the others of their folder follow by name.
FIRST = ["tests/planning/test_equality.py", "tests/planning/test_pinned.py"]
OTHERS = "tests/planning/test_*.py"
# It sends Ctrl-C, which all that is started in the background ignores.
TIMED = "tests/planning/test_interrupt.py"
# A mutant may loop for ever, or eat memory; the sound core needs a fraction of either.
SECONDS = 900
BYTES = 8 << 30


def copy_sources(work: Path) -> None:
    """A fresh copy of what a build and its tests need; the target folder stays."""
    ignore = shutil.ignore_patterns("__pycache__", "*.so")
    for name in SOURCES:
        source, target = ROOT / name, work / name
        if source.is_dir():
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target, ignore=ignore)
        else:
            shutil.copy(source, target)


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))


def call(work: Path, *command: str, limited: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a command in the copy, on the copy's own package and target folder."""
    environment = os.environ | {
        "PYTHONPATH": f"{work / 'python'}{os.pathsep}{work}",
        "CARGO_TARGET_DIR": str(work / "target"),
        "CARGO_PROFILE_DEV_DEBUG": "false",  # nobody will debug it, and it builds sooner
    }
    return subprocess.run(
        command,
        cwd=work,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS if limited else None,
        preexec_fn=limit_memory if limited else None,
        check=False,
    )


def build(work: Path) -> None:
    """Build the native module into the copy's package."""
    done = call(work, "cargo", "build", "--quiet", "--locked", "-p", "sylvan-python")
    if done.returncode:
        raise RuntimeError(f"the copy does not compile:\n{done.stderr}")
    suffix = {"darwin": "dylib"}.get(sys.platform, "so")
    library = work / "target" / "debug" / f"lib_native.{suffix}"
    shutil.copy(library, work / "python" / "sylvan" / "_native.abi3.so")


def quick_tests(work: Path) -> str | None:
    """The first search test that fails on a new build, none if all pass."""
    build(work)
    others = sorted(str(path.relative_to(work)) for path in work.glob(OTHERS))
    paths = [path for path in dict.fromkeys([*FIRST, *others]) if path != TIMED]
    options = ["-x", "-q", "--tb=no", "-p", "no:cacheprovider", "-p", "tests.mutants.profile"]
    command = [sys.executable, "-m", "pytest", *options, "-m", "not slow and not alone", *paths]
    try:
        done = call(work, *command, limited=True)
    except subprocess.TimeoutExpired:
        return f"no end after {SECONDS} s"
    if done.returncode == 0:
        return None
    if done.returncode < 0:
        return f"signal {-done.returncode}"
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    if done.returncode != 1 or not failed:
        raise RuntimeError(f"pytest could not run:\n{done.stdout}{done.stderr}")
    return failed[1].removeprefix("tests/planning/")


def unit_tests(work: Path) -> str | None:
    """A unit test of the core that fails, none if all pass."""
    command = ["cargo", "test", "--quiet", "--locked", "-p", "sylvan-core"]
    built = call(work, *command, "--no-run")
    if built.returncode:
        raise RuntimeError(f"the unit tests do not compile:\n{built.stderr}")
    try:
        done = call(work, *command, limited=True)
    except subprocess.TimeoutExpired:
        return f"no end after {SECONDS} s"
    failed = re.search(r"^---- (\S+) stdout", done.stdout, re.MULTILINE)
    return (failed[1] if failed else "cargo test") if done.returncode else None


def killer(work: Path, file: Path | None = None) -> str | None:
    """The test that fails; a file with unit tests of its own meets those first."""
    stages = [quick_tests, unit_tests]
    if file is not None and "#[cfg(test)]" in file.read_text():
        stages.reverse()
    found = (stage(work) for stage in stages)
    return next(filter(None, found), None)


def judge(work: Path, mutant: Mutant) -> str | None:
    """The tests that kill a mutant, none if it survives."""
    text = mutant.apply(work)
    path = mutant.source(work)
    try:
        return killer(work, path)
    finally:
        path.write_text(text)


def run(work: Path, mutants: list[Mutant]) -> int:
    """Judge the mutants one by one; how many live, or could not be built."""
    copy_sources(work)
    for mutant in mutants:
        mutant.source(work).write_text(mutant.apply(work))  # all of them fit, before any is built
    print("building and testing the sound core; the first build takes minutes", flush=True)
    found = killer(work)
    if found:
        raise RuntimeError(f"the sound core fails {found}: mend that first")
    survivors = 0
    width = max(len(mutant.name) for mutant in mutants)
    for number, mutant in enumerate(mutants, 1):
        start = time.monotonic()
        try:
            found = judge(work, mutant)
            verdict = f"killed by {found}" if found else f"SURVIVED: {mutant.why}"
        except RuntimeError as error:
            found, verdict = None, f"NOT TESTED: {error}"
        survivors += found is None
        seconds = f"{time.monotonic() - start:4.0f} s"
        print(f"{number:3}/{len(mutants)} {seconds}  {mutant.name:{width}}  {verdict}", flush=True)
    return survivors


def main() -> int:
    parser = argparse.ArgumentParser(description="Break the core and see that the tests notice.")
    parser.add_argument("--only", action="append", metavar="NAME", help="this mutant; repeatable")
    parser.add_argument("--list", action="store_true", help="print names and reasons")
    parser.add_argument("--work", type=Path, metavar="FOLDER", help="keep the copy and build here")
    options = parser.parse_args()
    mutants = load()
    unknown = set(options.only or []) - {mutant.name for mutant in mutants}
    if unknown:
        parser.error(f"no mutant is called {', '.join(sorted(unknown))}: --list prints all names")
    if options.only:
        mutants = [mutant for mutant in mutants if mutant.name in options.only]
    if options.list:
        for mutant in mutants:
            print(f"{mutant.name}: {mutant.why}")
        return 0
    if options.work:
        options.work.mkdir(parents=True, exist_ok=True)
        survivors = run(options.work.resolve(), mutants)
    else:
        with tempfile.TemporaryDirectory(prefix="sylvan-mutants-") as work:
            survivors = run(Path(work), mutants)
    print(f"{len(mutants) - survivors} of {len(mutants)} mutants were killed")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
