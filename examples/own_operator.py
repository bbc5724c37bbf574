"""An operator of one's own: its meaning in NumPy, its formula for the GPU, its gradient. Then it is a node like any other.

python examples/own_operator.py [steps]
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

import munet
from munet.declare import Array, Elementwise, Grads, Input, Output, Param, Sample, Value, operator
from munet.nodes.arithmetic import cos, sin

PROJECT = Path(__file__).resolve().parents[1] / "projects" / "spiral_mlp.json"


@operator(
    "snake",
    category="Activations",
    inputs={"x": Input("*any", "T:float")},
    params={"a": Param(1.0, positive=True, doc="how fast it winds")},
    outputs={"y": Output("*any")},
    kernel=Elementwise("x + sin(a * x) * sin(a * x) / a"),
    samples=[Sample({"x": [-3.0, -0.5, 0.25, 2.0]})],
)
def snake(x: Array, a: float) -> Array:
    """x + sin²(a x) / a: monotone, but winding, for what repeats (Ziyin and others 2020)."""
    return x + np.sin(a * x) ** 2 / a


@snake.gradient
def snake_gradient(g: Value, x: Value, a: float) -> Grads:
    return {"x": g * (1 + 2 * sin(a * x) * cos(a * x))}


def main(steps: int = 300) -> None:
    graph = munet.load_project(PROJECT)
    changed = {name: replace(node, operator="snake") for name, node in graph.nodes.items() if node.operator == "relu"}
    graph = replace(graph, nodes={**graph.nodes, **changed})
    with munet.Session.open(graph) as session:
        session.step(steps)
        print(f"with snake after {steps} steps:", session.evaluate())
        # It is fused like any other: no pass of its own.
        print(*(p.name for p in session.passes if "relu 1" in p.nodes), sep="\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
