"""Whether a project file can hold a graph, without writing its text: as many values and bytes as reading allows (`strict_json`).

For editors, which ask after each edit: 1 ms for 1,000 nodes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from munet.engine.graph import Graph, Node
from munet.engine.project import MAX_BYTES
from munet.engine.strict_json import MAX_VALUES

_PROJECT, _DRAWING, _NODE, _FRAME, _FIELD = 80, 14, 10, 11, 2  # values of each, of a project and a drawing at the most
_VALUE_BYTES = 12  # of a number with what stands around it, or of a key


def too_large(graph: Graph) -> str:
    """What is too much for a file, "" if nothing is. Counts a few more values than there will be, not fewer."""
    parts = (graph, *graph.subgraphs.values())
    nodes = [node for part in parts for node in part.nodes.values()]
    values = _PROJECT + sum(_DRAWING + len(part.edges) + (_FRAME + 2 * _FIELD) * len(part.frames) for part in parts)
    values += sum(map(_values_of, nodes))
    if values > MAX_VALUES:
        return f"a project file holds at most {MAX_VALUES:,} values, and these would be about {values:,}"
    size = _VALUE_BYTES * values + sum(map(_text_of, nodes)) + sum(map(_edge_and_notes, parts))
    if size > MAX_BYTES:
        return f"a project file has at most {MAX_BYTES:,} bytes, and these would be about {size:,}"
    return ""


def _values_of(node: Node) -> int:
    optional = (node.version != 1) + bool(node.params) + node.muted + bool(node.note) + node.frozen
    return _NODE + _FIELD * optional + (_values_in(node.params) if node.params else 0)


def _values_in(value: Any) -> int:
    """As reading counts: brackets that open, colons, commas."""
    if isinstance(value, Mapping):
        return max(1, 2 * len(value)) + sum(map(_values_in, value.values()))
    if isinstance(value, list | tuple):
        return max(1, len(value)) + sum(map(_values_in, value))
    return 2 if isinstance(value, float) and not math.isfinite(value) else 0


def _text_of(node: Node) -> int:
    return _bytes(node.id) + _bytes(node.note) + sum(_bytes(value) for value in node.params.values() if isinstance(value, str))


def _edge_and_notes(part: Graph) -> int:
    edges = sum(_bytes(edge.source) + _bytes(edge.target) + 40 for edge in part.edges)
    return edges + _bytes(part.note) + sum(_bytes(frame.title) + _bytes(frame.note) for frame in part.frames)


def _bytes(words: str) -> int:
    return len(words) if words.isascii() else len(words.encode(errors="replace"))
