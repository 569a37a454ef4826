"""The files of examples/cluster, as far as one machine can check them."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
import typer
import yaml

from sylvan.cli import app

FOLDER = Path(__file__).parents[2] / "examples" / "cluster"


def options_of(command: str) -> set[str]:
    """The options that a subcommand of `sylvan` has."""
    found = typer.main.get_command(app).commands[command]  # type: ignore[attr-defined]
    return {name for parameter in found.params for name in parameter.opts}


@pytest.mark.parametrize("name", ["train.slurm", "kuberay.yaml"])
def test_the_commands_exist(name):
    text = (FOLDER / name).read_text()
    commands = re.findall(r"sylvan (train .+)", text)
    assert commands
    for line in commands:
        command, *words = shlex.split(line)
        given = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert {"--run", "--cluster"} <= given <= options_of(command)


def test_the_script_is_bash_and_starts_head_and_nodes():
    script = FOLDER / "train.slurm"
    subprocess.run(["bash", "-n", script], check=True)
    text = script.read_text()
    assert text.count("ray start") == 2 and "--head" in text
    assert re.search(r"#SBATCH --nodes=\d", text) and "RAY_AUTH_MODE=token" in text


def test_the_options_of_ray_start_exist():
    scripts = pytest.importorskip("ray.scripts.scripts", reason="the extra cluster is missing")
    known = {name for parameter in scripts.start.params for name in parameter.opts}
    text = (FOLDER / "train.slurm").read_text().replace("\\\n", " ")
    for line in re.findall(r"ray start(.+?)&?$", text, re.MULTILINE):
        assert set(re.findall(r"--[a-z-]+", line)) <= known
    job = yaml.safe_load((FOLDER / "kuberay.yaml").read_text())
    cluster = job["spec"]["rayClusterSpec"]
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        assert {f"--{name}" for name in group["rayStartParams"]} <= known


def test_the_job_has_what_kuberay_needs():
    job = yaml.safe_load((FOLDER / "kuberay.yaml").read_text())
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    cluster = job["spec"]["rayClusterSpec"]
    (workers,) = cluster["workerGroupSpecs"]
    assert workers["minReplicas"] <= workers["replicas"] <= workers["maxReplicas"]
    for group in (cluster["headGroupSpec"], workers):
        (container,) = group["template"]["spec"]["containers"]
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        assert mounted == {volume["name"] for volume in group["template"]["spec"]["volumes"]}
        cores = container["resources"]["limits"]["cpu"]
        assert group["rayStartParams"]["num-cpus"] == cores
    pins = (FOLDER.parents[1] / "constraints.txt").read_text()
    assert f"\nray=={cluster['rayVersion']}\n" in pins
