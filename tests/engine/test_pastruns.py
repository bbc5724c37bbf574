"""Earlier runs read from their folders: series, checkpoints, what is damaged; runs that go on when the disk is full."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from munet import Graph, MunetError, Progress, ProjectError, RunFolder, Session, load_project
from munet.engine.checkpoint import read_header
from munet.inspect import live_parameters, read_run

PROJECTS = Path(__file__).resolve().parents[2] / "projects"


def recipe(**fields: int) -> Graph:
    graph = load_project(PROJECTS / "spiral_mlp.json")
    return replace(graph, run=replace(graph.run, **{"steps": 40, "evaluate_every": 10, "checkpoint_every": 20, **fields}))


def made(folder: RunFolder, graph: Graph) -> None:
    with Session.open(graph, "cpu") as session, folder.held():
        folder.start(graph, session.seed, session.executor.info, changes=["adam.eps=1e-6"])
        for _ in session.run(None, folder):
            pass


def test_a_run_is_read_back(tmp_path: Path):
    folder = RunFolder(tmp_path / "one")
    made(folder, recipe())
    run = read_run(folder.path)
    assert (run.name, run.step, run.seed, run.device) == ("one", 40, 1, "NumPy reference")
    assert run.changes == ("adam.eps=1e-6",) and run.graph.nodes == recipe().nodes
    assert abs(run.started_at - folder.path.stat().st_mtime) < 60
    assert run.series["loss"][0][-1] == 40 and run.evaluations["accuracy"][0] == [10, 20, 30, 40]
    (last,) = run.checkpoints
    assert last.step == 40 and last.size_bytes == folder.checkpoint.stat().st_size
    assert last.metrics["test.accuracy"] == run.evaluations["accuracy"][1][-1]
    assert read_header(folder.checkpoint).step == 40


def test_what_is_damaged_is_told_and_half_lines_are_passed_over(tmp_path: Path):
    folder = RunFolder(tmp_path / "one")
    made(folder, recipe())
    with (folder.path / "metrics.jsonl").open("a") as stream:
        stream.write('{"step": 50, "split": "train", "loss": "nan"}\nnull\n{"step": 51, "lo')
    (folder.path / "best.safetensors").write_bytes(b"\xff" * 40)
    run = read_run(folder.path)
    assert run.series["loss"][0][-1] == 50 and run.series["loss"][1][-1] != run.series["loss"][1][-1]
    assert len(run.checkpoints) == 1 and "best.safetensors" in run.faults[0]
    for name, content in (("run.json", b"[1"), ("run.json", b"{}"), ("project.json", b"{"), ("metrics.jsonl", None)):
        path = folder.path / name
        kept = path.read_bytes()
        if content is None:
            path.unlink()
            assert read_run(folder.path).series == {}
        else:
            path.write_bytes(content)
            with pytest.raises(ProjectError):
                read_run(folder.path)
        path.write_bytes(kept)
    with pytest.raises(ProjectError):
        read_run(tmp_path)


def test_long_series_are_thinned(tmp_path: Path):
    folder = RunFolder(tmp_path / "one")
    made(folder, recipe(steps=1, checkpoint_every=0, evaluate_every=0))
    lines = [json.dumps({"step": step, "split": "train", "loss": float(step)}) for step in range(1, 30_001)]
    (folder.path / "metrics.jsonl").write_text("\n".join(lines))
    steps, values = read_run(folder.path).series["loss"]
    assert len(steps) <= 8001 and steps[0] == 1 and steps[-1] == 30_000
    assert [float(step) for step in steps] == values and steps == sorted(steps)


@pytest.mark.parametrize("listens", [True, False])
def test_a_run_goes_on_when_nothing_can_be_written_if_somebody_listens(tmp_path: Path, listens: bool):
    told: list[MunetError] = []
    folder = RunFolder(tmp_path / "one", unwritten=told.append if listens else None)
    graph = recipe()
    with Session.open(graph, "cpu") as session:
        folder.start(graph, 1, session.executor.info)
        for name in ("metrics.jsonl", "last.safetensors"):
            (folder.path / name).unlink(missing_ok=True)
            (folder.path / name).mkdir()  # a folder in its place: no user can write that file, root included
        if listens:
            events = list(session.run(None, folder))
            assert session.step_count == 40 and not events[-1].stopped  # type: ignore[union-attr]
            assert any("last.safetensors" in str(error) for error in told)
            assert any("metrics" in str(error) for error in told)
        else:
            with pytest.raises(MunetError):
                list(session.run(None, folder))


def test_a_thinned_run_is_dense_at_first_and_small_in_the_end(tmp_path: Path):
    folder = RunFolder(tmp_path / "one", thinned=True)
    made(folder, recipe())
    run = read_run(folder.path)
    assert run.series["loss"][0] == list(range(1, 41)), "however many of them a submit makes"
    assert len(run.evaluations["loss"][0]) == 4
    rows = np.ones((1_000, 1), np.float32)
    for step in range(1040, 200_000, 1_000):
        folder.progress(Progress(step, {"loss": 1.0}, rows, ("loss",), 1.0))
    folder.settle()
    steps = read_run(folder.path).series["loss"][0]
    assert steps == sorted(set(steps)) and steps[-1] == 199_040, "the last step always has a line"
    assert 4_000 < len(steps) < 5_500
    gaps = np.diff([step for step in steps if step > 1_000][:-1])
    assert gaps.max() == 256 and gaps.min() == 2


def test_live_parameters_are_what_set_takes():
    graph = load_project(PROJECTS / "spiral_mlp.json")
    found = live_parameters(graph)
    assert {"learning rate.rate", "adam.beta1"} <= {param.key for param in found}
    assert "adam.lr" not in {param.key for param in found}  # a wire drives it
    with Session.open(graph, "cpu") as session:
        for param in found:
            assert session.live[param.key] == param.value
            session.set(param.node, param.param, param.value)
