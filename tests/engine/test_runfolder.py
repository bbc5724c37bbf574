"""The folder of a run against accidents: runs that fail or meet there, files of others, a process that died."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from munet.engine.checkpoint import read_checkpoint
from munet.engine.graph import Run
from munet.engine.project import save_project
from munet.engine.runfolder import RunFolder
from tests.engine.running import DEVICES, command, xor

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    save_project(xor(), tmp_path / "small.json")
    return tmp_path / "small.json"


@pytest.mark.parametrize("device", DEVICES)
def test_a_run_that_meets_nan_is_saved(device: str, tmp_path: Path):
    """The rate is so large that the weights soon overflow."""
    save_project(xor("SGD", 1e15, Run(steps=5000, seed=3)), tmp_path / "wild.json")
    done = command("run", tmp_path / "wild.json", "--device", device, "--out", tmp_path / "out")
    file = tmp_path / "out" / "last.safetensors"
    assert done.returncode == 1 and "all numbers of a training step are finite" in done.stderr and "Traceback" not in done.stderr
    step = read_checkpoint(file)[1].step
    assert f"saved in {file} (step {step})" in done.stderr
    lines = (tmp_path / "out" / "metrics.jsonl").read_text().splitlines()
    assert step > 0 and json.loads(lines[-1])["step"] == step


def test_one_run_at_a_time(project: Path, tmp_path: Path):
    with RunFolder(tmp_path / "out").held():
        done = command("run", project, "--device", "cpu", "--out", tmp_path / "out")
        assert done.returncode == 2 and "another run writes here" in done.stderr
    assert command("run", project, "--device", "cpu", "--out", tmp_path / "out").returncode == 0


@pytest.mark.parametrize("name", ["metrics.jsonl", "project.json", "run.json"])
@pytest.mark.parametrize("options", [(), ("--more", "1")])
def test_files_of_others_are_left_alone(project: Path, name: str, options: tuple[str, ...], tmp_path: Path):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / name).write_text("{}")
    if options:
        (folder / "last.safetensors").write_bytes(b"")
    done = command("run", project, "--device", "cpu", "--out", folder, *options)
    assert done.returncode == 2 and name in done.stderr and "another folder" in done.stderr
    assert (folder / name).read_text() == "{}"


def test_metrics_without_a_checkpoint_are_left_alone(project: Path, tmp_path: Path):
    folder = tmp_path / "out"
    common = ("run", project, "--device", "cpu", "--out", folder, "--steps", "3")
    assert command(*common).returncode == 0
    (folder / "last.safetensors").unlink()
    before = (folder / "metrics.jsonl").read_text()
    done = command(*common)
    assert done.returncode == 2 and "last.safetensors is gone" in done.stderr
    assert (folder / "metrics.jsonl").read_text() == before != ""


@pytest.mark.parametrize("options", [("--resume",), ("--more", "3")])
def test_nothing_to_resume(project: Path, options: tuple[str, ...], tmp_path: Path):
    done = command("run", project, "--device", "cpu", "--out", tmp_path / "out", *options)
    assert done.returncode == 2 and f"nothing to resume in {tmp_path / 'out'}" in done.stderr
    assert not (tmp_path / "out").exists()


def test_what_dead_processes_left_is_removed(tmp_path: Path):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as alive:
        dead = subprocess.Popen([sys.executable, "-c", ""])
        dead.wait()
        names = [f".last.safetensors.{pid}.0123abcd.tmp" for pid in (alive.pid, dead.pid)]
        for name in (*names, ".mine.tmp"):
            (tmp_path / name).touch()
        with RunFolder(tmp_path).held():
            assert {path.name for path in tmp_path.glob(".*.tmp")} == {names[0], ".mine.tmp"}


def test_a_checkpoint_is_kept_once(tmp_path: Path):
    folder = RunFolder(tmp_path)
    folder.checkpoint.write_bytes(b"one")
    assert folder.keep_checkpoint(3) == folder.keep_checkpoint(3) == tmp_path / "before-3.safetensors"
    folder.checkpoint.write_bytes(b"two")
    assert folder.keep_checkpoint(3).name == "before-3-2.safetensors"
    assert folder.keep_checkpoint(3).read_bytes() == b"two"
