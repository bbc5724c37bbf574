"""Graph -> the same graph without subgraphs and bends: every instance is replaced by a copy of what its subgraph holds.

A node inside gets the path of its instances before its id: "block 1/conv". Its states are named by that path, so every instance
has its own; problems name it too. Parameters that the subgraph gives out are taken from the instance.

What is wrong with instances and borders is reported here, at their nodes. Such a node stays in the graph as a relay without
results, so that nothing behind it is reported as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from munet.engine.errors import Problem
from munet.engine.graph import Edge, Graph, Node
from munet.engine.project_model import SUBGRAPH_OPERATOR, SUBGRAPH_PARAM

INPUT, OUTPUT, PARAMETER, REROUTE = "subgraph_input", "subgraph_output", "subgraph_parameter", "reroute"
RELAYS = (SUBGRAPH_OPERATOR, INPUT, OUTPUT, PARAMETER, REROUTE)
# (inputs, outputs) of relays whose sockets are always the same
SOCKETS = {INPUT: ((), ("y",)), OUTPUT: (("x",), ()), PARAMETER: ((), ()), REROUTE: (("x",), ("y",))}
MAX_NODES = 20_000  # of a graph with all subgraphs expanded: a few small definitions can stand for millions
MAX_DEPTH = 32

SocketOf = tuple[str, str]  # node, socket


@dataclass(frozen=True)
class Border:
    """An input or output of a subgraph: `name` is its socket outside, `node` the node inside, `ends` what that is wired to."""

    name: str
    node: str
    optional: bool = False
    doc: str = ""
    ends: tuple[SocketOf, ...] = ()


@dataclass(frozen=True)
class Promoted:
    """A parameter that a subgraph gives out, and the (node, parameter) pairs inside that it sets."""

    name: str
    targets: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Interface:
    """What an instance of a subgraph looks like from outside; in the order of the definition's nodes."""

    inputs: tuple[Border, ...] = ()
    outputs: tuple[Border, ...] = ()
    params: tuple[Promoted, ...] = ()


@dataclass(frozen=True)
class Flat:
    """`order` holds all paths, those of nodes that are gone included; `behind` says what an output of these stands for."""

    graph: Graph
    problems: tuple[Problem, ...] = ()
    order: tuple[str, ...] = ()
    behind: Mapping[SocketOf, SocketOf] = field(default_factory=dict)


def interface(definition: Graph) -> Interface:
    """Sockets and parameters of a subgraph's instances."""
    sources: dict[str, list[SocketOf]] = {}
    targets: dict[str, list[SocketOf]] = {}
    for edge in definition.edges:
        targets.setdefault(edge.source, []).append((edge.target, edge.target_socket))
        sources.setdefault(edge.target, []).append((edge.source, edge.source_socket))
    inputs: list[Border] = []
    outputs: list[Border] = []
    promoted: dict[str, list[tuple[str, str]]] = {}
    for node in definition.nodes.values():
        params, doc = node.params, str(node.params.get("doc", ""))
        if node.operator == INPUT:
            ends = tuple(targets.get(node.id, ()))
            inputs.append(Border(str(params.get("socket", "x")), node.id, params.get("optional") is True, doc, ends))
        elif node.operator == OUTPUT:
            outputs.append(Border(str(params.get("socket", "y")), node.id, False, doc, tuple(sources.get(node.id, ()))))
        elif node.operator == PARAMETER:
            target = (str(params.get("node", "")), str(params.get("param", "")))
            promoted.setdefault(str(params.get("name", "")), []).append(target)
    given = tuple(Promoted(name, tuple(targets)) for name, targets in promoted.items())
    return Interface(tuple(inputs), tuple(outputs), given)


def flatten(graph: Graph) -> Flat:
    """The graph without relays; the very same graph if it has none."""
    if not any(node.operator in RELAYS for node in graph.nodes.values()):
        return Flat(graph, order=tuple(graph.nodes))
    return _Flattening(graph).run()


def promoted_targets(graph: Graph, node: str, param: str) -> list[tuple[str, str]]:
    """The (path, parameter) pairs that a parameter of an instance at the root sets, through subgraphs in subgraphs."""
    found: list[tuple[str, str]] = []
    waiting = [(graph.nodes.get(node), node, param, 0)]
    while waiting:
        instance, path, name, depth = waiting.pop(0)
        if instance is None or instance.operator != SUBGRAPH_OPERATOR or depth > MAX_DEPTH:
            found += [(path, name)] if instance is not None else []
            continue
        definition = graph.subgraphs.get(str(instance.params.get(SUBGRAPH_PARAM)), Graph())
        for promoted in interface(definition).params:
            if promoted.name == name:
                waiting += [(definition.nodes.get(n), f"{path}/{n}", p, depth + 1) for n, p in promoted.targets]
    return found


