"""Randomness in the graph: new numbers in every step, the same after a restart, and none outside of training."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from munet.engine import philox
from munet.engine.graph import Edge, Graph, Node
from munet.engine.hostscalar import StepContext
from munet.engine.initial import draw
from munet.engine.ir.evaluate import evaluate
from munet.engine.lower import lower
from munet.engine.operator import Array
from munet.nodes.samples import normal
from tests.nodes.torch_judge import run_node

SHAPE = (53, 41)


def drawn(name: str, x: Array | None, steps: int, seed: int = 3, **params: Any) -> list[Array]:
    """A node's results step by step."""
    operators = [Node("data", "regression", {"count": 4, "batch": 4}), Node("layer", "Linear", {"out_features": 1})]
    nodes = [*operators, Node("node", name, params), Node("loss", "mse_loss"), Node("sgd", "SGD")]
    wires = [Edge("data", "x", "layer", "x"), Edge("layer", "y", "loss", "prediction"), Edge("data", "y", "loss", "target")]
    wires.append(Edge("loss", "loss", "sgd", "loss"))
    lowered = lower(Graph("test", {node.id: node for node in nodes}, tuple(wires)))
    module = replace(lowered.module, outputs={"y": lowered.shapes["node", "y"]})
    sources = {
        s.name: draw(s, seed) if s.role == "state" else np.zeros(s.value.shape, s.value.dtype.host) for s in module.sources
    }
    found: list[Array] = []
    for step in range(steps):
        row = [scalar.value(StepContext(step, dict(lowered.live))) for scalar in lowered.scalars]
        sources["scalars"] = np.broadcast_to(np.array(row, np.float32), (1024, len(row)))
        outputs, states = evaluate(module, sources)
        sources |= states
        found.append(outputs["y"])
    return found


def test_each_step_and_each_seed_draws_anew():
    first, second, third = drawn("uniform", None, 3, shape=SHAPE)
    assert len({first.tobytes(), second.tobytes(), third.tobytes()}) == 3
    again = drawn("uniform", None, 3, shape=SHAPE)
    assert [a.tobytes() for a in again] == [a.tobytes() for a in (first, second, third)]
    assert (drawn("uniform", None, 1, seed=4, shape=SHAPE)[0] != first).any()
    key = philox.stream_key(3, ("node",))
    assert (first.reshape(-1) == philox.uniform(key, 0, first.size)).all()
    assert (second.reshape(-1) == philox.uniform(key, 1, first.size)).all()


def test_distributions():
    (numbers,) = drawn("uniform", None, 1, shape=SHAPE, low=-2.0, high=3.0)
    assert numbers.min() >= -2
    assert numbers.max() < 3
    assert numbers.mean() == pytest.approx(0.5, abs=0.1)
    (numbers,) = drawn("normal", None, 1, shape=SHAPE, mean=1.0, deviation=0.5)
    assert (numbers.mean(), numbers.std()) == (pytest.approx(1.0, abs=0.05), pytest.approx(0.5, abs=0.03))


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout(p: float):
    x = normal(*SHAPE)
    ours = run_node("Dropout", [x], {"p": p})
    kept = ours.result != 0
    assert kept.mean() == pytest.approx(1 - p, abs=0.03)
    np.testing.assert_allclose(ours.result[kept], x[kept] / (1 - p), rtol=1e-6)
    np.testing.assert_allclose(ours.grads["0"], np.where(kept, ours.weight / (1 - p), 0), rtol=1e-6)
    assert (run_node("Dropout", [x], {"p": p}, training=False).result == x).all()


def test_dropout_at_its_ends():
    x = normal(*SHAPE)
    assert (run_node("Dropout", [x], {"p": 0.0}).result == x).all()
    assert (run_node("Dropout", [x], {"p": 1.0}).result == 0).all()


def test_noise_and_chance():
    x = normal(*SHAPE)
    noise = run_node("GaussianNoise", [x], {"deviation": 0.3}).result - x
    assert noise.std() == pytest.approx(0.3, abs=0.02)
    assert (run_node("GaussianNoise", [x], {}, training=False).result == x).all()
    chance = np.broadcast_to(np.linspace(0, 1, 41), SHAPE)
    ones = run_node("bernoulli", [chance], {}).result
    assert set(np.unique(ones)) == {0.0, 1.0}
    assert (ones[:, 0] == 0).all()
    assert ones.mean() == pytest.approx(0.5, abs=0.03)


def test_images_are_shifted_by_whole_pixels():
    x = np.arange(1.0, 1 + 40 * 2 * 5 * 7).reshape(40, 2, 5, 7)
    ours = run_node("RandomShift", [x], {"reach": 2})
    padded = np.pad(x, [(0, 0), (0, 0), (2, 2), (2, 2)])
    offsets: set[tuple[int, int]] = set()
    for before, after in zip(padded, ours.result, strict=True):
        places = [(i, j) for i in range(5) for j in range(5) if (before[:, i : i + 5, j : j + 7] == after).all()]
        assert len(places) == 1
        offsets.add(places[0])
    assert len(offsets) > 12  # of 25
    assert (run_node("RandomShift", [x], {}, training=False).result == x).all()
