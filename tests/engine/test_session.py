"""Sessions: training, feeding, evaluation, live values, what is counted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import munet
from munet.engine.errors import DeviceUnavailable, MunetError, ProjectError
from munet.engine.events import Evaluated, Finished, Progress, Saved
from munet.engine.feeding import ShuffledOrder, in_order, scalar_rows
from munet.engine.graph import Graph, Run
from munet.engine.hostscalar import StepContext
from munet.engine.runfolder import RunFolder
from tests.engine.running import DEVICES, finish, spiral, xor

pytestmark = pytest.mark.usefixtures("own_cache")
on_devices = pytest.mark.parametrize("device", DEVICES)


@on_devices
def test_xor_is_learned(device: str):
    with munet.Session.open(xor(), device) as session:
        events = list(session.train(300))
        assert isinstance(events[-1], Finished)
        assert events[-1].step == session.step_count == 300
        assert session.loss is not None and session.loss < 0.01
        assert session.evaluate()["loss"] < 0.01


@on_devices
def test_every_step_is_told_once(device: str):
    with munet.Session.open(spiral(), device) as session:
        events = [e for e in (*session.train(130), *session.train(20)) if isinstance(e, Progress)]
    assert events[0].names == ("loss", "accuracy")
    assert sum(len(e.rows) for e in events) == 150
    assert [e.first_step for e in events] == [0, *(e.step for e in events[:-1])]
    assert events[-1].metrics["loss"] == events[-1].rows[-1, 0]


def test_devices_agree():
    if len(DEVICES) < 2:
        pytest.skip("there is no Vulkan device")
    states = {}
    for device in DEVICES:
        with munet.Session.open(spiral(), device) as session:
            finish(session, 3)
            states[device] = session.states()
    assert states["cpu"].keys() == states["auto"].keys()
    for name, array in states["cpu"].items():
        np.testing.assert_allclose(states["auto"][name], array, rtol=1e-3, atol=1e-5, err_msg=name)


@on_devices
def test_poisoned_arenas_change_nothing(device: str):
    results = []
    for poison in (False, True):
        with munet.Session.open(spiral(), device, poison=poison) as session:
            finish(session, 9)
            results.append(session.states())
    for name, array in results[0].items():
        np.testing.assert_array_equal(results[1][name], array, err_msg=name)


@on_devices
def test_what_a_thousand_steps_cost(device: str):
    with munet.Session.open(xor(), device) as session:
        before = replace(session.executor.counters)
        finish(session, 1000)
        counters, report = session.executor.counters, session.report()
    assert counters.steps == 1000
    assert counters.upload_bytes_other == before.upload_bytes_other
    assert counters.upload_bytes_feeds == 1000 * 4 * (2 + len(session._lowered.scalars))
    assert report["submits"] == counters.submits <= 20
    assert report["blocking_waits"] == counters.blocking_waits - before.blocking_waits <= 1
    assert set(report) >= {
        "device", "steps", "loss", "metrics", "passes_per_step", "levels_per_step", "submits", "blocking_waits",
        "arena_bytes", "arena_bytes_without_aliasing", "arena_lower_bound", "gpu_ms_per_step", "wall_ms_per_step",
        "cold_start_ms", "shader_compiles",
    }  # fmt: skip
    assert set(report["cold_start_ms"]) == {"lowering", "shaders", "device"}


# Feeding


def test_an_epoch_takes_each_sample_once():
    order = ShuffledOrder("node", 39, 7, seed=5)
    rows = order.rows(0, 50)
    assert rows.dtype == np.int32 and rows.shape == (50, 7)
    epochs = [rows[start : start + 5].ravel() for start in range(0, 50, 5)]
    for epoch in epochs:
        assert len(set(epoch)) == 35 and set(epoch) <= set(range(39))
    assert len({tuple(epoch) for epoch in epochs}) == 10


def test_the_order_depends_on_seed_node_and_step_alone():
    whole = ShuffledOrder("node", 39, 7, seed=5).rows(0, 60)
    pieces = ShuffledOrder("node", 39, 7, seed=5)
    for first, count in ((0, 1), (1, 13), (14, 20), (3, 9), (59, 1), (0, 60)):
        np.testing.assert_array_equal(pieces.rows(first, count), whole[first : first + count])
    assert not np.array_equal(ShuffledOrder("node", 39, 7, seed=6).rows(0, 60), whole)
    assert not np.array_equal(ShuffledOrder("other", 39, 7, seed=5).rows(0, 60), whole)


def test_one_batch_an_epoch_is_shuffled_too():
    rows = ShuffledOrder("node", 4, 4, seed=1).rows(0, 512)
    assert (np.sort(rows, axis=1) == np.arange(4)).all()
    assert len({tuple(row) for row in rows}) == 24


def test_a_large_batch_of_all_samples_keeps_their_order():
    rows = ShuffledOrder("node", 1025, 1025, seed=1).rows(3, 5)
    assert rows.dtype == np.int32
    np.testing.assert_array_equal(rows, np.tile(np.arange(1025), (5, 1)))
    assert not np.array_equal(ShuffledOrder("node", 1025, 1024, seed=1).rows(3, 1), rows[:1, :1024])


def test_known_orders():
    """Runs of older versions must go on as they began."""
    assert ShuffledOrder("digits", 9, 3, seed=1).rows(0, 3).tolist() == [[1, 7, 4], [6, 0, 8], [3, 2, 5]]


def test_rows_in_order_start_again():
    assert in_order(4, 2, 3, 8).tolist() == [[4, 5, 6], [7, 0, 1]]


# Evaluation


@on_devices
def test_evaluation_is_the_mean_over_all_held_out_samples(device: str):
    """39 samples in batches of 7 and a rest of 4, against one batch of 39, against NumPy."""
    found = []
    for batch in (7, 39):
        with munet.Session.open(spiral(batch), device, seed=1) as session:
            found.append(session.evaluate())
            states = session.states()
            dataset = session._lowered.sources[0].dataset.test
    hidden = np.maximum(dataset["x"].astype(np.float64) @ states["one/weight"].T + states["one/bias"], 0)
    logits = hidden @ states["two/weight"].T + states["two/bias"]
    label = dataset["label"].astype(int)
    losses = np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(39), label]
    expected = {"loss": losses.mean(), "accuracy": (logits.argmax(axis=1) == label).mean()}
    for metrics in found:
        assert metrics == pytest.approx(expected, rel=1e-5)


@on_devices
def test_evaluation_does_not_disturb_training(device: str):
    states = []
    for evaluating in (False, True):
        with munet.Session.open(spiral(), device) as session:
            for _ in range(3):
                finish(session, 4)
                if evaluating:
                    session.evaluate()
            states.append(session.states())
    for name, array in states[0].items():
        np.testing.assert_array_equal(states[1][name], array, err_msg=name)


# Live values


@on_devices
def test_live_values_take_effect_without_compiling(device: str):
    with munet.Session.open(xor("SGD"), device) as session:
        finish(session, 2)
        pipelines = session.executor.counters.pipelines
        session.set("learn", "lr", 0.0)
        before = session.states()
        finish(session, 3)
        for name, array in session.states().items():
            if not name.endswith("/step"):
                np.testing.assert_array_equal(array, before[name], err_msg=name)
        session.set("learn", "lr", 0.1)
        finish(session, 1)
        assert not np.array_equal(session.state("one/weight"), before["one/weight"])
        assert session.executor.counters.pipelines == pipelines


@pytest.mark.parametrize(
    ("node", "param", "value", "code"),
    [
        ("nobody", "lr", 1.0, "unknown-node"),
        ("learn", "lrr", 1.0, "unknown-parameter"),
        ("one", "out_features", 9, "not-live"),
        ("learn", "lr", -1.0, "bad-parameter"),
        ("learn", "lr", float("nan"), "bad-parameter"),
        ("learn", "lr", 1e39, "bad-parameter"),
    ],
)
def test_what_cannot_be_set(node: str, param: str, value: float, code: str):
    with munet.Session.open(xor(), "cpu") as session:
        live = dict(session.live)
        with pytest.raises(ProjectError) as caught:
            session.set(node, param, value)
        assert [problem.code for problem in caught.value.problems] == [code]
        assert session.live == live


@pytest.mark.parametrize("count", [1.5, "3", -1, None, True])
def test_counts_are_whole_numbers(count: Any):
    with munet.Session.open(xor(), "cpu") as session:
        with pytest.raises(MunetError, match="a whole number"):
            session.step(count)
        with pytest.raises(MunetError, match="a whole number"):
            list(session.train(count))
        with pytest.raises(MunetError, match="a whole number"):
            session.samples(0)
        assert session.step_count == 0


def test_arguments_of_other_kinds_say_what_is_expected(tmp_path: Path):
    with pytest.raises(MunetError, match="auto, vulkan:N or cpu"):
        munet.Session.open(xor(), None)  # type: ignore[arg-type]
    with munet.Session.open(xor(), "cpu") as session:
        with pytest.raises(MunetError, match="cannot be written"):
            session.save("a\0b")
        with pytest.raises(MunetError, match="is no array of numbers"):
            session.predict({"points": [[0, 1], [1]]})


# The whole recipe


def test_run_follows_the_project(tmp_path: Path):
    graph = spiral(run=Run(steps=30, seed=1, evaluate_every=10, checkpoint_every=20))
    folder = RunFolder(tmp_path / "run")
    with munet.Session.open(graph, "cpu") as session:
        folder.start(graph, session.seed, session.executor.info)
        events = [e for e in session.run(folder=folder) if not isinstance(e, Progress)]
        found = [(type(e), e.step) for e in events]
    assert found == [(Evaluated, 10), (Evaluated, 20), (Saved, 20), (Evaluated, 30), (Saved, 30), (Finished, 30)]
    assert sorted(path.name for path in folder.path.iterdir()) == [
        "last.safetensors",
        "metrics.jsonl",
        "project.json",
        "run.json",
    ]
    lines = (folder.path / "metrics.jsonl").read_text().splitlines()
    assert any('"split": "test"' in line for line in lines) and any('"step": 30' in line for line in lines)


@on_devices
def test_stop_ends_in_good_order(device: str):
    with munet.Session.open(xor(), device) as session:
        events = []
        for found in session.train(100_000):
            events.append(found)
            session.stop()
        event = events[-1]
        assert isinstance(event, Finished) and event.stopped
        assert event.step == session.step_count == int(session.state("train/step")) < 100_000
        finish(session, 1)
        assert session.step_count == int(session.state("train/step")) == event.step + 1


@on_devices
def test_an_abandoned_loop_loses_nothing(device: str):
    with munet.Session.open(xor(), device) as session:
        for _ in session.train(400):
            break
        finish(session, 5)
        assert session.step_count == int(session.state("train/step"))


# What goes wrong


def test_a_closed_session_says_so():
    session = munet.Session.open(xor(), "cpu")
    session.close()
    session.close()
    with pytest.raises(MunetError, match="closed"):
        finish(session, 1)
    with pytest.raises(MunetError, match="closed"):
        session.states()


def test_no_device_is_taken_in_place_of_another():
    for device in ("vulkan:77", "cuda", "", "vulkan:-1", "vulkan:x"):
        with pytest.raises(DeviceUnavailable):
            munet.Session.open(xor(), device)


def test_faulty_graphs_tell_all():
    with pytest.raises(ProjectError) as caught:
        munet.Session.open(Graph(), "cpu")
    assert [problem.code for problem in caught.value.problems] == ["empty-graph"]


def test_a_seed_decides_everything():
    def weights(seed: int) -> np.ndarray:
        with munet.Session.open(xor(), "cpu", seed=seed) as session:
            finish(session, 5)
            return session.state("one/weight")

    np.testing.assert_array_equal(weights(7), weights(7))
    assert not np.array_equal(weights(7), weights(8))


def test_scalars_are_worked_out_for_every_step():
    """Those that do not depend on the step are worked out once; the table is the same."""
    with munet.Session.open(spiral(), "cpu") as session:
        scalars = session._lowered.scalars
        expected = [[s.value(StepContext(step, session.live)) for s in scalars] for step in range(5, 25)]
        np.testing.assert_array_equal(scalar_rows(scalars, 5, 20, session.live), np.array(expected).astype(np.float32))
