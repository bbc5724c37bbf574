"""The plateau schedule against its rule in plain Python, step by step, on both executors; and what it does to a resumed run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from munet.engine.graph import Edge, Graph, Node, Run
from munet.engine.session import Session

RATE, FACTOR, PATIENCE, THRESHOLD, SMOOTHING = 0.02, 0.5, 4, 0.05, 0.5


def drawing() -> Graph:
    nodes = [
        Node("points", "xor"),
        Node("one", "Linear", {"out_features": 4}),
        Node("bend", "tanh"),
        Node("two", "Linear", {"out_features": 1}),
        Node("loss", "mse_loss"),
        Node(
            "plateau",
            "plateau",
            {"rate": RATE, "factor": FACTOR, "patience": PATIENCE, "threshold": THRESHOLD, "smoothing": SMOOTHING, "warmup": 3},
        ),
        Node("descent", "SGD"),
    ]
    edges = (
        Edge("points", "x", "one", "x"),
        Edge("one", "y", "bend", "x"),
        Edge("bend", "y", "two", "x"),
        Edge("two", "y", "loss", "prediction"),
        Edge("points", "y", "loss", "target"),
        Edge("loss", "loss", "plateau", "loss"),
        Edge("loss", "loss", "descent", "loss"),
        Edge("plateau", "rate", "descent", "rate"),
    )
    return Graph("plateau", {node.id: node for node in nodes}, edges, run=Run(seed=3))


def scales(losses: list[float]) -> list[float]:
    """The rule, in double precision: the scale after each step."""
    mean, best, bad, scale = None, float("inf"), 0, 1.0
    found = []
    for loss in losses:
        mean = loss if mean is None else SMOOTHING * mean + (1 - SMOOTHING) * loss
        if mean < best * (1 - THRESHOLD) or best == float("inf"):
            best, bad = mean, 0
        else:
            bad += 1
            if bad >= PATIENCE:
                best, bad, scale = mean, 0, scale * FACTOR
        found.append(scale)
    return found


@pytest.mark.parametrize("device", ["cpu", "vulkan"])
def test_it_follows_its_rule(device: str) -> None:
    losses: list[float] = []
    found: list[float] = []
    with Session.open(drawing(), device=device) as session:
        for _ in range(40):
            for _ in session.train(1):
                pass
            assert session.loss is not None
            losses.append(session.loss)
            found.append(float(session.state("plateau/scale")))
    assert found == scales(losses)
    assert found[-1] < 0.3  # it did cut, several times
    assert np.all(np.diff(found) <= 0)


def test_a_resumed_run_goes_on_as_if_nothing_had_been(tmp_path: Path) -> None:
    with Session.open(drawing(), device="vulkan") as whole, Session.open(drawing(), device="vulkan") as part:
        for _ in whole.train(40):
            pass
        for _ in part.train(17):
            pass
        part.save(tmp_path / "half.safetensors")
        expected = whole.states()
    with Session.open(drawing(), device="vulkan") as rest:
        rest.load(tmp_path / "half.safetensors")
        for _ in rest.train(23):
            pass
        for name, array in rest.states().items():
            np.testing.assert_array_equal(array, expected[name], err_msg=name)
