"""A layer of one's own: a residual block that owns its parameters and is put together from operators.

python examples/own_layer.py [steps]
"""

from __future__ import annotations

import math
import sys
from itertools import pairwise

import munet
from munet import Edge, Graph, Node
from munet.declare import Builder, Initial, Input, Param, Value, layer
from munet.nodes.activations import relu
from munet.nodes.linear import matmul


@layer(
    "ResidualBlock",
    category="Layers",
    inputs={"x": Input("*batch in", "T:float")},
    params={"hidden": Param(64, min=1, doc="features between the two products")},
)
def residual_block(b: Builder, x: Value, hidden: int) -> Value:
    """x + W₂ relu(W₁ x + b₁): starts as the identity, since W₂ starts at 0."""
    features = x.shape[-1]
    bound = 1 / math.sqrt(features)
    first = b.parameter("first", (features, hidden), Initial("uniform", (-bound, bound)))
    bias = b.parameter("bias", (hidden,), Initial("zeros"))
    second = b.parameter("second", (hidden, features), Initial("zeros"))
    return x + matmul(relu(matmul(x, first) + bias), second)


def network(blocks: int) -> Graph:
    names = [f"block {number + 1}" for number in range(blocks)]
    nodes = [
        Node("flowers", "iris"),
        Node("widen", "Linear", {"out_features": 16}),
        *(Node(name, "ResidualBlock", {"hidden": 32}) for name in names),
        Node("classes", "Linear", {"out_features": 3}),
        Node("loss", "cross_entropy"),
        Node("accuracy", "accuracy"),
        Node("learn", "Adam", {"lr": 0.01}),
    ]
    line = ["widen", *names, "classes"]
    wires = [Edge("flowers", "x", "widen", "x")]
    wires += [Edge(source, "y", target, "x") for source, target in pairwise(line)]
    wires += [Edge("classes", "y", name, "logits") for name in ("loss", "accuracy")]
    wires += [Edge("flowers", "label", name, "label") for name in ("loss", "accuracy")]
    wires += [Edge("loss", "loss", "learn", "loss")]
    return Graph("iris", {node.id: node for node in nodes}, tuple(wires))


def main(steps: int = 200) -> None:
    graph = network(blocks=3)
    for node in munet.inspect.costs(graph).nodes:
        print(f"{node.node:10} {node.operator:14} {node.output:10} {node.parameters:6,} parameters")
    with munet.Session.open(graph) as session:
        session.step(steps)
        print(f"after {steps} steps:", session.evaluate())


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
