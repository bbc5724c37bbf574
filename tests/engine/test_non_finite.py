"""A number that is not finite stops training at once: nothing after it counts, and the node that gave it is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from munet.engine.builder import Builder
from munet.engine.declaring import layer
from munet.engine.errors import MunetError, NonFiniteError
from munet.engine.graph import Edge, Graph, Node
from munet.engine.ir.module import Initial, Value
from munet.engine.operator import Input
from munet.engine.session import Session
from munet.nodes.reductions import mean


@layer("test_drift", category="", inputs={"x": Input("n c", "T:float")})
def drift(b: Builder, x: Value) -> Value:
    """A parameter that starts at 1, added to what comes in."""
    return x * 1e-30 + b.parameter("w", (1, 1), Initial("ones"))


@layer(
    "test_total",
    category="",
    inputs={"x": Input("*any", "T:float"), "y": Input("*any", "T:float")},
    outputs=("loss",),
    role="loss",
)
def total(b: Builder, x: Value, y: Value) -> Value:
    """mean(x + y / 10^30): its gradient in x is 1 / n, whatever finite y is. (Drivers may take y * 0 for 0.)"""
    return mean(x + y * 1e-30)


def falling(rate: float) -> Graph:
    """w falls by `rate` a step; below 0 its logarithm, deep inside a fused kernel, is not a number."""
    nodes = [
        Node("data", "xor"),
        Node("drift", "test_drift"),
        Node("middle", "log"),
        Node("after", "tanh"),
        Node("loss", "test_total"),
        Node("descent", "SGD", {"lr": rate}),
    ]
    edges = (
        Edge("data", "x", "drift", "x"),
        Edge("drift", "y", "middle", "x"),
        Edge("middle", "y", "after", "x"),
        Edge("drift", "y", "loss", "x"),
        Edge("after", "y", "loss", "y"),
        Edge("loss", "loss", "descent", "loss"),
    )
    return Graph("falling", {node.id: node for node in nodes}, edges)


@pytest.mark.parametrize("device", ["cpu", "vulkan"])
def test_the_guilty_node_and_step_are_named_and_nothing_moved(device: str) -> None:
    graph = falling(1 / 35.5)  # positive up to step 36, negative when step 37 reads it
    with Session.open(graph, device=device) as session, Session.open(graph, device=device) as before:
        with pytest.raises(NonFiniteError) as caught:
            for _ in session.train(100):
                pass
        assert (caught.value.step, caught.value.node, caught.value.operator) == (37, "middle", "log")
        assert "log gives NaN" in str(caught.value) and "after step 36" in str(caught.value)
        assert session.step_count == 36
        for _ in before.train(36):
            pass
        expected, found = before.states(), session.states()
        assert expected.keys() == found.keys()
        for name, array in expected.items():
            np.testing.assert_array_equal(found[name], array, err_msg=name)


@pytest.mark.parametrize("device", ["cpu", "vulkan"])
def test_training_goes_on_from_a_checkpoint(device: str, tmp_path: Path) -> None:
    with Session.open(falling(1 / 35.5), device=device) as session:
        for _ in session.train(20):
            pass
        session.save(tmp_path / "before.safetensors")
        with pytest.raises(NonFiniteError):
            for _ in session.train(80):
                pass
        session.load(tmp_path / "before.safetensors")
        session.set("descent", "lr", 1e-3)
        for _ in session.train(80):
            pass
        assert session.step_count == 100
        assert session.loss is not None and np.isfinite(session.loss)


def test_a_failure_in_the_last_step_of_a_submit_is_not_missed() -> None:
    with Session.open(falling(1 / 35.5), device="vulkan") as session:
        for _ in session.train(36):
            pass
        with pytest.raises(NonFiniteError, match="step 37"):
            for _ in session.train(1):
                pass


@pytest.mark.parametrize("device", ["cpu", "vulkan"])
def test_a_state_that_is_not_finite_itself_is_named(device: str) -> None:
    """As an update leaves it that overflows, or a checkpoint brings it."""
    with Session.open(falling(0.1), device=device) as session:
        place = session.program.state_placement("drift/w")
        session.executor.write(place.buffer, np.full(1, np.inf, np.float32), offset_bytes=place.offset_bytes)
        with pytest.raises(NonFiniteError, match='"drift/w" came into it with infinity in 1 of 1 elements') as caught:
            for _ in session.train(5):
                pass
    assert (caught.value.step, caught.value.node) == (1, "drift")


def test_a_rate_beyond_f32_is_refused_by_name() -> None:
    with Session.open(falling(0.1), device="cpu") as session, pytest.raises(MunetError, match=r"lr is 1e\+300"):
        session.set("descent", "lr", 1e300)
