"""Graph, Node and Edge: what the user drew, as plain frozen data.

Nodes and sockets are named, never numbered. A subgraph is a `Graph` of its own that a node of the kind
`subgraph` names; the root graph holds the definitions. Nothing here knows what an operator means.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Node:
    """One box of the drawing. `operator` names a declaration; params not given take their declared defaults."""

    id: str
    operator: str
    params: Mapping[str, Any] = field(default_factory=dict)
    position: tuple[float, float] = (0.0, 0.0)
    version: int = 1  # of the operator's meaning when the node was saved
    muted: bool = False
    note: str = ""
    frozen: bool = False  # its parameters stay as they are: no optimiser updates them


@dataclass(frozen=True)
class Edge:
    """A wire from an output socket to an input socket. Several edges may end in one variadic socket; they keep their order."""

    source: str
    source_socket: str
    target: str
    target_socket: str


@dataclass(frozen=True)
class Run:
    """How the project is run when nothing else is said."""

    steps: int = 1000
    seed: int = 0
    evaluate_every: int = 0  # steps between evaluations on the held-out split; 0 = only at the end
    checkpoint_every: int = 0  # steps between checkpoints; 0 = only at the end
    accumulate: int = 1  # batches whose gradients are averaged for one update; a step stays one batch
    judged_by: str = "loss"  # metric of the held-out split that tells which state is best
    keep_best: bool = False  # also keep the checkpoint with the best metric
    patience: int = 0  # evaluations in a row without a better metric after which the run ends; 0 = it never does
    initial_weights: str = ""  # checkpoint or safetensors file whose parameters the run starts from, by name and shape


@dataclass(frozen=True)
class Frame:
    """A titled rectangle drawn behind nodes; no meaning for the engine."""

    title: str
    position: tuple[float, float]
    size: tuple[float, float]
    color: str = ""
    note: str = ""


@dataclass(frozen=True)
class Graph:
    """The drawing: nodes by id in file order, edges in file order, subgraph definitions by name."""

    name: str = ""
    nodes: Mapping[str, Node] = field(default_factory=dict)
    edges: tuple[Edge, ...] = ()
    subgraphs: Mapping[str, Graph] = field(default_factory=dict)
    frames: tuple[Frame, ...] = ()
    run: Run = Run()
    note: str = ""

    def edges_into(self, node: str) -> tuple[Edge, ...]:
        return tuple(edge for edge in self.edges if edge.target == node)
