"""What run settings and drawing ask of training: best checkpoint, early end, given weights, frozen nodes, accumulation."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import munet
from munet.engine.checkpoint import read_checkpoint
from munet.engine.errors import CheckpointError, ProjectError
from munet.engine.events import Carried, Evaluated, Finished, Progress, Saved
from munet.engine.graph import Graph, Run
from munet.engine.project import dump_project, parse_project
from munet.engine.recipe import Judge, judge_of
from munet.engine.runfolder import RunFolder
from tests.engine.drawings import drawing
from tests.engine.running import DEVICES, finish, spiral, xor

pytestmark = pytest.mark.usefixtures("own_cache")
on_devices = pytest.mark.parametrize("device", DEVICES)


def test_settings_in_the_project_file():
    run = Run(steps=5, accumulate=4, judged_by="accuracy", keep_best=True, patience=3, initial_weights="w.safetensors")
    graph = xor(run=run)
    graph = replace(graph, nodes={**graph.nodes, "one": replace(graph.nodes["one"], frozen=True)})
    assert parse_project(dump_project(graph)) == graph
    assert '"run": {"steps": 40, "seed": 3, "evaluate_every": 0, "checkpoint_every": 0}' in dump_project(xor())
    with pytest.raises(ProjectError, match="accumulate is 0, but must be at least 1"):
        parse_project(dump_project(graph).replace('"accumulate": 4', '"accumulate": 0'))


# Best and last, and when to end


def test_a_judge():
    down, up = Judge("loss", False, 2), Judge("accuracy", True, 2)
    assert [down.improved({"loss": x}) for x in (3.0, 2.0, 2.0, float("nan"), 1.0)] == [True, True, False, False, True]
    assert [up.improved({"accuracy": x}) for x in (float("nan"), 0.2, 0.1)] == [False, True, False]
    assert not up.exhausted
    up.improved({})
    assert up.exhausted and not Judge("loss", False, 0, since=99).exhausted
    graph = spiral(run=Run(evaluate_every=1, patience=1, judged_by="accuracy"))
    judge = judge_of(graph.run, graph.nodes, ("loss", "accuracy"))
    assert judge is not None and judge.larger_is_better
    assert judge_of(Run(), graph.nodes, ("loss",)) is None


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (Run(patience=2), "evaluate_every is 0"),
        (Run(patience=2, evaluate_every=5, judged_by="f1"), '(?s)judged by "f1".*loss, accuracy'),
        (Run(keep_best=True, judged_by=""), 'judged by ""'),
    ],
)
def test_settings_that_cannot_be_met(run: Run, text: str):
    with munet.Session.open(spiral(run=run), "cpu") as session, pytest.raises(ProjectError, match=text):
        list(session.run())


@on_devices
def test_the_best_state_is_kept(device: str, tmp_path: Path):
    """The rate is far too large after a while, so that the best evaluation is not the last."""
    run = Run(steps=60, seed=1, evaluate_every=10, keep_best=True)
    folder = RunFolder(tmp_path / "run")
    with munet.Session.open(spiral(run=run), device) as session:
        folder.start(session.graph, session.seed, session.executor.info)
        found: dict[int, float] = {}
        saved: list[tuple[str, int]] = []
        for event in session.run(folder=folder):
            if isinstance(event, Evaluated):
                found[event.step] = event.metrics["loss"]
                if event.step == 30:
                    session.replace(replace(session.graph, nodes={**session.graph.nodes, "rate": _rate(5.0)}))
            if isinstance(event, Saved):
                saved.append((Path(event.path).name, event.step))
        best = min(found, key=found.__getitem__)
        assert best < 60 and saved[-1] == ("last.safetensors", 60)
        assert read_checkpoint(folder.best)[1].step == best == [step for name, step in saved if name.startswith("best")][-1]
        session.load(folder.best)
        assert session.evaluate()["loss"] == pytest.approx(found[best], rel=1e-6)


def _rate(rate: float):
    return munet.Node("rate", "constant_rate", {"rate": rate})


def test_patience_ends_a_run(tmp_path: Path):
    run = Run(steps=1000, seed=1, evaluate_every=10, patience=3)
    graph = replace(spiral(run=run), nodes={**spiral().nodes, "rate": _rate(0.0)})
    folder = RunFolder(tmp_path / "run")
    with munet.Session.open(graph, "cpu") as session:
        folder.start(graph, session.seed, session.executor.info)
        *_, last = session.run(folder=folder)
        assert isinstance(last, Finished) and (last.step, last.stopped) == (40, True)
        assert last.reason == "loss has not improved for 3 evaluations"
        assert read_checkpoint(folder.checkpoint)[1].step == 40


def test_a_resumed_run_ends_where_a_whole_one_does(tmp_path: Path):
    run = Run(steps=1000, seed=1, evaluate_every=10, patience=3)
    graph = replace(spiral(run=run), nodes={**spiral().nodes, "rate": _rate(0.0)})
    folder = RunFolder(tmp_path / "run")
    with munet.Session.open(graph, "cpu") as session:
        folder.start(graph, session.seed, session.executor.info)
        list(session.run(20, folder))
    with munet.Session.open(graph, "cpu") as session:
        session.load(folder.checkpoint)
        folder.start(graph, session.seed, session.executor.info, resumed_at=session.step_count)
        *_, last = session.run(folder=folder)
        assert last.step == 40
    steps = [json.loads(line)["step"] for line in (folder.path / "metrics.jsonl").read_text().splitlines() if "test" in line]
    assert steps == [10, 20, 30, 40]


@on_devices
@pytest.mark.parametrize("every", [1, 7])
def test_steps_made_in_between_skip_nothing_that_is_due(device: str, every: int, tmp_path: Path):
    """Timed steps, and steps one by one while the run is held, cross the steps at which something is due."""
    run = Run(steps=70, seed=1, evaluate_every=every, checkpoint_every=2 * every, keep_best=True)
    folder = RunFolder(tmp_path / "run")
    with munet.Session.open(spiral(run=run), device) as session:
        folder.start(session.graph, session.seed, session.executor.info)
        events = []
        for event in session.run(folder=folder):
            events.append(event)
            match event:
                case Progress() if session.step_count < 50:
                    session.profile(2)
                case Evaluated() if session.step_count < 50:
                    session.step(9)
                case Saved() if session.step_count < 60:
                    session.timings(refresh=True)
        best = [e.step for e in events if isinstance(e, Saved) and e.path == str(folder.best)]
    due = list(range(every, 71, every))
    steps = [e.step for e in events if isinstance(e, Evaluated)]
    assert steps == (due if due[-1] == 70 else [*due, 70])
    saved = [e.step for e in events if isinstance(e, Saved) and e.path == str(folder.checkpoint)]
    assert saved == list(range(2 * every, 71, 2 * every))
    assert best and set(best) <= set(steps) and read_checkpoint(folder.best)[1].step == best[-1]
    told = [e.step for e in events if isinstance(e, Progress | Evaluated)]
    assert told == sorted(told)
    rows = [(e.first_step, e.step) for e in events if isinstance(e, Progress)]
    assert [end for _, end in rows[:-1]] == [first for first, _ in rows[1:]] and (rows[0][0], rows[-1][1]) == (0, 70)
    written = [json.loads(line) for line in (folder.path / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in written] == sorted(line["step"] for line in written)
    assert [line["step"] for line in written if line["split"] == "test"] == steps


def test_patience_counts_each_evaluation_when_steps_are_timed():
    run = Run(steps=1000, seed=1, evaluate_every=10, patience=3)
    graph = replace(spiral(run=run), nodes={**spiral().nodes, "rate": _rate(0.0)})
    with munet.Session.open(graph, "cpu") as session:
        found = []
        for event in session.run():
            found.append(event)
            if isinstance(event, Progress) and session.step_count < 37:
                session.profile(1)
        assert [e.step for e in found if isinstance(e, Evaluated)] == [10, 20, 30, 40]
        assert isinstance(found[-1], Finished) and found[-1].reason == "loss has not improved for 3 evaluations"


# Given weights


@on_devices
def test_starting_from_weights(device: str, tmp_path: Path):
    with munet.Session.open(spiral(), device) as session:
        finish(session, 12)
        session.save(tmp_path / "whole.safetensors")
        session.export_weights(tmp_path / "weights.safetensors")
        weights = session.weights()
    assert set(safetensors.numpy.load_file(tmp_path / "weights.safetensors")) == set(weights)
    assert set(weights) == {"one/weight", "one/bias", "two/weight", "two/bias"}
    for name in ("whole", "weights"):
        graph = spiral(run=Run(seed=9, initial_weights=str(tmp_path / f"{name}.safetensors")))
        with munet.Session.open(graph, device) as session:
            assert session.step_count == 0 and not session.state("learn/one/weight/m").any()
            for state, array in weights.items():
                np.testing.assert_array_equal(session.state(state), array)


def test_weights_that_fit_in_part(tmp_path: Path):
    with munet.Session.open(spiral(), "cpu") as session:
        session.export_weights(tmp_path / "w")
    wide = replace(spiral(), nodes={**spiral().nodes, "two": munet.Node("two", "Linear", {"out_features": 5})})
    with munet.Session.open(wide, "cpu", seed=8, weights=tmp_path / "w") as session:
        (carried,) = (event for event in session.events().events if isinstance(event, Carried))
        assert carried.kept == ("one/weight", "one/bias") and set(carried.started) == {"two/weight", "two/bias"}
    safetensors.numpy.save_file({"other": np.zeros(3)}, tmp_path / "none")
    (tmp_path / "text").write_text("no weights")
    for name in ("none", "text", "missing"):
        with pytest.raises(CheckpointError, match=name):
            munet.Session.open(spiral(), "cpu", weights=tmp_path / name)


def test_weights_lie_beside_the_project(tmp_path: Path):
    with munet.Session.open(xor(), "cpu") as session:
        session.export_weights(tmp_path / "w.safetensors")
        weights = session.weights()
    munet.save_project(xor(run=Run(seed=8, initial_weights="w.safetensors")), tmp_path / "p.json")
    with munet.Session.open(tmp_path / "p.json", "cpu") as session:
        np.testing.assert_array_equal(session.state("one/weight"), weights["one/weight"])


# Frozen nodes


@on_devices
def test_frozen_nodes_stay_as_they_are(device: str):
    graph = spiral()
    frozen = replace(graph, nodes={**graph.nodes, "two": replace(graph.nodes["two"], frozen=True)})
    with munet.Session.open(frozen, device) as session:
        before = session.states()
        finish(session, 5)
        after = session.states()
    assert not any(name.startswith("learn/two/") for name in after)
    np.testing.assert_array_equal(after["two/weight"], before["two/weight"])
    assert not np.array_equal(after["one/weight"], before["one/weight"])  # gradients go through


def test_everything_frozen_is_nothing_to_train():
    graph = xor()
    nodes = {name: replace(node, frozen=True) for name, node in graph.nodes.items()}
    with pytest.raises(ProjectError, match="but frozen ones"):
        munet.Session.open(replace(graph, nodes=nodes), "cpu")


def test_freezing_while_training_keeps_the_rest():
    graph = spiral()
    with munet.Session.open(graph, "cpu") as session:
        finish(session, 4)
        carried = session.replace(replace(graph, nodes={**graph.nodes, "two": replace(graph.nodes["two"], frozen=True)}))
        assert carried.started == () and set(carried.dropped) == {
            "learn/two/weight/m", "learn/two/weight/v", "learn/two/bias/m", "learn/two/bias/v",
        }  # fmt: skip


# Accumulation


def points(batch: int, accumulate: int, optimiser: str, **params: float) -> Graph:
    """Four points an epoch: two batches of 2 are one of 4, whatever their order."""
    nodes = {
        "points": ("xor", {"batch": batch}),
        "one": ("Linear", {"out_features": 8}),
        "bend": "tanh",
        "two": ("Linear", {"out_features": 1}),
        "error": "mse_loss",
        "learn": (optimiser, params),
    }
    wires = ("points.x -> one.x", "one.y -> bend.x", "bend.y -> two.x", "two.y -> error.prediction", "points.y -> error.target")
    graph = drawing(nodes, *wires, "error.loss -> learn.loss")
    return replace(graph, run=Run(seed=5, accumulate=accumulate))


@on_devices
@pytest.mark.parametrize(
    ("optimiser", "params"),
    [
        ("SGD", {"lr": 0.1, "momentum": 0.9}),
        ("Adam", {"lr": 0.02, "ema": 0.9}),
        ("AdamW", {"lr": 0.02, "clip_norm": 0.05}),
    ],
)
def test_batches_added_up_are_one_large_batch(device: str, optimiser: str, params: dict[str, float]):
    with munet.Session.open(points(4, 1, optimiser, **params), device) as session:
        finish(session, 6)
        whole = session.states()
    with munet.Session.open(points(2, 2, optimiser, **params), device, poison=True) as session:
        finish(session, 11)
        before = session.states()
        finish(session, 1)
        parts = session.states()
    assert before["learn/one/weight/accumulated"].any() and not parts["learn/one/weight/accumulated"].any()
    for name, array in whole.items():
        if not name.startswith("train/"):
            np.testing.assert_allclose(parts[name], array, rtol=2e-4, atol=2e-6, err_msg=name)


def test_between_updates_nothing_moves():
    with munet.Session.open(points(2, 3, "Adam"), "cpu") as session:
        before = session.states()
        finish(session, 2)
        for name, array in session.states().items():
            if "accumulated" not in name and not name.startswith("train/"):
                np.testing.assert_array_equal(array, before[name], err_msg=name)
        finish(session, 1)
        assert not np.array_equal(session.state("one/weight"), before["one/weight"])


def test_resuming_between_updates(tmp_path: Path):
    graph = points(2, 3, "Adam")
    with munet.Session.open(graph, "cpu") as session:
        finish(session, 10)
        whole = session.states()
    with munet.Session.open(graph, "cpu") as session:
        finish(session, 4)
        session.save(tmp_path / "c")
    with munet.Session.open(graph, "cpu", seed=77) as session:
        session.load(tmp_path / "c")
        finish(session, 6)
        for name, array in session.states().items():
            np.testing.assert_array_equal(array, whole[name], err_msg=name)


def test_the_update_is_still_one_pass():
    with munet.Session.open(points(2, 1, "Adam"), "cpu") as one, munet.Session.open(points(2, 4, "Adam"), "cpu") as many:
        assert many.program.pass_count <= one.program.pass_count
