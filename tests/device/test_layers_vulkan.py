"""Whole training steps of the layers on a Vulkan device beside the NumPy reference: forward, gradients, updates, evaluation.

Plain SGD, because Adam turns the last bits of a gradient near 0 into whole steps.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import munet
from munet.engine.graph import Graph
from tests.engine.drawings import drawing

pytestmark = [pytest.mark.device, pytest.mark.usefixtures("environment")]
STEPS = 3
SGD = ("SGD", {"lr": 0.1, "momentum": 0.5, "clip_norm": 0.7, "clip_value": 0.2, "ema": 0.9})


def chain(source: str, params: dict[str, Any], first: str, last: str, *nodes: Any) -> Graph:
    """Nodes one after the other between a source and cross entropy, trained by SGD."""
    names = [f"node {i}" for i in range(len(nodes))]
    made = {"data": (source, params), **dict(zip(names, nodes, strict=True)), "loss": "cross_entropy", "sgd": SGD}
    wires = [f"data.{first} -> {names[0]}.x", *(f"{a}.y -> {b}.x" for a, b in pairwise(names))]
    wires += [f"{names[-1]}.y -> loss.logits", f"data.{last} -> loss.label", "loss.loss -> sgd.loss"]
    return drawing(made, *wires)


def image_net() -> Graph:
    return chain(
        "digits", {"batch": 7}, "image", "label",
        "Normalise", ("RandomShift", {"reach": 2}), ("GaussianNoise", {"deviation": 0.05}),
        ("Conv2d", {"out_channels": 6, "stride": 2, "padding": 1, "bias": False}), "BatchNorm", "gelu",
        ("Conv2d", {"out_channels": 6, "padding": 1, "groups": 6}), ("GroupNorm", {"groups": 3}), "mish",
        ("avg_pool2d", {"kernel": (3, 3), "padding": (1, 1), "count_include_pad": False}),
        ("ConvTranspose2d", {"out_channels": 4}), ("InstanceNorm", {"affine": True}), ("PReLU", {"slopes": "channels"}),
        ("resize", {"size": (9, 11)}), ("resize", {"size": (5, 4), "mode": "nearest"}), ("max_pool2d", {"stride": (1, 1)}),
        ("Dropout", {"p": 0.3}), "flatten", ("Linear", {"out_features": 16}), "RMSNorm", "elu", ("Linear", {"out_features": 10}),
    )  # fmt: skip


def language_net() -> Graph:
    return chain(
        "text", {"length": 11, "every": 97, "batch": 5}, "x", "y",
        ("Embedding", {"count": 61, "width": 12}), "PositionalEmbedding", ("TransformerBlock", {"heads": 3, "dropout": 0.2}),
        ("MultiHeadAttention", {"heads": 2, "dropout": 0.1}), "LayerNorm", ("Linear", {"out_features": 61}),
    )  # fmt: skip


def table_net() -> Graph:
    return chain(
        "iris", {"batch": 9}, "x", "label",
        ("Siren", {"out_features": 12, "first": True, "omega": 3.0}), ("GLU", {}), "selu", ("LayerNorm", {"bias": False}),
        ("stack", {"axis": 1}), ("Conv1d", {"out_channels": 3, "padding": 1}), ("avg_pool1d", {"kernel": 3}),
        ("flip", {"axis": -1}),
        "flatten", "BatchNorm", "hard_swish", ("Linear", {"out_features": 3}),
    )  # fmt: skip


@pytest.mark.parametrize("make", [image_net, language_net, table_net])
def test_training_is_that_of_the_reference(make: Any):
    graph = make()
    found: list[tuple[dict[str, float], dict[str, Any], dict[str, float]]] = []
    for device in ("cpu", "auto"):
        with munet.Session.open(graph, device, seed=5, poison=True) as session:
            for _ in session.train(STEPS):
                pass
            found.append((dict(session.metrics), session.states(), session.evaluate() if make is not image_net else {}))
    (metrics, states, evaluated), (ours, our_states, our_evaluated) = found
    assert ours == pytest.approx(metrics, rel=2e-5)
    assert our_evaluated == pytest.approx(evaluated, rel=2e-5)
    assert states.keys() == our_states.keys()
    for name, expected in states.items():
        largest = float(np.abs(expected.astype(np.float64)).max(initial=0))
        np.testing.assert_allclose(our_states[name], expected, rtol=2e-4, atol=1e-4 * largest + 1e-7, err_msg=name)
    assert any(name.endswith("/ema") for name in states)
