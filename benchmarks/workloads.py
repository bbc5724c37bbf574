"""What is measured: small drawings with made-up data, the same for MuNet and for PyTorch.

Each batch is the whole data set, so that both see the same samples in every step. Parameters are drawn by MuNet and copied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from munet import Edge, Graph, Node


@dataclass(frozen=True)
class Workload:
    """`draw(file, batch)` is the project; `peer` names the model of peers.py; `steps`: of one timed stretch at most."""

    key: str
    title: str
    peer: str
    optimiser: str
    rate: float
    inputs: tuple[int, ...]  # shape of a sample; of whole numbers below `classes` if `tokens`
    targets: tuple[int, ...]
    classes: int  # 0: targets are floats
    batch: int
    draw: Callable[[Workload, str], Graph]
    tokens: bool = False
    steps: int = 2000

    @property
    def loss(self) -> str:
        return "cross_entropy" if self.classes else "mse_loss"

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """x and y of the whole data set."""
        rng = np.random.default_rng(7)
        x_shape, y_shape = (self.batch, *self.inputs), (self.batch, *self.targets)
        if self.tokens:
            x = rng.integers(0, self.classes, x_shape, dtype=np.int32)
        else:
            x = rng.standard_normal(x_shape, dtype=np.float32)
        if self.classes:
            return x, rng.integers(0, self.classes, y_shape, dtype=np.int32)
        return x, rng.standard_normal(y_shape, dtype=np.float32)

    def project(self, folder: Path) -> Graph:
        """The drawing, with its data in a file of `folder`."""
        path = folder / f"{self.key}.npz"
        x, y = self.arrays()
        np.savez(path, x=x, y=y)
        return self.draw(self, str(path))


def _finished(work: Workload, file: str, nodes: Sequence[Node], first: str, last: str, wires: Sequence[str]) -> Graph:
    """Adds source, loss and optimiser to a network that begins and ends at these nodes."""
    target = "label" if work.classes else "target"
    output = "logits" if work.classes else "prediction"
    ends = [Node("data", "npz", {"file": file, "batch": work.batch, "held_out": 0.0})]
    ends += [Node("loss", work.loss), Node("optimiser", work.optimiser, {"lr": work.rate})]
    edges = [f"data.x -> {first}.x", *wires, f"{last}.y -> loss.{output}", f"data.y -> loss.{target}"]
    parts = [line.split(" -> ") for line in (*edges, "loss.loss -> optimiser.loss")]
    return Graph(
        nodes={node.id: node for node in (*ends, *nodes)},
        edges=tuple(Edge(*source.rsplit(".", 1), *target.rsplit(".", 1)) for source, target in parts),
    )


def _chain(nodes: Sequence[Node]) -> list[str]:
    return [f"{a.id}.y -> {b.id}.x" for a, b in pairwise(nodes)]


def mlp(*widths: int) -> Callable[[Workload, str], Graph]:
    """Linear layers of these widths with ReLU between."""

    def draw(work: Workload, file: str) -> Graph:
        nodes = [Node("linear 0", "Linear", {"out_features": widths[0]})]
        for i, width in enumerate(widths[1:], start=1):
            nodes += [Node(f"relu {i}", "relu"), Node(f"linear {i}", "Linear", {"out_features": width})]
        return _finished(work, file, nodes, nodes[0].id, nodes[-1].id, _chain(nodes))

    return draw


def lenet(work: Workload, file: str) -> Graph:
    """LeNet-5: 6 and 16 channels of 5 x 5, max pooling, 120-84-10."""
    nodes = []
    for i, channels in enumerate((6, 16)):
        nodes += [Node(f"conv {i}", "Conv2d", {"out_channels": channels, "kernel": (5, 5)})]
        nodes += [Node(f"relu c{i}", "relu"), Node(f"pool {i}", "max_pool2d")]
    nodes.append(Node("flat", "flatten"))
    for i, width in enumerate((120, 84)):
        nodes += [Node(f"linear {i}", "Linear", {"out_features": width}), Node(f"relu {i}", "relu")]
    nodes.append(Node("linear 2", "Linear", {"out_features": work.classes}))
    return _finished(work, file, nodes, nodes[0].id, nodes[-1].id, _chain(nodes))


def gpt(work: Workload, file: str) -> Graph:
    """Four blocks of GPT-2, width 256, 4 heads, no dropout."""
    nodes = [Node("letters", "Embedding", {"count": work.classes, "width": 256, "deviation": 0.02})]
    nodes += [Node("positions", "PositionalEmbedding")]
    nodes += [Node(f"block {i}", "TransformerBlock", {"heads": 4}) for i in range(4)]
    nodes += [Node("norm", "LayerNorm"), Node("next", "Linear", {"out_features": work.classes})]
    return _finished(work, file, nodes, nodes[0].id, nodes[-1].id, _chain(nodes))


GPU = (
    Workload("mlp16", "MLP 4-16-2, ReLU, batch 32, SGD", "mlp16", "SGD", 0.03, (4,), (2,), 0, 32, mlp(16, 2), steps=20_000),
    Workload(
        "mlp64", "MLP 64-64-64-64-64, ReLU, batch 65536, Adam", "mlp64", "Adam", 1e-3, (64,), (64,), 0, 65536, mlp(64, 64, 64, 64)
    ),
    Workload("lenet100", "LeNet-5, batch 100, Adam", "lenet", "Adam", 1e-3, (1, 28, 28), (), 10, 100, lenet),
    Workload("lenet1024", "LeNet-5, batch 1024, Adam", "lenet", "Adam", 1e-3, (1, 28, 28), (), 10, 1024, lenet),
    Workload(
        "gpt", "GPT, 4 layers, width 256, 4 heads, 32 x 128 tokens, Adam",
        "gpt", "Adam", 1e-3, (128,), (128,), 96, 32, gpt, tokens=True, steps=200,
    ),
)  # fmt: skip

PROCESSOR = (
    Workload("cpu16", "MLP 4-16-2, batch 32, SGD", "cpu16", "SGD", 0.03, (4,), (2,), 0, 32, mlp(16, 2), steps=4000),
    Workload("cpu128", "MLP 4-128-2, batch 256, SGD", "cpu128", "SGD", 0.03, (4,), (2,), 0, 256, mlp(128, 2), steps=120),
    Workload("cpu512", "MLP 4-512-2, batch 1024, SGD", "cpu512", "SGD", 0.03, (4,), (2,), 0, 1024, mlp(512, 2), steps=16),
)
