"""Sessions from outside: predicting, tapping, events, pause, profiles; none of it disturbs training."""

from __future__ import annotations

import json
import threading
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import munet
from munet.engine.errors import NonFiniteError, ProjectError
from munet.engine.events import EventRing, Finished, Paused, Progress
from munet.engine.prediction import KEPT, Histogram, Summary, histogram, summary
from tests.engine.drawings import drawing
from tests.engine.running import DEVICES, finish, spiral, xor

pytestmark = pytest.mark.usefixtures("own_cache")
on_devices = pytest.mark.parametrize("device", DEVICES)


def forward(session: munet.Session, x: np.ndarray) -> np.ndarray:
    """The spiral network in NumPy, by the session's weights."""
    w = session.weights()
    hidden = np.maximum(x.astype(np.float64) @ w["one/weight"].T + w["one/bias"], 0)
    return hidden @ w["two/weight"].T + w["two/bias"]


# Predicting


@on_devices
def test_predictions_for_any_number_of_samples(device: str):
    rng = np.random.default_rng(0)
    with munet.Session.open(spiral(), device) as session:
        finish(session, 7)
        for count in (1, 5, 131):
            x = rng.standard_normal((count, 2))
            found = session.predict({"arms": x})
            assert list(found) == ["two.y"]
            np.testing.assert_allclose(found["two.y"], forward(session, x.astype(np.float32)), rtol=1e-4, atol=1e-5)


@on_devices
def test_nodes_to_predict_can_be_named(device: str):
    x, label = np.ones((3, 2), np.float32), np.array([0, 1, 2])
    with munet.Session.open(spiral(), device) as session:
        found = session.predict({"arms.x": x, "arms.label": label}, ["bend", "error.loss", "arms.x"])
        assert list(found) == ["bend.y", "error.loss", "arms.x"]
        assert found["bend.y"].shape == (3, 16) and found["error.loss"].shape == ()
        np.testing.assert_array_equal(found["arms.x"], x)
        logits = forward(session, x)
        loss = np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(3), label]
        assert found["error.loss"] == pytest.approx(loss.mean(), rel=1e-5)
        everything = session.predict({"arms.x": x, "arms.label": label})
        assert set(everything) == {"error.loss", "right.accuracy"}


@on_devices
def test_predicting_the_held_out_split(device: str):
    with munet.Session.open(spiral(), device) as session:
        found = session.predict(nodes=["two", "error"])
        test = session._lowered.sources[0].dataset.test
        np.testing.assert_allclose(found["two.y"], forward(session, test["x"]), rtol=1e-4, atol=1e-5)
        assert found["error.loss"] == pytest.approx(session.evaluate()["loss"], rel=1e-5)


@on_devices
def test_looking_changes_no_bit_of_training(device: str):
    states = []
    for looking in (False, True):
        with munet.Session.open(spiral(), device, poison=True) as session:
            for _ in range(3):
                finish(session, 4)
                if looking:
                    session.predict({"arms": np.ones((4, 2), np.float32)})
                    session.tap("bend", "y")
                    session.tap("error", "loss", "summary")
            states.append(session.states())
    for name, array in states[0].items():
        np.testing.assert_array_equal(states[1][name], array, err_msg=name)


@on_devices
def test_predicting_while_steps_are_under_way(device: str):
    with munet.Session.open(xor(), device) as session:
        seen = 0
        for event in session.train(3000):
            if isinstance(event, Progress) and seen < 3:
                seen += 1
                assert session.predict({"points": np.eye(2)})["two.y"].shape == (2, 1)
        assert session.step_count == int(session.state("train/step")) == 3000


def test_programs_are_kept_and_given_back():
    with munet.Session.open(spiral(), "cpu") as session:
        for count in (*range(1, KEPT + 4), 3):
            session.predict({"arms": np.zeros((count, 2), np.float32)})
        assert session._looker is not None and len(session._looker._predicting) == KEPT
        loaded = [name for name in session.executor._loaded if name.startswith("predict")]  # pyright: ignore[reportAttributeAccessIssue]
        assert len(loaded) == KEPT


def test_dropout_and_running_statistics_when_predicting():
    nodes = {
        "arms": ("spiral", {"batch": 20}),
        "one": ("Linear", {"out_features": 8}),
        "norm": "BatchNorm",
        "drop": ("Dropout", {"p": 0.5}),
        "two": ("Linear", {"out_features": 3}),
        "error": "cross_entropy",
        "learn": "Adam",
    }
    wires = ("arms.x -> one.x", "one.y -> norm.x", "norm.y -> drop.x", "drop.y -> two.x", "two.y -> error.logits")
    graph = drawing(nodes, *wires, "arms.label -> error.label", "error.loss -> learn.loss")
    with munet.Session.open(graph, "cpu") as session:
        finish(session, 5)
        before = session.states()
        x = np.random.default_rng(0).standard_normal((6, 2)).astype(np.float32)
        found = session.predict({"arms": x}, ["norm", "drop"])
        np.testing.assert_array_equal(found["norm.y"], found["drop.y"])
        one = session.predict({"arms": x[:1]}, ["norm"])
        np.testing.assert_allclose(one["norm.y"], found["norm.y"][:1], rtol=1e-5)
        tapped = session.tap("drop", "y")
        assert (np.asarray(tapped) == 0).mean() > 0.2  # training's view: half of it is dropped
        for name, array in session.states().items():
            np.testing.assert_array_equal(array, before[name], err_msg=name)


