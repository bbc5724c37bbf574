"""Checkpoints: resume bit for bit, files that do not fit, crashes and full disks."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import munet
from munet.engine import files
from munet.engine.checkpoint import Header, read_checkpoint, write_checkpoint
from munet.engine.errors import CheckpointError, ProjectError
from munet.engine.graph import Graph, Run
from munet.engine.project import save_project
from tests.engine.running import DEVICES, ROOT, command, finish, spiral, xor

pytestmark = pytest.mark.usefixtures("own_cache")


def equal(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    assert one.keys() == other.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(other[name], array, err_msg=name)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("graph", [xor(), spiral()], ids=["xor", "spiral"])
def test_20_and_20_are_40(device: str, graph: Graph, tmp_path: Path):
    with munet.Session.open(graph, device) as session:
        finish(session, 40)
        whole, metrics = session.states(), session.metrics
    with munet.Session.open(graph, device) as session:
        finish(session, 20)
        session.save(tmp_path / "half")
    with munet.Session.open(graph, device, seed=99) as session:
        finish(session, 3)
        header = session.load(tmp_path / "half")
        assert (session.step_count, session.seed, header.project_sha256 != "") == (20, graph.run.seed, True)
        finish(session, 20)
        equal(session.states(), whole)
        assert session.metrics == metrics


@pytest.mark.parametrize("device", DEVICES)
def test_20_and_20_are_40_across_processes(device: str, tmp_path: Path):
    save_project(spiral(run=Run(steps=40, seed=4, evaluate_every=8)), tmp_path / "p.json")
    common = ("run", tmp_path / "p.json", "--device", device)
    for arguments in (
        ("--out", tmp_path / "a"),
        ("--out", tmp_path / "b", "--steps", "20"),
        ("--out", tmp_path / "b", "--resume"),
        ("--out", tmp_path / "c", "--steps", "13"),
        ("--out", tmp_path / "c", "--more", "27"),
    ):
        done = command(*common, *arguments)
        assert done.returncode == 0, done.stderr
    whole, header = read_checkpoint(tmp_path / "a" / "last.safetensors")
    assert header.step == 40
    for name in ("b", "c"):
        equal(read_checkpoint(tmp_path / name / "last.safetensors")[0], whole)
        steps = [json.loads(line)["step"] for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()]
        assert steps == sorted(steps) and steps[-1] == 40


def test_a_device_goes_on_from_another(tmp_path: Path):
    if len(DEVICES) < 2:
        pytest.skip("there is no Vulkan device")
    with munet.Session.open(spiral(), "cpu") as session:
        finish(session, 10)
        session.save(tmp_path / "c")
        saved = session.states()
    with munet.Session.open(spiral(), "auto") as session:
        session.load(tmp_path / "c")
        equal(session.states(), saved)


def test_live_values_come_back_unless_the_drawing_changed(tmp_path: Path):
    with munet.Session.open(xor(lr=0.05), "cpu") as session:
        session.set("learn", "lr", 0.01)
        session.save(tmp_path / "c")
    for drawn, expected in ((0.05, 0.01), (0.2, 0.2)):
        with munet.Session.open(xor(lr=drawn), "cpu") as session:
            session.load(tmp_path / "c")
            assert session.live["learn.lr"] == expected


def test_what_a_file_holds(tmp_path: Path):
    with munet.Session.open(xor(), "cpu") as session:
        finish(session, 2)
        session.save(tmp_path / "c")
    arrays, header = read_checkpoint(tmp_path / "c")
    assert {"one/weight", "one/bias", "two/weight", "two/bias", "train/step", "learn/one/weight/m"} <= set(arrays)
    assert not any("records" in name for name in arrays)
    assert arrays["train/step"].shape == () and int(arrays["train/step"]) == header.step == 2
    assert munet.parse_project(header.project) == xor()


# Files that are no use


def changed(path: Path, change: Callable[[dict[str, np.ndarray]], None]) -> None:
    arrays, header = read_checkpoint(path)
    change(arrays)
    write_checkpoint(path, arrays, header)


FAULTS: dict[str, tuple[Callable[[dict[str, np.ndarray]], object], str]] = {
    "missing": (lambda a: a.pop("one/bias"), "one/bias is missing"),
    "unknown": (lambda a: a.update(extra=np.zeros(3, np.float32)), "extra is not in this project"),
    "shape": (
        lambda a: a.update({"two/weight": np.zeros((8, 1), np.float32)}),
        r"two/weight is float32\[8, 1\].*\[1, 8\]",
    ),
    "dtype": (lambda a: a.update({"two/bias": np.zeros(1, np.float64)}), r"two/bias is float64\[1\].*float32\[1\]"),
    "counter": (lambda a: a.update({"train/step": np.array(7, np.int32)}), "header says step 0, its counter says 7"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_checkpoint_that_does_not_fit_changes_nothing(fault: str, tmp_path: Path):
    change, text = FAULTS[fault]
    path = tmp_path / "c"
    with munet.Session.open(xor(), "cpu") as session:
        session.save(path)
        changed(path, change)  # pyright: ignore[reportArgumentType]
        finish(session, 2)
        before = session.states()
        with pytest.raises(CheckpointError, match=text):
            session.load(path)
        equal(session.states(), before)
        assert session.step_count == 2


BROKEN: dict[str, bytes] = {
    "empty": b"",
    "text": b"not a checkpoint at all",
    "huge header": (2**60).to_bytes(8, "little") + b"{}",
    "pickle": b"\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00\x8c\x01x\x94.",
    "foreign": safetensors.numpy.save({"w": np.zeros(3, np.float32)}),
    "foreign metadata": safetensors.numpy.save({"w": np.zeros(3, np.float32)}, metadata={"munet": "[1]"}),
    "newer": safetensors.numpy.save({"w": np.zeros(3, np.float32)}, metadata={"munet": '{"format": 99, "seed": 0, "step": 0}'}),
    "odd header": safetensors.numpy.save({}, metadata={"munet": '{"format": 1, "seed": "x", "step": 0}'}),
    "odd live": safetensors.numpy.save({}, metadata={"munet": '{"format": 1, "seed": 0, "step": 0, "live": {"a": "b"}}'}),
    "deep": safetensors.numpy.save({}, metadata={"munet": "[" * 100_000}),
}


@pytest.mark.parametrize("kind", [*BROKEN, "missing", "folder", "truncated", "flipped"])
def test_broken_files(kind: str, tmp_path: Path):
    path = tmp_path / "c"
    if kind in BROKEN:
        path.write_bytes(BROKEN[kind])
    elif kind == "folder":
        path.mkdir()
    elif kind != "missing":
        write_checkpoint(path, {"w": np.arange(50, dtype=np.float32)}, Header(seed=1, step=2))
        content = path.read_bytes()
        path.write_bytes(content[:-9] if kind == "truncated" else b"\xff" + content[1:])
    with pytest.raises(CheckpointError, match="c"):
        read_checkpoint(path)


# Crashes and full disks


@pytest.mark.parametrize("call", ["fsync", "write", "rename"])
def test_a_full_disk_leaves_the_old_checkpoint(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "c"

    def full(*arguments: object, **named: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with munet.Session.open(xor(), "cpu") as session:
        finish(session, 1)
        session.save(path)
        old = path.read_bytes()
        finish(session, 1)
        with monkeypatch.context() as patch:
            if call == "fsync":
                patch.setattr(files.os, "fsync", full)
            elif call == "write":
                patch.setattr(files, "_write_durably", full)
            else:
                patch.setattr(Path, "replace", full)
            with pytest.raises(ProjectError, match="No space left"):
                session.save(path)
        assert path.read_bytes() == old
        assert [entry.name for entry in tmp_path.iterdir()] == ["c"]
        session.save(path)
        assert read_checkpoint(path)[1].step == 2


SAVING = """
import sys, numpy as np
from munet.engine.checkpoint import Header, write_checkpoint
step = 0
while True:
    step += 1
    write_checkpoint(sys.argv[1], {"w": np.full(300_000, step, np.float32)}, Header(seed=1, step=step))
    if step == 1: print("going", flush=True)
"""


def test_a_kill_while_saving_leaves_a_whole_checkpoint(tmp_path: Path):
    path = tmp_path / "c"
    rng = np.random.default_rng(0)
    for _ in range(6):
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        with subprocess.Popen([sys.executable, "-c", SAVING, str(path)], stdout=subprocess.PIPE, env=environment) as process:
            assert process.stdout is not None and process.stdout.readline() == b"going\n"
            time.sleep(float(rng.uniform(0, 0.05)))
            process.send_signal(signal.SIGKILL)
        arrays, header = read_checkpoint(path)
        assert (arrays["w"] == header.step).all()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_pipe_is_written_to_and_never_replaced(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ProjectError, match="cannot be written"):
        files.write_file(pipe, b"nobody reads")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    files.write_file(pipe, b"content")
    assert os.read(reader, 100) == b"content"
    os.close(reader)
    link = tmp_path / "link"
    link.symlink_to(pipe)
    with pytest.raises(ProjectError, match="cannot be written"):
        files.write_file(link, b"nobody reads")
    assert pipe.is_fifo() and sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe"]
