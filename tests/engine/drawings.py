"""Small drawings for tests, written as text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from munet.data import fashion
from munet.engine.graph import Edge, Graph, Node

ALL_PROJECTS = sorted((Path(__file__).resolve().parents[2] / "projects").glob("*.json"))
# Fashion-MNIST does not ship: its project is only looked at where Debian's package is installed.
PROJECTS = [path for path in ALL_PROJECTS if path.stem != "fashion_convnet" or Path(fashion.DEBIAN).is_dir()]


NO_MORE: tuple[Any, Any] = ({}, {})  # params and further fields that are not given


def drawing(nodes: Mapping[str, Any], *wires: str) -> Graph:
    """Nodes as id -> operator, or (operator, params), or (operator, params, further fields); wires as in a project file."""
    made: dict[str, Node] = {}
    for id_, what in nodes.items():
        parts: list[Any] = [what] if isinstance(what, str) else list(what)
        operator, params, more = [*parts, *NO_MORE][:3]
        made[id_] = Node(id_, operator, params, **more)
    ends = [wire.split(" -> ") for wire in wires]
    return Graph(nodes=made, edges=tuple(Edge(*source.split("."), *target.split(".")) for source, target in ends))
