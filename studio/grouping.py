"""Subgraphs made from a selection, and taken apart again; neither changes what the drawing computes."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import networkx as nx

from munet import Edge, Graph, Node, id_fault, interface
from studio import edits
from studio.document import State, selected
from studio.edits import BORDERS, INPUT, OUTPUT, PARAMETER, SUBGRAPH, EditRefused

GAP = 240.0  # between a border node and what lies beside it
ABOVE = 130.0  # a parameter that is given out lies so much above its node

SocketOf = tuple[str, str]


def collapse(state: State, ids: Collection[str], name: str) -> State:
    """The nodes become the subgraph `name`; each socket that was wired to the outside becomes one of the instance."""
    part = state.part
    chosen = {id_: node for id_, node in part.nodes.items() if id_ in ids}
    _check_collapse(state, chosen, name)
    inputs, outputs, inner = _borders(part, chosen)
    xs, ys = zip(*(node.position for node in chosen.values()), strict=True)
    centre = (sum(xs) / len(xs), sum(ys) / len(ys))
    nodes = dict(chosen)
    for row, (id_, socket) in enumerate(inputs.values()):
        nodes[id_] = Node(id_, INPUT, {"socket": socket}, (min(xs) - GAP, min(ys) + 90.0 * row))
    for row, (id_, socket) in enumerate(outputs.values()):
        nodes[id_] = Node(id_, OUTPUT, {"socket": socket}, (max(xs) + GAP, min(ys) + 90.0 * row))
    definition = Graph(name=name, nodes=nodes, edges=inner)
    instance = edits.fresh_id([id_ for id_ in part.nodes if id_ not in chosen], name)
    rest = {id_: node for id_, node in part.nodes.items() if id_ not in chosen}
    around = _nodes_with(part, chosen, Node(instance, SUBGRAPH, {"graph": name}, centre), rest)
    edges = _outer_edges(part, chosen, instance, inputs, outputs)
    with_it = replace(state, graph=replace(state.graph, subgraphs={**state.graph.subgraphs, name: definition}))
    after = with_it.with_part(replace(with_it.part, nodes=around, edges=edges), selected([instance]))
    return after.with_moves(state, {(id_,): (instance, id_) for id_ in chosen})


def _nodes_with(part: Graph, chosen: Collection[str], instance: Node, rest: dict[str, Node]) -> dict[str, Node]:
    """The instance stands where the first of the chosen stood."""
    nodes: dict[str, Node] = {}
    for id_ in part.nodes:
        if id_ in rest:
            nodes[id_] = rest[id_]
        elif instance.id not in nodes:
            nodes[instance.id] = instance
    return nodes


def _check_collapse(state: State, chosen: dict[str, Node], name: str) -> None:
    if not chosen:
        raise EditRefused("nothing is selected", cure="select some nodes first")
    fault = id_fault(name) or ("is taken" if name in state.graph.subgraphs else "")
    if fault:
        raise EditRefused(f'the name "{name[:60]}" {fault}', cure="another name")
    border = next((node for node in chosen.values() if node.operator in BORDERS), None)
    if border is not None:
        found = f'"{border.id}" is a part of this subgraph\'s border'
        raise EditRefused(found, cure="leave it out of the selection", node=border.id)
    between = _between(state.part, chosen)
    if between:
        found = f'"{between}" lies between the selected nodes'
        raise EditRefused(found, "a subgraph may not read its own results", "select it as well", between)


def _between(part: Graph, chosen: Collection[str]) -> str:
    """A node outside that lies on a way from the chosen nodes back to them; "" if there is none."""
    drawing: Any = nx.DiGraph()
    drawing.add_edges_from((edge.source, edge.target) for edge in part.edges)
    outside = drawing.subgraph([id_ for id_ in drawing if id_ not in chosen])
    after = {e.target for e in part.edges if e.source in chosen and e.target not in chosen}
    before = {e.source for e in part.edges if e.target in chosen and e.source not in chosen}
    reached = set(after)
    for id_ in after:
        reached |= nx.descendants(outside, id_)
    return next((id_ for id_ in part.nodes if id_ in reached and id_ in before), "")


Named = dict[SocketOf, tuple[str, str]]  # outer source or inner source -> id of the border node, its socket


def _borders(part: Graph, chosen: Collection[str]) -> tuple[Named, Named, tuple[Edge, ...]]:
    """Inputs by what is wired to them, outputs by what they give out, and the wires inside in their old order."""
    inputs: Named = {}
    outputs: Named = {}
    inner: list[Edge] = []
    taken = set(chosen)
    in_names: set[str] = set()
    out_names: set[str] = set()
    for edge in part.edges:
        source = (edge.source, edge.source_socket)
        if edge.source in chosen and edge.target in chosen:
            inner.append(edge)
        elif edge.target in chosen:
            if source not in inputs:
                inputs[source] = _border("in", edge.target_socket, taken, in_names)
            inner.append(Edge(inputs[source][0], "y", edge.target, edge.target_socket))
        elif edge.source in chosen and source not in outputs:
            outputs[source] = _border("out", edge.source_socket, taken, out_names)
            inner.append(Edge(*source, outputs[source][0], "x"))
    return inputs, outputs, tuple(inner)


def _border(kind: str, socket: str, taken: set[str], names: set[str]) -> tuple[str, str]:
    name, number = socket, 2
    while name in names:
        name, number = f"{socket}_{number}", number + 1
    names.add(name)
    id_ = edits.fresh_id(taken, f"{kind} {name}")
    taken.add(id_)
    return id_, name


def _outer_edges(part: Graph, chosen: Collection[str], instance: str, inputs: Named, outputs: Named) -> tuple[Edge, ...]:
    edges: dict[Edge, None] = {}
    for edge in part.edges:
        source = (edge.source, edge.source_socket)
        if edge.source in chosen and edge.target in chosen:
            continue
        if edge.target in chosen:
            edge = Edge(*source, instance, inputs[source][1])
        elif edge.source in chosen:
            edge = Edge(instance, outputs[source][1], edge.target, edge.target_socket)
        edges[edge] = None
    return tuple(edges)


def expand(state: State, id_: str) -> State:
    """See `subgraph_commands.Expand`. The definition stays: other nodes may use it, and it can be placed again."""
    part = state.part
    node = part.nodes.get(id_)
    definition = state.graph.subgraphs.get(str(node.params.get("graph"))) if node is not None else None
    if node is None or node.operator != SUBGRAPH or definition is None:
        raise EditRefused(f'"{id_}" is no subgraph')
    face = interface(definition)
    inside = {key: inner for key, inner in definition.nodes.items() if inner.operator not in BORDERS}
    for promoted in face.params:
        for target, param in promoted.targets:
            if promoted.name in node.params and target in inside:
                params = {**inside[target].params, param: node.params[promoted.name]}
                inside[target] = replace(inside[target], params=params)
    ids = _free_ids(part, id_, inside)
    dx, dy = _shift(node, inside)
    placed = {
        ids[key]: replace(
            inner,
            id=ids[key],
            position=(inner.position[0] + dx, inner.position[1] + dy),
            frozen=inner.frozen or node.frozen,
            muted=inner.muted,
        )
        for key, inner in inside.items()
    }
    nodes: dict[str, Node] = {}
    for key, old in part.nodes.items():
        nodes |= placed if key == id_ else {key: old}
    edges = _spliced(part, definition, id_, ids)
    frames = tuple(replace(f, position=(f.position[0] + dx, f.position[1] + dy)) for f in definition.frames)
    after = state.with_part(replace(part, nodes=nodes, edges=edges, frames=(*part.frames, *frames)), selected(ids.values()))
    return after.with_moves(state, {(id_, key): (new,) for key, new in ids.items()})


def _free_ids(part: Graph, instance: str, inside: Collection[str]) -> dict[str, str]:
    taken = set(part.nodes) - {instance}
    ids: dict[str, str] = {}
    for key in inside:
        ids[key] = edits.fresh_id(taken, key)
        taken.add(ids[key])
    return ids


def _shift(node: Node, inside: dict[str, Node]) -> tuple[float, float]:
    """So that the nodes lie around where the instance stood."""
    if not inside:
        return 0.0, 0.0
    xs, ys = zip(*(inner.position for inner in inside.values()), strict=True)
    return node.position[0] - sum(xs) / len(xs), node.position[1] - sum(ys) / len(ys)


def _spliced(part: Graph, definition: Graph, instance: str, ids: dict[str, str]) -> tuple[Edge, ...]:
    """Wires of the drawing and of the definition joined at the border; what a border does not join is dropped."""
    outer = {edge.target_socket: (edge.source, edge.source_socket) for edge in part.edges if edge.target == instance}
    given = {n.id: str(n.params.get("socket", "x")) for n in definition.nodes.values() if n.operator == INPUT}
    made = {n.id: str(n.params.get("socket", "y")) for n in definition.nodes.values() if n.operator == OUTPUT}

    def source_of(edge: Edge) -> SocketOf | None:
        if edge.source in given:
            return outer.get(given[edge.source])
        return (ids[edge.source], edge.source_socket) if edge.source in ids else None

    results: dict[str, SocketOf] = {}
    inner: list[Edge] = []
    for edge in definition.edges:
        source = source_of(edge)
        if source is None:
            continue
        if edge.target in made:
            results[made[edge.target]] = source
        elif edge.target in ids:
            inner.append(Edge(*source, ids[edge.target], edge.target_socket))
    edges: list[Edge] = []
    for edge in part.edges:
        if edge.source == instance and edge.target != instance:
            if edge.source_socket in results:
                edges.append(Edge(*results[edge.source_socket], edge.target, edge.target_socket))
        elif edge.target != instance:
            edges.append(edge)
    return tuple(dict.fromkeys([*edges, *inner]))


def promote(state: State, node: str, param: str, name: str) -> State:
    """See `subgraph_commands.Promote`."""
    part = state.part
    if not state.owner:
        raise EditRefused("this drawing is no subgraph", "parameters are given out of subgraphs", "collapse the nodes first")
    if node not in part.nodes:
        raise EditRefused(f'there is no node "{node}"')
    if not name.isidentifier() or name == "graph":
        raise EditRefused(f'"{name[:60]}" cannot be a parameter\'s name', "letters, digits and _, and not graph", "another name")
    for other in part.nodes.values():
        if other.operator == PARAMETER and (other.params.get("node"), other.params.get("param")) == (node, param):
            raise EditRefused(f'{param} of "{node}" is given out already, as {other.params.get("name")}')
    x, y = part.nodes[node].position
    id_ = edits.fresh_id(part.nodes, name)
    added = Node(id_, PARAMETER, {"name": name, "node": node, "param": param}, (x, y - ABOVE))
    return state.with_part(edits.add(part, [added]))


def given_out(part: Graph, node: str) -> dict[str, str]:
    """Parameters of a node that its subgraph gives out, and under which names."""
    borders = (n for n in part.nodes.values() if n.operator == PARAMETER and n.params.get("node") == node)
    return {str(border.params.get("param")): str(border.params.get("name")) for border in borders}


def set_outside(state: State, node: str, param: str) -> tuple[Any, str] | None:
    """The value that a parameter of a node of the drawing shown is given from outside, and the instance that gives it; None where
    the node's own value holds. Of instances around each other the outermost one decides."""
    parts, part = [state.graph], state.graph
    for id_ in state.inside:
        part = state.graph.subgraphs[str(part.nodes[id_].params.get("graph"))]
        parts.append(part)
    found: tuple[Any, str] | None = None
    for depth in range(len(state.inside), 0, -1):
        name = given_out(parts[depth], node).get(param)
        if name is None:
            break
        instance = parts[depth - 1].nodes[state.inside[depth - 1]]
        if name in instance.params:
            found = instance.params[name], instance.id
        node, param = instance.id, name
    return found


