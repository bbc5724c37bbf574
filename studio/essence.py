"""What of a drawing matters to the session: its structure, which has to be compiled, and its live values, which do not.

Not where nodes lie, nor notes and frames. A live parameter that is 0 unless changed is compiled in only when it is not 0, so
switching it on or off is a matter of structure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from munet import Graph, Node, ProjectError
from munet.inspect import LiveParameter, live_parameters
from studio.edits import REROUTE
from studio.nodeviews import declaration_of

Socket = tuple[str, str]  # node and name


@dataclass(frozen=True, eq=False)
class Essence:
    """`live` by "node.param", with paths of nodes as the session names them."""

    structure: object
    live: Mapping[str, LiveParameter]

    def needs_compile(self, before: Essence | None) -> bool:
        return before is None or before.structure != self.structure


def essence_of(graph: Graph) -> Essence:
    try:
        live = {param.key: param for param in live_parameters(graph)}
    except ProjectError:  # it cannot be run either
        live = {}
    return Essence(_structure(graph, graph), live)


class Essences:
    """The essence of the graph asked for last is remembered: graphs never change, and it is asked for in every frame."""

    def __init__(self) -> None:
        self._graph: Graph | None = None
        self._found = Essence(None, {})

    def of(self, graph: Graph) -> Essence:
        if self._graph is None or not _differ_in_places(self._graph, graph):
            self._found = essence_of(graph)
        self._graph = graph
        return self._found


def _differ_in_places(one: Graph, other: Graph) -> bool:
    """Whether two drawings differ, if at all, in where nodes lie and in notes: what dragging does, many times a second."""
    if one is other:
        return True
    if one.edges is not other.edges or one.subgraphs is not other.subgraphs or one.run != other.run:
        return False
    if len(one.nodes) != len(other.nodes):
        return False
    pairs = zip(one.nodes.values(), other.nodes.values(), strict=True)
    return all(a is b or all(getattr(a, name) == getattr(b, name) for name in _MATTERS) for a, b in pairs)


_MATTERS = tuple(field.name for field in fields(Node) if field.name not in ("position", "note"))


def _structure(part: Graph, root: Graph) -> object:
    nodes = tuple(_fixed(node, root) for node in part.nodes.values() if node.operator != REROUTE)
    parts = tuple((name, _structure(inner, root)) for name, inner in sorted(part.subgraphs.items()))
    return (nodes, _wires(part), parts, part.run)


def _wires(part: Graph) -> Mapping[Socket, tuple[Socket, ...]]:
    """What each socket gets, in order; a bend gives what it gets, so that wires may be laid otherwise while it trains."""
    given: dict[Socket, list[Socket]] = {}
    for edge in part.edges:
        given.setdefault((edge.target, edge.target_socket), []).append((edge.source, edge.source_socket))
    bends = {id_: given.pop((id_, "x"), []) for id_, node in part.nodes.items() if node.operator == REROUTE}

    def behind(source: Socket) -> Socket:
        seen = set[str]()
        while source[0] not in seen and bends.get(source[0]):
            seen.add(source[0])
            source = bends[source[0]][0]
        return source

    return {socket: tuple(map(behind, sources)) for socket, sources in given.items()}


def _fixed(node: Node, root: Graph) -> Node:
    """The node without what may change while it trains."""
    declared = declaration_of(root, node)
    params = dict(node.params)
    for param in declared.params if declared is not None else ():
        if param.live:
            value = params.pop(param.name, param.default)
            if param.default == 0:
                params[param.name] = value != 0
    return replace(node, params=params, position=(0.0, 0.0), note="")
