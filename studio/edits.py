"""Pure edits: a drawing in, the changed drawing out. Nothing is changed in place, nothing is checked that lowering checks.

What would break the file form (ids, edges without nodes, a subgraph in itself) is refused with EditRefused and changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from munet import Edge, Frame, Graph, Node, Problem, id_fault

SUBGRAPH = "subgraph"
INPUT, OUTPUT, PARAMETER, REROUTE = "subgraph_input", "subgraph_output", "subgraph_parameter", "reroute"
BORDERS = (INPUT, OUTPUT, PARAMETER)

_NUMBERED = re.compile(r"^(.*?)\s*\d*$")


class EditRefused(Exception):
    """An edit that cannot be made; `problem` says why and what to do instead."""

    def __init__(self, found: str, rule: str = "", cure: str = "", node: str = ""):
        self.problem = Problem("edit-refused", found, rule, cure, node=node)
        super().__init__(str(self.problem))


def fresh_id(taken: Collection[str], wanted: str) -> str:
    """`wanted`, or with the next free number behind it: "relu", "relu 2"; "conv 1" gives "conv 2"."""
    if wanted not in taken:
        return wanted
    match = _NUMBERED.match(wanted)
    base = (match.group(1) if match else "") or wanted
    number = 2
    while f"{base} {number}" in taken:
        number += 1
    return f"{base} {number}"


def add(part: Graph, nodes: Iterable[Node] = (), edges: Iterable[Edge] = (), frames: Iterable[Frame] = ()) -> Graph:
    """With more in it; nodes must have ids of their own."""
    added = {node.id: node for node in nodes}
    for id_ in added:
        check_id(part, id_)
    all_nodes = {**part.nodes, **added}
    known = set(part.edges)
    new = tuple(dict.fromkeys(edge for edge in edges if edge not in known))
    for edge in new:
        if edge.source not in all_nodes or edge.target not in all_nodes:
            raise EditRefused("a wire needs a node at both ends")
    return replace(part, nodes=all_nodes, edges=(*part.edges, *new), frames=(*part.frames, *frames))


def check_id(part: Graph, id_: str) -> None:
    """Raises EditRefused for an id that is taken or that a file cannot hold."""
    fault = id_fault(id_)
    if fault:
        raise EditRefused(f'the name "{id_[:60]}" {fault}', cure="another name")
    if id_ in part.nodes:
        raise EditRefused(f'there is a node "{id_}" already', cure="another name")


def remove(
    part: Graph, ids: Collection[str], edges: Collection[Edge] = (), frames: Collection[int] = (), *, bridge: bool = False
) -> Graph:
    """Without these nodes, all wires at them, these wires and frames (by index).

    `bridge`: what read from a removed node now reads from what was wired to that node's first input.
    """
    gone = set(ids)
    kept: list[Edge] = []
    for edge in part.edges:
        if edge in edges or edge.target in gone:
            continue
        if edge.source not in gone:
            kept.append(edge)
        elif bridge:
            upstream = _upstream(part, edge, gone)
            if upstream is not None:
                kept.append(replace(edge, source=upstream.source, source_socket=upstream.source_socket))
    nodes = {id_: node for id_, node in part.nodes.items() if id_ not in gone}
    left = tuple(frame for index, frame in enumerate(part.frames) if index not in frames)
    return replace(part, nodes=nodes, edges=tuple(dict.fromkeys(kept)), frames=left)


def _upstream(part: Graph, edge: Edge, gone: Collection[str]) -> Edge | None:
    """The wire from a node that stays into the chain of removed nodes that ends in `edge`."""
    passed: set[str] = set()
    while edge.source in gone:
        if edge.source in passed:
            return None
        passed.add(edge.source)
        into = next((other for other in part.edges if other.target == edge.source), None)
        if into is None:
            return None
        edge = into
    return edge


def change(part: Graph, ids: Collection[str], **fields: Any) -> Graph:
    """Fields of nodes set to these values."""
    return with_nodes(part, {id_: replace(part.nodes[id_], **fields) for id_ in ids if id_ in part.nodes})


def with_nodes(part: Graph, nodes: Mapping[str, Node]) -> Graph:
    """Nodes replaced, each in its place; the same drawing if nothing differs."""
    changed = {id_: node for id_, node in nodes.items() if part.nodes.get(id_) != node}
    return replace(part, nodes={**part.nodes, **changed}) if changed else part


def set_param(part: Graph, ids: Collection[str], name: str, value: Any) -> Graph:
    """`value` None takes the parameter back to its default."""
    changed: dict[str, Node] = {}
    for id_ in ids:
        node = part.nodes.get(id_)
        if node is None:
            continue
        params = {key: old for key, old in node.params.items() if key != name or value is not None}
        if value is not None:
            params[name] = tuple(value) if isinstance(value, list) else value
        changed[id_] = replace(node, params=params)
    return with_nodes(part, changed)


def place(part: Graph, positions: Mapping[str, tuple[float, float]]) -> Graph:
    """Nodes at these positions."""
    return with_nodes(part, {id_: replace(part.nodes[id_], position=at) for id_, at in positions.items() if id_ in part.nodes})


def move(part: Graph, ids: Collection[str], frames: Collection[int], dx: float, dy: float) -> Graph:
    """Nodes and frames moved."""
    moved = place(part, {id_: _shifted(part.nodes[id_].position, dx, dy) for id_ in ids if id_ in part.nodes})
    if not frames:
        return moved
    shifted = (replace(f, position=_shifted(f.position, dx, dy)) if i in frames else f for i, f in enumerate(part.frames))
    return replace(moved, frames=tuple(shifted))


def _shifted(position: tuple[float, float], dx: float, dy: float) -> tuple[float, float]:
    return (position[0] + dx, position[1] + dy)


def rename(part: Graph, old: str, new: str) -> Graph:
    """A node under another id, in its place; wires and promoted parameters follow."""
    if old == new:
        return part
    check_id(part, new)
    nodes: dict[str, Node] = {}
    for id_, node in part.nodes.items():
        if id_ == old:
            node = replace(node, id=new)
        elif node.operator == PARAMETER and node.params.get("node") == old:
            node = replace(node, params={**node.params, "node": new})
        nodes[node.id] = node
    edges = tuple(
        replace(e, source=new if e.source == old else e.source, target=new if e.target == old else e.target) for e in part.edges
    )
    return replace(part, nodes=nodes, edges=edges)


def connect(part: Graph, edge: Edge, *, variadic: bool = False, replaces: Edge | None = None) -> Graph:
    """With a wire more. It takes the place of `replaces`, a wire that is re-dragged, and of what is at a socket for one."""
    if edge.source not in part.nodes or edge.target not in part.nodes:
        raise EditRefused("a wire needs a node at both ends")
    if edge == replaces or (edge in part.edges and replaces is None):
        return part
    edges: list[Edge] = []
    placed = False
    for old in part.edges:
        same_end = (old.target, old.target_socket) == (edge.target, edge.target_socket)
        if old in (replaces, edge) or (same_end and not variadic):
            edges += [] if placed else [edge]
            placed = True
        else:
            edges.append(old)
    return replace(part, edges=tuple(edges if placed else [*edges, edge]))


def insert_on_wire(part: Graph, node: str, edge: Edge, into: str, out: str) -> Graph:
    """`edge` now leads through a node: into its input `into`, on from its output `out`. Wires the node had there go."""
    if edge not in part.edges:
        raise EditRefused("there is no such wire any more")
    if node in (edge.source, edge.target):
        raise EditRefused(f'"{node}" is at an end of this wire already')
    before = Edge(edge.source, edge.source_socket, node, into)
    after = Edge(node, out, edge.target, edge.target_socket)
    edges: list[Edge] = []
    for old in part.edges:
        if old == edge:
            edges += [before, after]
        elif (old.target, old.target_socket) != (node, into):
            edges.append(old)
    return replace(part, edges=tuple(dict.fromkeys(edges)))


def edit_frame(part: Graph, index: int, **fields: Any) -> Graph:
    frames = tuple(replace(f, **fields) if i == index else f for i, f in enumerate(part.frames))
    return replace(part, frames=frames)


# -- subgraphs -------------------------------------------------------------------------------------------------------------


def uses(graph: Graph, name: str) -> set[str]:
    """Names of the subgraphs that a subgraph holds, directly or through others; itself included."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        current = waiting.pop()
        if current in found or current not in graph.subgraphs:
            continue
        found.add(current)
        waiting += [str(n.params.get("graph")) for n in graph.subgraphs[current].nodes.values() if n.operator == SUBGRAPH]
    return found