def name_for(part: Graph, node: str, param: str) -> str:
    """A free name under which a parameter may be given out: its own, else with the node's before it."""
    taken = {str(n.params.get("name")) for n in part.nodes.values() if n.operator == PARAMETER}
    if param not in taken and param != "graph":
        return param
    stem = re.sub(r"\W+", "_", node).strip("_")
    base = f"{stem}_{param}" if stem and not stem[0].isdigit() else f"p_{stem}_{param}"
    name, number = base, 2
    while name in taken:
        name, number = f"{base}_{number}", number + 1
    return name


def take_back(state: State, node: str, param: str) -> State:
    """See `subgraph_commands.TakeBack`."""
    part = state.part
    borders = {
        n.id: str(n.params.get("name"))
        for n in part.nodes.values()
        if n.operator == PARAMETER and (n.params.get("node"), n.params.get("param")) == (node, param)
    }
    if not borders:
        raise EditRefused(f'{param} of "{node}" is not given out')
    owner = state.owner
    after = state.with_part(edits.remove(part, borders), state.selection)
    left = {promoted.name for promoted in interface(after.part).params}
    gone = set(borders.values()) - left
    return replace(after, graph=_without_values(after.graph, owner, gone)) if gone else after


def _without_values(graph: Graph, owner: str, gone: Collection[str]) -> Graph:
    """Instances of a subgraph without values of parameters that it no longer gives out."""

    def cleaned(part: Graph) -> Graph:
        instances = [n for n in part.nodes.values() if n.operator == SUBGRAPH and n.params.get("graph") == owner]
        changed = {n.id: replace(n, params={k: v for k, v in n.params.items() if k not in gone}) for n in instances}
        return edits.with_nodes(part, changed)

    parts = {name: cleaned(part) for name, part in graph.subgraphs.items()}
    return replace(cleaned(graph), subgraphs=parts)