class _Flattening:
    """Walks the drawing once; `_behind` leads from outputs of relays to the inputs they repeat."""

    def __init__(self, root: Graph):
        self._root = root
        self._nodes: dict[str, Node] = {}
        self._edges: list[Edge] = []
        self._order: dict[str, None] = {}
        self._problems: list[Problem] = []
        self._behind: dict[SocketOf, SocketOf] = {}
        self._faulty: set[str] = set()  # relays that have no results
        self._missing: set[SocketOf] = set()  # inputs of relays that need a wire and have none: what they hand on is not missed
        self._sources: dict[SocketOf, SocketOf] = {}  # what is wired to an input of a relay

    def run(self) -> Flat:
        self._expand(self._root, "", (), {}, frozen=False)
        relays = {path for path in self._order if path not in self._nodes}
        for edge in self._edges:
            if edge.target in relays:
                self._sources.setdefault((edge.target, edge.target_socket), (edge.source, edge.source_socket))
        self._report_loops()
        edges = [edge for edge in self._edges if edge.target not in relays]
        kept = tuple(e for e in map(self._spliced, edges) if e is not None)
        stand_ins = {path: Node(path, REROUTE) for path in dict.fromkeys(e.source for e in kept) if path in relays}
        graph = replace(self._root, nodes=self._nodes | stand_ins, edges=kept, subgraphs={}, frames=())
        ends = {key: self._origin(key) for key in self._behind}
        behind = {key: end for key, end in ends.items() if end is not None and end[0] in self._nodes}
        return Flat(graph, tuple(self._problems), tuple(self._order), behind)

    # -- walking -------------------------------------------------------------------------------------------------------

    def _expand(
        self, part: Graph, prefix: str, chain: tuple[str, ...], given: Mapping[str, Mapping[str, Any]], *, frozen: bool
    ) -> None:
        into: dict[str, list[Edge]] = {}
        out_of: dict[str, list[Edge]] = {}
        for edge in part.edges:
            into.setdefault(edge.target, []).append(edge)
            out_of.setdefault(edge.source, []).append(edge)
            self._edges.append(Edge(prefix + edge.source, edge.source_socket, prefix + edge.target, edge.target_socket))
        for drawn in part.nodes.values():
            path = prefix + drawn.id
            params = {**drawn.params, **given.get(drawn.id, {})}
            node = replace(drawn, id=path, params=params, frozen=drawn.frozen or frozen)
            if path in self._order:
                rule = "a path names one node"
                self._report("ambiguous-path", path, f'there are two nodes "{path}"', rule, cure="rename one of them")
                continue
            self._order[path] = None
            if node.operator in RELAYS:
                self._relay(node, part, prefix[:-1], chain, into.get(drawn.id, ()), out_of.get(drawn.id, ()))
            else:
                self._nodes[path] = node

    def _relay(
        self, node: Node, part: Graph, instance: str, chain: tuple[str, ...], into: Sequence[Edge], out_of: Sequence[Edge]
    ) -> None:
        if node.operator == SUBGRAPH_OPERATOR:
            self._instance(node, chain, into, out_of)
            return
        self._check_relay(node, into, out_of)
        if node.operator == REROUTE:
            self._behind[node.id, "y"] = (node.id, "x")
        elif not chain:
            found = f"{node.operator} stands outside of any subgraph"
            self._report("not-in-subgraph", node.id, found, "it is a part of a subgraph's border", "remove it")
        elif node.operator == INPUT:
            self._behind[node.id, "y"] = (instance, str(node.params.get("socket", "x")))
        elif node.operator == OUTPUT and not into:
            self._missing.add((node.id, "x"))
            self._report("missing-input", node.id, "nothing is wired to x", "an output gives out what x is", "a wire to x", "x")
        elif node.operator == PARAMETER and node.params.get("node") not in part.nodes:
            found = f'it sets a parameter of "{node.params.get("node", "")}", but there is no such node here'
            self._report("unknown-node", node.id, found, "it names a node of its own drawing", "remove it", "node")

    def _check_relay(self, node: Node, into: Sequence[Edge], out_of: Sequence[Edge]) -> None:
        """Wires at sockets that a relay of fixed sockets does not have, and several at its input."""
        inputs, outputs = SOCKETS[node.operator]
        for edge in into:
            if edge.target_socket not in inputs:
                found = f'a wire from "{_end(edge.source, edge.source_socket)}" leads to "{edge.target_socket[:60]}"'
                self._missing |= {(node.id, name) for name in inputs}
                self._no_such(node, "input", f"{found}, but {node.operator} has no such input", edge.target_socket, inputs)
        for edge in out_of:
            if edge.source_socket not in outputs:
                found = f'a wire to "{_end(edge.target, edge.target_socket)}" comes from "{edge.source_socket[:60]}"'
                self._nothing_behind(node.id, edge.source_socket)
                self._no_such(node, "output", f"{found}, but {node.operator} has no such output", edge.source_socket, outputs)
        count = sum(edge.target_socket in inputs for edge in into)
        if count > 1:
            self._report("two-wires", node.id, f"{count} wires end here", "x takes one wire", "remove all but one", "x")

    def _no_such(self, node: Node, what: str, found: str, socket: str, known: Sequence[str]) -> None:
        rule = f"its {what}s: {', '.join(known)}" if known else f"{node.operator} has no {what}s"
        cure = f'"{known[0]}"' if known else "remove the wire"
        self._report("unknown-socket", node.id, found, rule, cure, socket[:60], harmless=True)

    def _nothing_behind(self, path: str, socket: str) -> None:
        """An output that does not exist is reported once: what reads it has no result, and says nothing of its own."""
        self._missing.add((path, socket))
        self._behind[path, socket] = (path, socket)

    def _instance(self, node: Node, chain: tuple[str, ...], into: Sequence[Edge], out_of: Sequence[Edge]) -> None:
        name = node.params.get(SUBGRAPH_PARAM)
        definition = self._root.subgraphs.get(name) if isinstance(name, str) else None
        code, found, rule = self._instance_fault(name, definition, chain)
        if code or definition is None:
            self._report(code, node.id, found, rule)
            return
        face = interface(definition)
        self._problems += [replace(problem, node=f"{node.id}/{problem.node}") for problem in _border_problems(face)]
        self._check_wires(node, face, into, out_of)
        outputs = {border.name: border for border in face.outputs}
        if node.muted:
            self._behind |= {(node.id, out): (node.id, into[0].target_socket) for out in outputs if into}
            if not into and outputs:
                rule = "a muted node hands its first input on"
                self._report("muted-source", node.id, "it is muted, but has nothing to hand on", rule, "unmute it")
            return
        self._behind |= {(node.id, border.name): (f"{node.id}/{border.node}", "x") for border in face.outputs}
        given = self._given(node, face)
        self._expand(definition, f"{node.id}/", (*chain, str(name)), given, frozen=node.frozen)

    def _instance_fault(self, name: Any, definition: Graph | None, chain: tuple[str, ...]) -> tuple[str, str, str]:
        """(code, found, rule); empty if the definition can be put in place of the instance."""
        if definition is None:
            known = f'"{name[:60]}", which is not defined' if isinstance(name, str) else "nothing"
            rule = f'the parameter "{SUBGRAPH_PARAM}" of a subgraph node names a subgraph of the project'
            return "subgraph-unknown", f"as its subgraph it names {known}", rule
        if name in chain:
            names = " contains ".join(f'"{part}"' for part in (*chain[chain.index(str(name)) :], name))
            return "subgraph-recursion", f"the subgraph {names}", "a subgraph may not contain itself"
        if len(chain) >= MAX_DEPTH:
            return "subgraph-depth", f"{len(chain)} subgraphs contain each other", f"they may be {MAX_DEPTH} deep"
        if len(self._order) + len(definition.nodes) > MAX_NODES:
            found = f"with this subgraph there are more than {MAX_NODES:,} nodes"
            return "too-many-nodes", found, f"a graph has at most {MAX_NODES:,} nodes, those of its subgraphs included"
        return "", "", ""

    def _check_wires(self, node: Node, face: Interface, into: Sequence[Edge], out_of: Sequence[Edge]) -> None:
        known = {border.name: border for border in face.inputs}
        wired = [edge.target_socket for edge in into]
        for socket in dict.fromkeys(wired):
            if socket not in known:
                self._unknown("unknown-socket", node.id, "input", socket, known)
            elif wired.count(socket) > 1:
                found = f"{wired.count(socket)} wires end here"
                self._report("two-wires", node.id, found, f"{socket} takes one wire", "remove all but one", socket, harmless=True)
        for socket, border in known.items():
            if socket not in wired and not border.optional and not node.muted:
                doc = f", {border.doc}" if border.doc else ""
                rule, cure = f"the subgraph needs {socket}{doc}", f"a wire to {socket}"
                self._missing.add((node.id, socket))
                self._report("missing-input", node.id, f"nothing is wired to {socket}", rule, cure, socket, harmless=True)
        outputs = [border.name for border in face.outputs]
        for socket in sorted({edge.source_socket for edge in out_of} - set(outputs)):
            self._nothing_behind(node.id, socket)
            self._unknown("unknown-socket", node.id, "output", socket, outputs)

    def _given(self, node: Node, face: Interface) -> dict[str, dict[str, Any]]:
        """Parameters of the nodes inside that the instance sets."""
        given: dict[str, dict[str, Any]] = {}
        promoted = {entry.name: entry for entry in face.params}
        for name, value in node.params.items():
            if name == SUBGRAPH_PARAM:
                continue
            if name not in promoted:
                self._unknown("unknown-parameter", node.id, "parameter", name, promoted)
                continue
            for target, param in promoted[name].targets:
                given.setdefault(target, {})[param] = value
        return given

    # -- joining -------------------------------------------------------------------------------------------------------

    def _spliced(self, edge: Edge) -> Edge | None:
        """The edge from where its value is made; None if it leads from an optional input that has no wire."""
        end = self._origin((edge.source, edge.source_socket))
        return None if end is None else replace(edge, source=end[0], source_socket=end[1])

    def _origin(self, key: SocketOf) -> SocketOf | None:
        """The output behind a chain of relays; a relay's own for one that is faulty; None where no wire begins."""
        passed: set[SocketOf] = set()
        while key in self._behind:
            entry = self._behind[key]
            if key[0] in self._faulty or entry in self._missing or key in passed:
                return key
            passed.add(key)
            if entry not in self._sources:
                return None
            key = self._sources[entry]
        return key

    def _report_loops(self) -> None:
        """Chains of relays that lead back to themselves, each reported once; no chain is walked twice."""
        done: set[SocketOf] = set()
        for start in self._behind:
            path: dict[SocketOf, None] = {}
            key: SocketOf | None = start
            while key is not None and key in self._behind and key not in done and key not in path:
                path[key] = None
                key = self._sources.get(self._behind[key])
            if key in path:
                names = [node for node, _ in list(path)[list(path).index(key) :]]
                shown = " -> ".join(f'"{name}"' for name in [*names[::-1], names[-1]])
                rule = "wires lead forward: nothing may depend on its own result within a step"
                self._report("cycle", names[-1], f"{shown} is a cycle", rule, "remove one of these wires", harmless=True)
            done |= path.keys()

    # -- reports -------------------------------------------------------------------------------------------------------

    def _unknown(self, code: str, path: str, what: str, name: str, known: Sequence[str] | Mapping[str, Any]) -> None:
        rule = f"its {what}s: {', '.join(known)}" if known else f"it has no {what}s"
        cure = "remove it" if what == "parameter" else "remove the wire"
        self._report(code, path, f'the subgraph has no {what} "{name[:60]}"', rule, cure, name[:60], harmless=True)

    def _report(
        self, code: str, path: str, found: str, rule: str = "", cure: str = "", socket: str = "", *, harmless: bool = False
    ) -> None:
        """`harmless`: the node still has results."""
        self._problems.append(Problem(code, found, rule, cure, node=path, socket=socket))
        if not harmless:
            self._faulty.add(path)


def _end(node: str, socket: str) -> str:
    return f"{node[:60]}.{socket[:60]}"


def _border_problems(face: Interface) -> Iterator[Problem]:
    for borders in (face.inputs, face.outputs):
        seen: set[str] = set()
        for border in borders:
            if not re.fullmatch(r"\w+", border.name):
                rule = "sockets are letters, digits and _"
                yield Problem("bad-socket", f'its socket is called "{border.name[:60]}"', rule, node=border.node, socket="socket")
            if border.name in seen:
                rule, cure = "sockets of a subgraph have different names", "rename one of them"
                found = f'there is another socket "{border.name[:60]}"'
                yield Problem("duplicate-socket", found, rule, cure, node=border.node, socket="socket")
            seen.add(border.name)
