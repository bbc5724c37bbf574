"""Looking into a network: held-out samples, what sockets hold for them, gradients; training is not disturbed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import munet
from munet.engine.backward import KEPT
from munet.engine.errors import ProjectError
from tests.engine.drawings import drawing
from tests.engine.running import DEVICES, finish, spiral, xor

pytestmark = pytest.mark.usefixtures("own_cache")
on_devices = pytest.mark.parametrize("device", DEVICES)


def next_batch(session: munet.Session) -> tuple[np.ndarray, np.ndarray]:
    """Points and labels of the next step of training."""
    rows = session.feeds(session.step_count, 1)["arms/order"][0]
    train = session._lowered.sources[0].dataset.train
    return train["x"][rows].astype(np.float64), train["label"][rows]


def by_hand(session: munet.Session) -> dict[str, np.ndarray]:
    """The gradients of the spiral network in NumPy, float64."""
    x, label = next_batch(session)
    w = {name: array.astype(np.float64) for name, array in session.weights().items()}
    before = x @ w["one/weight"].T + w["one/bias"]
    hidden = np.maximum(before, 0)
    logits = hidden @ w["two/weight"].T + w["two/bias"]
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    g = (shares - np.eye(3)[label]) / len(x)
    into = g @ w["two/weight"]
    below = into * (before > 0)
    return {
        "two.y": g, "two/weight": g.T @ hidden, "two/bias": g.sum(axis=0), "bend.y": into, "one.y": below,
        "one/weight": below.T @ x, "one/bias": below.sum(axis=0),
    }  # fmt: skip


@on_devices
def test_gradients_are_those_of_the_loss(device: str):
    with munet.Session.open(spiral(), device) as session:
        finish(session, 5)
        expected = by_hand(session)
        found = session.gradients(list(expected))
        assert found.step == session.step_count == 5
        assert list(found.values) == list(expected)
        for name, array in expected.items():
            np.testing.assert_allclose(found.values[name], array, rtol=2e-4, atol=2e-6, err_msg=name)
            assert found.norms[name] == pytest.approx(np.linalg.norm(array), rel=1e-4)
        assert set(found.norms) == {*expected, "error.loss"} and found.norms["error.loss"] == pytest.approx(1.0)
        nodes = found.by_node()
        assert set(nodes) == {"one", "two"}
        assert nodes["two"] == pytest.approx(np.hypot(found.norms["two/weight"], found.norms["two/bias"]))


@on_devices
def test_looking_inside_changes_no_bit_of_training(device: str):
    states = []
    for looking in (False, True):
        with munet.Session.open(spiral(), device, poison=True) as session:
            for _ in range(3):
                finish(session, 4)
                if looking:
                    session.look(["bend.y", "arms.x", "error.loss"], samples=9)
                    session.gradients()
                    session.gradients("one/weight")
                    session.settle()
            assert session.step_count == 12
            states.append(session.states())
    for name, array in states[0].items():
        np.testing.assert_array_equal(states[1][name], array, err_msg=name)


@on_devices
def test_looking_while_steps_are_under_way(device: str):
    with munet.Session.open(xor(), device) as session:
        for seen, event in enumerate(session.train(2000)):
            if seen < 3 and isinstance(event, munet.Progress):
                session.settle()
                assert session.look("bend.y")["bend.y"].shape == (4, 8)
                assert session.gradients().norms["one/weight"] >= 0
        assert session.step_count == 2000


def test_samples_are_spread_over_the_held_out_ones_and_always_the_same():
    with munet.Session.open(spiral(), "cpu") as session:
        everything, some = session.samples(), session.samples(12)
        assert everything["arms.x"].shape == (39, 2) and some["arms.x"].shape == (12, 2)
        assert set(some["arms.label"]) == {0, 1, 2}
        np.testing.assert_array_equal(session.samples(12)["arms.x"], some["arms.x"])
        rows = [int(np.argmax((everything["arms.x"] == point).all(axis=1))) for point in some["arms.x"]]
        np.testing.assert_array_equal(everything["arms.label"][rows], some["arms.label"])


@on_devices
def test_what_sockets_hold_is_what_predicting_gives(device: str):
    with munet.Session.open(spiral(), device) as session:
        finish(session, 3)
        found = session.look(["two.y", "arms.label", "two.y"], samples=17)  # two batches of 7, and 3
        assert list(found) == ["two.y", "arms.label"]
        samples = session.samples(17)
        np.testing.assert_array_equal(found["arms.label"], samples["arms.label"])
        np.testing.assert_allclose(found["two.y"], session.predict({"arms": samples["arms.x"]})["two.y"], rtol=1e-5, atol=1e-6)
        assert session.look("two.y", samples=1000)["two.y"].shape == (39, 3)


def test_tensors_of_a_node_can_be_asked_for():
    with munet.Session.open(spiral(), "cpu") as session:
        tensors = {tensor.name: tensor for tensor in session.tensors("one")}
        assert [(t.kind, t.shape, t.socket) for t in tensors.values()] == [
            ("input", (7, 2), "x"), ("output", (7, 16), "y"), ("parameter", (16, 2), ""), ("parameter", (16,), ""),
        ]  # fmt: skip
        for tensor in tensors.values():
            found = session.look(tensor.name)[tensor.name] if tensor.socket else session.state(tensor.name)
            assert found.shape[1:] == tensor.shape[1:] and str(found.dtype) == "float32"
        assert {t.kind for t in session.tensors("learn")} == {"input", "state"}
        assert session.tensors("nobody") == ()


def test_dropout_is_on_in_gradients_and_running_statistics_stay():
    nodes = {
        "arms": ("spiral", {"batch": 20}), "one": ("Linear", {"out_features": 64}), "norm": "BatchNorm",
        "drop": ("Dropout", {"p": 0.5}), "two": ("Linear", {"out_features": 3}), "error": "cross_entropy", "learn": "Adam",
    }  # fmt: skip
    wires = ("arms.x -> one.x", "one.y -> norm.x", "norm.y -> drop.x", "drop.y -> two.x", "two.y -> error.logits")
    graph = drawing(nodes, *wires, "arms.label -> error.label", "error.loss -> learn.loss")
    with munet.Session.open(graph, "cpu") as session:
        finish(session, 2)
        before = session.states()
        into = session.gradients("norm.y").values["norm.y"]
        assert 0.3 < (into == 0).mean() < 0.7
        np.testing.assert_array_equal(into == 0, session.tap("drop", "y") == 0)  # of the same step
        for name, array in session.states().items():
            np.testing.assert_array_equal(array, before[name], err_msg=name)


def test_gradients_go_on_with_another_drawing_and_programs_are_given_back():
    with munet.Session.open(spiral(), "cpu") as session:
        session.gradients()
        wider = replace(spiral().nodes["arms"], params={"batch": 9, "points": 13, "noise": 0.3})
        session.replace(replace(spiral(), nodes={**spiral().nodes, "arms": wider}))
        expected = by_hand(session)
        for name in (*expected, "error.loss", "two.y"):
            found = session.gradients(name).values[name]
            if name in expected:
                np.testing.assert_allclose(found, expected[name], rtol=2e-4, atol=2e-6, err_msg=name)
        for name in list(expected)[:4]:
            session.gradients([name, "two.y"])
        programs = session.executor._loaded  # pyright: ignore[reportAttributeAccessIssue]
        loaded = [name for name in programs if name.startswith("gradients")]
        assert len(loaded) == KEPT


def test_what_has_no_gradient_is_named():
    with munet.Session.open(spiral(), "cpu") as session:
        for name in ("arms.x", "nobody.y", "right.accuracy"):
            with pytest.raises(ProjectError, match="two/weight") as caught:
                session.gradients(name)
            assert caught.value.problems[0].code == "no-such-gradient"
        with pytest.raises(ProjectError, match="nobody"):
            session.look("nobody.y")


def test_a_subgraphs_instance_has_its_own_tensors_and_gradients():
    inner = drawing(
        {
            "in": ("subgraph_input", {"socket": "x"}), "fc": ("Linear", {"out_features": 5}),
            "out": ("subgraph_output", {"socket": "y"}),
        },
        "in.y -> fc.x", "fc.y -> out.x",
    )  # fmt: skip
    outer = drawing(
        {
            "points": "xor", "a": ("subgraph", {"graph": "half"}), "two": ("Linear", {"out_features": 1}),
            "error": "mse_loss", "learn": "SGD",
        },
        "points.x -> a.x", "a.y -> two.x", "two.y -> error.prediction", "points.y -> error.target", "error.loss -> learn.loss",
    )  # fmt: skip
    with munet.Session.open(replace(outer, subgraphs={"half": inner}), "cpu") as session:
        found = session.gradients("a.y")
        np.testing.assert_array_equal(found.values["a.y"], session.gradients("a/fc.y").values["a/fc.y"])
        nodes = found.by_node()
        assert set(nodes) == {"a", "a/fc", "two"} and nodes["a"] == nodes["a/fc"] > 0
        assert [t.name for t in session.tensors("a")] == ["a.y", "a/fc/weight", "a/fc/bias"]
        assert session.look("a.y")["a.y"].shape == (4, 5)