def users(graph: Graph, names: Collection[str]) -> set[str]:
    """Names of the subgraphs that hold one of these, directly or through others; these included."""
    holders: dict[str, list[str]] = {}
    for name, part in graph.subgraphs.items():
        for node in part.nodes.values():
            if node.operator == SUBGRAPH:
                holders.setdefault(str(node.params.get("graph")), []).append(name)
    found, waiting = set[str](), list(names)
    while waiting:
        current = waiting.pop()
        if current not in found:
            found.add(current)
            waiting += holders.get(current, ())
    return found


def check_recursion(graph: Graph, owner: str, nodes: Iterable[Node]) -> None:
    """Raises EditRefused if the subgraph `owner` ("" for the root) would come to hold itself with these nodes."""
    holding = users(graph, {owner}) if owner else set[str]()
    for node in nodes:
        name = str(node.params.get("graph", ""))
        if node.operator == SUBGRAPH and name in holding:
            cure = "expand it first, or paste into another drawing"
            raise EditRefused(f'"{name}" holds "{owner}"', "a subgraph may not contain itself", cure, node.id)


def rename_subgraph(graph: Graph, old: str, new: str) -> Graph:
    """A definition under another name; all its instances follow."""
    fault = id_fault(new) or ("is taken" if new in graph.subgraphs and new != old else "")
    if fault:
        raise EditRefused(f'the name "{new[:60]}" {fault}', cure="another name")

    def followed(part: Graph) -> Graph:
        instances = [n for n in part.nodes.values() if n.operator == SUBGRAPH and n.params.get("graph") == old]
        return with_nodes(part, {n.id: replace(n, params={**n.params, "graph": new}) for n in instances})

    named = {new if key == old else key: part for key, part in graph.subgraphs.items()}
    parts = {key: replace(followed(part), name=key) for key, part in named.items()}
    return replace(followed(graph), subgraphs=parts)