@pytest.mark.parametrize(
    ("inputs", "nodes", "code"),
    [
        ({"nobody": np.ones((1, 2))}, None, "unknown-source"),
        ({"one": np.ones((1, 2))}, None, "unknown-source"),
        ({"arms.z": np.ones((1, 2))}, None, "unknown-socket"),
        ({"arms": np.ones((1, 3))}, None, "shape-mismatch"),
        ({"arms": np.ones(3)}, None, "rank-mismatch"),
        ({"arms.label": np.array([0.5])}, None, "wrong-dtype"),
        ({"arms.label": np.array([300])}, None, "wrong-dtype"),
        ({"arms": np.ones((1, 2))}, ["error"], "not-given"),
        ({"arms": np.ones((1, 2))}, ["nobody"], "unknown-node"),
        ({"arms": np.array([["a", "b"]])}, None, "wrong-dtype"),
    ],
)
def test_what_cannot_be_predicted(inputs: dict[str, np.ndarray], nodes: list[str] | None, code: str):
    with munet.Session.open(spiral(), "cpu") as session, pytest.raises(ProjectError) as caught:
        session.predict(inputs, nodes)
    assert [problem.code for problem in caught.value.problems] == [code]


@on_devices
def test_arrays_may_be_overwritten_at_once(device: str):
    """What was handed over is not looked at again: 200 steps fed from the same arrays give what fresh ones give."""
    losses = []
    for shared in (False, True):
        with munet.Session.open(spiral(), device) as session:
            arrays = session.feeds(0, 1)
            tickets = []
            for step in range(200):
                rows = session.feeds(step, 1)
                if shared:
                    for name, array in arrays.items():
                        array[...] = rows[name]
                given = arrays if shared else rows
                tickets.append(session.executor.submit(session.program, first_step=step, steps=1, feeds=given))
                if shared:
                    for array in arrays.values():
                        array[...] = 0
            session.executor.wait(tickets[-1])
            losses.append(np.concatenate([session.executor.records(ticket) for ticket in tickets]))
            x = np.ones((3, 2), np.float32)
            expected = session.predict({"arms": x})["two.y"]
            found = session.predict({"arms": x})["two.y"]
            x[...] = np.nan
            np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(losses[0], losses[1])


# Taps


@on_devices
def test_a_tap_shows_the_next_step(device: str):
    with munet.Session.open(spiral(), device) as session:
        finish(session, 6)
        loss = float(np.asarray(session.tap("error", "loss")))
        logits = np.asarray(session.tap("two", "y"))
        rows = session.feeds(6, 1)["arms/order"][0]
        np.testing.assert_allclose(
            logits, forward(session, session._lowered.sources[0].dataset.train["x"][rows]), rtol=1e-4, atol=1e-5
        )
        assert session.step()["loss"] == pytest.approx(loss, rel=1e-5)
        counts = session.tap("two", "y", "histogram")
        assert isinstance(counts, Histogram) and counts.counts.sum() == 7 * 3 and len(counts.edges) == len(counts.counts) + 1
        found = session.tap("bend", "y", "summary")
        assert isinstance(found, Summary) and found.minimum == 0 and found.shape == (7, 16) and found.zeros > 0
        with pytest.raises(ProjectError, match="no tensor"):
            session.tap("two", "z")
        with pytest.raises(ProjectError, match="no reduction"):
            session.tap("two", "y", "median")


def test_histograms_and_summaries_of_strange_numbers():
    array = np.array([np.nan, np.inf, -1.0, 3.0, 0.0], np.float32)
    assert histogram(array, 4).strange == 2 and histogram(array, 4).counts.tolist() == [1, 1, 0, 1]
    found = summary(array)
    assert (found.minimum, found.maximum, found.zeros, found.strange) == (-1, 3, 1, 2)
    assert np.isnan(summary(np.array([np.nan])).mean) and histogram(np.empty(0)).counts.sum() == 0


# Events, pause, step


@on_devices
def test_events_can_be_read_from_the_side(device: str):
    with munet.Session.open(xor(), device) as session:
        told = list(session.train(200))
        session.evaluate()
        page = session.events()
        assert list(page.events[:-1]) == told and page.missed == 0
        assert session.events(page.next).events == ()
        finish(session, 5)
        assert any(isinstance(event, Finished) for event in session.events(page.next).events)


def test_the_ring_forgets_the_oldest():
    ring = EventRing(8)
    for step in range(20):
        ring.add(Paused(step))
    page = ring.since(3)
    assert [event.step for event in page.events] == list(range(12, 20)) and (page.next, page.missed) == (20, 9)
    assert ring.since(19).events == (Paused(19),) and ring.since(20) == ring.since(99).__class__((), 20)


