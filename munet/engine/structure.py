"""What a drawing tells before any shape is known: in which order its nodes run, and what is wrong with it.

All faults of operators, parameters, sockets, wires and cycles are found at once, each at its node. What cannot be lowered
because of them is left out of the order, so that shapes are still checked everywhere else.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import networkx as nx

from munet.engine.errors import Problem, ShapeError
from munet.engine.graph import Edge, Graph, Node
from munet.engine.operator import REGISTRY, Declaration, Relay

LONG_CYCLE = 10  # nodes of a cycle that are named before the rest is left out
LOOK_UPS = 1000  # searches for a close name in one drawing: half a second

Wires = Mapping[str, tuple[Edge, ...]]


@dataclass(frozen=True)
class Structure:
    """`order`: sound nodes, each after all it reads, otherwise as in the file. `wires`: edges by the node they lead into."""

    order: tuple[Node, ...]
    wires: Wires
    problems: tuple[Problem, ...]


def examine(graph: Graph) -> Structure:
    """The structure of a graph; problems stand in the order of the file."""
    _close.cache_clear()
    wires: dict[str, list[Edge]] = {}
    for edge in graph.edges:
        wires.setdefault(edge.target, []).append(edge)
    problems = [_lost_edge(edge) for edge in graph.edges if edge.target not in graph.nodes]
    for node in graph.nodes.values():
        problems += [problem.at(node=node.id) for problem in _node_problems(graph, node, wires.get(node.id, ()))]
    sound = set(graph.nodes) - {problem.node for problem in problems}
    cycles, looping = _cycles(graph)
    drawing = _drawing(graph, sound - looping)
    position = {name: place for place, name in enumerate(graph.nodes)}
    order = nx.lexicographical_topological_sort(drawing, key=position.__getitem__)
    return Structure(
        tuple(graph.nodes[name] for name in order),
        {name: tuple(edges) for name, edges in wires.items()},
        tuple(sorted([*problems, *cycles], key=lambda problem: position.get(problem.node, -1))),
    )


def _drawing(graph: Graph, names: set[str]) -> Any:
    drawing = nx.DiGraph()
    drawing.add_nodes_from(name for name in graph.nodes if name in names)
    drawing.add_edges_from((e.source, e.target) for e in graph.edges if e.source in names and e.target in names)
    return drawing


# -- one node --------------------------------------------------------------------------------------------------------------


def _node_problems(graph: Graph, node: Node, edges: Sequence[Edge]) -> Iterator[Problem]:
    declared = REGISTRY.get(node.operator)
    if declared is None:
        yield _unknown_operator(node)
        return
    if isinstance(declared, Relay):
        return  # `subgraphs.py` has said what is wrong with it
    if node.version > declared.version:
        found = f"saved with version {node.version} of {declared.name}, but this munet-studio has version {declared.version}"
        yield Problem(
            "newer-node", found, rule="a node can be read by the version that saved it or a later one", cure="update munet-studio"
        )
        return  # its parameters and sockets may rightly be others
    if not node.muted:
        yield from _param_problems(node, declared)
    yield from _wire_problems(graph, node, declared, edges)


def _unknown_operator(node: Node) -> Problem:
    close = [name for name in REGISTRY if name.lower() == node.operator.lower()] or _close(node.operator[:60], tuple(REGISTRY))
    cure = " or ".join(f'"{name}"' for name in close) or "`munet operators` for the list"
    return Problem("unknown-operator", f'there is no operator "{_short(node.operator)}"', cure=cure)


def _param_problems(node: Node, declared: Declaration) -> Iterator[Problem]:
    for name, value in node.params.items():
        if name not in declared.params:
            yield _unknown("parameter", name, declared, declared.params)
            continue
        try:
            declared.params[name].check(name, value)
        except ShapeError as error:
            yield error.problem


def _wire_problems(graph: Graph, node: Node, declared: Declaration, edges: Sequence[Edge]) -> Iterator[Problem]:
    ends: dict[str, list[Edge]] = {}
    for edge in edges:
        ends.setdefault(edge.target_socket, []).append(edge)
        yield from _source_problems(graph, edge)
    for socket, wires in ends.items():
        if socket not in declared.inputs:
            yield _unknown("input", socket, declared, declared.inputs)
        elif len(wires) > 1 and not declared.inputs[socket].variadic:
            names = ", ".join(f'"{edge.source}.{edge.source_socket}"' for edge in wires)
            found = f"{len(wires)} wires end here, from {names}"
            yield Problem("two-wires", found, rule=f"{socket} takes one wire", cure="remove all but one", socket=socket)
    if node.muted:
        if declared.outputs and not edges:
            rule = "a muted node hands its first input on"
            yield Problem("muted-source", "it is muted, but has nothing to hand on", rule=rule, cure="unmute it")
        return
    for socket, needed in declared.inputs.items():
        if not needed.optional and socket not in ends:
            found = f"nothing is wired to {socket}"
            doc = f", {needed.doc}" if needed.doc else ""
            yield Problem(
                "missing-input", found, rule=f"{declared.name} needs {socket}{doc}", cure=f"a wire to {socket}", socket=socket
            )


def _source_problems(graph: Graph, edge: Edge) -> Iterator[Problem]:
    """What is wrong at the other end of a wire into the node."""
    node = graph.nodes.get(edge.source)
    if node is None:
        found = f'a wire comes from "{_short(edge.source)}", but there is no such node'
        yield Problem("edge-unknown-node", found, cure="remove the wire", socket=edge.target_socket)
        return
    source = REGISTRY.get(node.operator)
    if source is not None and not isinstance(source, Relay) and edge.source_socket not in source.outputs:
        found = f'a wire comes from "{edge.source}.{_short(edge.source_socket)}", but {source.name} has no such output'
        rule = f"its outputs: {', '.join(source.outputs)}" if source.outputs else f"{source.name} has no outputs"
        cure = _closest(edge.source_socket, source.outputs)
        yield Problem("unknown-socket", found, rule=rule, cure=cure, socket=edge.target_socket)


def _lost_edge(edge: Edge) -> Problem:
    found = f'a wire from "{_short(edge.source)}" leads to "{_short(edge.target)}", but there is no such node'
    return Problem("edge-unknown-node", found, cure="remove the wire")


def _unknown(what: str, name: str, declared: Declaration, known: Iterable[str]) -> Problem:
    rule = f"its {what}s: {', '.join(known)}" if known else f"{declared.name} has no {what}s"
    cure = _closest(name, known) or f"remove {'it' if what == 'parameter' else 'the wire'}"
    code = "unknown-parameter" if what == "parameter" else "unknown-socket"
    return Problem(code, f'{declared.name} has no {what} "{_short(name)}"', rule=rule, cure=cure, socket=_short(name))


def _closest(name: str, known: Iterable[str]) -> str:
    known = tuple(known)
    close = _close(name[:60], known) or (known if len(known) == 1 else ())
    return f'"{close[0]}"' if close else ""


@cache
def _close(name: str, known: tuple[str, ...]) -> Sequence[str]:
    """Names much like it, the closest first. Searching is slow: only a drawing's first strange names are looked up."""
    return difflib.get_close_matches(name, known, n=3, cutoff=0.7) if _close.cache_info().misses < LOOK_UPS else ()


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