def test_another_thread_reads_every_event_once():
    ring, seen, done = EventRing(1 << 16), list[int](), threading.Event()

    def read() -> None:
        serial = 0
        while True:
            last = done.is_set()
            page = ring.since(serial)
            seen.extend(event.step for event in page.events if isinstance(event, Paused))
            serial = page.next
            if last:
                return

    reader = threading.Thread(target=read)
    reader.start()
    for step in range(50_000):
        ring.add(Paused(step))
    done.set()
    reader.join()
    assert seen == list(range(50_000))


@on_devices
def test_pause_and_resume(device: str):
    with munet.Session.open(xor(), device) as session:
        seen: list[object] = []
        for event in session.train(5000):
            seen.append(event)
            if len(seen) == 1:
                session.pause()
            if isinstance(event, Paused):
                assert event.step == session.step_count == int(session.state("train/step"))
                assert session.step(3) and session.step_count == event.step + 3
                session.evaluate()
                session.resume()
        last = seen[-1]
        assert isinstance(last, Finished) and last.step == 5000 and not last.stopped
        assert sum(isinstance(event, Paused) for event in seen) == 1


@on_devices
def test_start_paused_and_step(device: str):
    with munet.Session.open(xor(), device) as session:
        session.pause()
        training = session.train(10)
        assert isinstance(next(training), Paused) and isinstance(next(training), Paused)
        assert session.step_count == 0 and session.step(4)["loss"] > 0 and session.step_count == 4
        session.resume()
        *_, last = training
        assert isinstance(last, Finished) and last.step == 10


# Profiles


@on_devices
def test_profiles(device: str, tmp_path: Path):
    with munet.Session.open(spiral(), device) as session:
        finish(session, 10)
        timings = session.profile(3, tmp_path / "trace.json")
        assert session.step_count == int(session.state("train/step")) == 16  # three by pass, three by level
        assert len(timings.level_us) == session.program.level_count and all(us > 0 for us in timings.level_us)
        assert timings.levels_us == pytest.approx(sum(timings.level_us))
        assert [p.name for p in timings.passes] == [p.name for p in session.passes]
        assert sum(node.us for node in timings.nodes) == pytest.approx(timings.serialised_us)
        assert timings.node("one").forward_us > 0 and timings.node("one").backward_us > 0
        assert timings.node("learn").update_us > 0 and timings.node("learn").forward_us == 0
        assert timings.node("bend").update_us == 0 and timings.node("nobody").us == 0
        assert session.timings() is timings and session.timings(refresh=True) is not timings
        assert session.step_count == 18
        finish(session, 6)
        trace = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    spans = [event for event in trace if event["ph"] == "X" and event["cat"] == "pass"]
    assert len(spans) == len(timings.passes)
    assert all(b["ts"] >= a["ts"] + a["dur"] - 1e-6 for a, b in pairwise(spans))


@on_devices
def test_profiled_steps_are_told_to_the_next_who_listens(device: str):
    with munet.Session.open(spiral(), device) as session:
        events = list(session.train(3))
        session.profile(2)
        events += session.train(3)
    told = [event for event in events if isinstance(event, Progress)]
    assert [event.first_step for event in told] == [0, *(event.step for event in told[:-1])] and told[-1].step == 10
    assert sum(len(event.rows) for event in told) == 10


@on_devices
def test_a_profiled_step_that_fails_is_no_step(device: str):
    with munet.Session.open(xor(), device) as session:
        finish(session, 3)
        session.set("learn", "lr", 1e38)
        with pytest.raises(NonFiniteError):
            for _ in range(4):
                session.profile(1)
        assert np.isfinite(session.state("one/weight")).all()


@on_devices
def test_a_profiled_step_is_a_step_like_any_other(device: str):
    states = []
    for profiling in (False, True):
        with munet.Session.open(spiral(), device) as session:
            finish(session, 3)
            if profiling:
                session.profile(2)
            else:
                finish(session, 4)
            finish(session, 3)
            states.append(session.states())
    for name, array in states[0].items():
        np.testing.assert_array_equal(states[1][name], array, err_msg=name)


# Statistics of any numbers


@pytest.mark.parametrize(
    "numbers",
    [
        [1.15e38] * 4,
        [3.4e38, -3.4e38],
        [1e8, 1e8 + 8],
        [1.0, 1.0000001],
        [1e-45, 2e-45],
        [1e-45, 3e38],
        [5.0] * 3,
        [0.0],
        [],
        [float("nan")],
        [float("inf"), 1.0, -float("inf")],
    ],
)
def test_statistics_of_any_numbers(numbers: list[float]):
    array = np.array(numbers, np.float32)
    finite = array[np.isfinite(array)]
    found, facts = histogram(array), summary(array)
    assert found.counts.sum() == finite.size and found.strange == facts.strange == array.size - finite.size
    assert len(found.edges) == len(found.counts) + 1 and np.isfinite(found.edges).all()
    assert (np.diff(found.edges) > 0).all()
    if finite.size:
        assert found.edges[0] <= finite.min() and finite.max() <= found.edges[-1]
        assert (facts.minimum, facts.maximum) == (finite.min(), finite.max()) and np.isfinite([facts.mean, facts.deviation]).all()