# -- cycles ----------------------------------------------------------------------------------------------------------------


def _cycles(graph: Graph) -> tuple[list[Problem], set[str]]:
    """One problem for each knot of nodes that reach each other, at its first node in the file; and all nodes of knots."""
    drawing = _drawing(graph, set(graph.nodes))
    problems: list[Problem] = []
    looping: set[str] = set()
    for knot in nx.strongly_connected_components(drawing):
        if len(knot) > 1 or any(drawing.has_edge(name, name) for name in knot):
            looping |= knot
            problems.append(_cycle_problem(_shortest_cycle(_drawing(graph, knot))))
    return problems, looping


def _shortest_cycle(knot: Any) -> list[str]:
    """A shortest cycle through the knot's first node, which stands at both ends."""
    first = next(iter(knot))
    ways = [[first, *nx.shortest_path(knot, after, first)] for after in knot.successors(first)]
    return min(ways, key=len)


def _cycle_problem(cycle: Sequence[str]) -> Problem:
    names = [f'"{name}"' for name in cycle]
    if len(names) > LONG_CYCLE:
        names = [*names[: LONG_CYCLE - 2], f"... {len(names) - LONG_CYCLE + 1} more", *names[-1:]]
    rule = "wires lead forward: nothing may depend on its own result within a step"
    return Problem("cycle", f"{' -> '.join(names)} is a cycle", rule=rule, cure="remove one of these wires", node=cycle[0])
