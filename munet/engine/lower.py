"""Graph -> Module: nodes become ops, layers expand, sources become resident data and a batch order, optimisers become updates.

Shapes are inferred here, node by node; what does not fit becomes a `Problem` at its node. `validate.py` runs the same
code and collects all problems, `lower` raises them together.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import networkx as nx

from munet.engine import hostscalar
from munet.engine.autodiff import gradients
from munet.engine.builder import Builder
from munet.engine.dtypes import F32, I32, of_array
from munet.engine.errors import GraphError, MunetError, Problem, ProjectError
from munet.engine.graph import Edge, Graph, Node
from munet.engine.hostscalar import HostScalar
from munet.engine.ir.module import Initial, Module, Source, Value
from munet.engine.operator import REGISTRY, DataSource, Declaration, Layer, Operator, Optimiser, Schedule

MODES = ("train", "evaluate")
DatasetLike = Any  # munet.data.dataset.Dataset: the engine only asks for .train and .test


@dataclass(frozen=True)
class Feeding:
    """How the host fills one source node's ring: which data set, how many samples a step."""

    node: str
    dataset: DatasetLike
    batch: int
    feed: str  # name of the module's feed that holds row numbers


@dataclass(frozen=True)
class Lowered:
    """A module and what the session needs to feed it."""

    module: Module
    mode: str
    sources: tuple[Feeding, ...] = ()
    scalars: tuple[HostScalar, ...] = ()  # columns of the feed "scalars"
    live: Mapping[str, float] = field(default_factory=dict)  # live parameters by "node.param", as drawn
    shapes: Mapping[tuple[str, str], Value] = field(default_factory=dict)  # by (node, output socket), for the drawing


def lower(graph: Graph, mode: str = "train", *, batch: int = 0) -> Lowered:
    """The module of one step. `mode` "evaluate" reads the held-out split and no optimiser; `batch` goes before the sources'.

    Raises ProjectError with every problem found.
    """
    lowering = Lowering(graph, mode, batch)
    lowered = lowering.run()
    if lowering.problems:
        raise ProjectError(lowering.problems)
    assert lowered is not None
    return lowered


class Lowering:
    """One walk over the graph; `problems` collects what is wrong, nodes behind a faulty one are skipped."""

    def __init__(self, graph: Graph, mode: str, batch: int = 0):
        self.graph, self.mode, self.batch = graph, mode, batch
        self.problems: list[Problem] = []
        self.builder = Builder(mode, training=mode == "train")
        self.results: dict[tuple[str, str], Value | HostScalar] = {}
        self.feedings: list[Feeding] = []
        self.live: dict[str, float] = {}
        self.optimised: dict[str, str] = {}  # parameter -> optimiser node that updates it

    def run(self) -> Lowered | None:
        order = self._order()
        with self.builder.active():
            for node in order:
                self._guarded(node, self._lower_node)
            for node in order:
                if self.mode == "train" and isinstance(REGISTRY.get(node.operator), Optimiser):
                    self._guarded(node, self._lower_optimiser)
            if self.problems:
                return None
            module = self.builder.finish()
        shapes = {key: value for key, value in self.results.items() if isinstance(value, Value)}
        scalars = tuple(value for _, value in sorted(self.builder.scalars.values(), key=lambda pair: pair[0]))
        return Lowered(module, self.mode, tuple(self.feedings), scalars, self.live, shapes)

    def _guarded(self, node: Node, work: Callable[[Node, Declaration], None]) -> None:
        """Run `work`; what it raises becomes a problem of the node."""
        declared = REGISTRY.get(node.operator)
        if declared is None:
            return  # reported once, by _order
        before = len(self.builder.ops)
        try:
            with self.builder.at(node.id):
                work(node, declared)
        except GraphError as error:
            self.problems.append(error.problem.at(node=node.id))
            del self.builder.ops[before:]
        except MunetError as error:
            self.problems.append(Problem("node-failed", str(error), node=node.id))
            del self.builder.ops[before:]

    # -- order and wires -----------------------------------------------------------------------------------------------

    def _order(self) -> list[Node]:
        """Nodes so that each comes after what it reads, otherwise in file order; a cycle is a problem and ends the walk."""
        nodes = list(self.graph.nodes)
        drawing = nx.DiGraph()
        drawing.add_nodes_from(nodes)
        drawing.add_edges_from((edge.source, edge.target) for edge in self.graph.edges)
        for node in self.graph.nodes.values():
            if node.operator not in REGISTRY:
                self.problems.append(_unknown_operator(node))
        try:
            position = {node: i for i, node in enumerate(nodes)}
            return [self.graph.nodes[n] for n in nx.lexicographical_topological_sort(drawing, key=position.__getitem__)]
        except nx.NetworkXUnfeasible:
            for cycle in _cycles(drawing):
                path = " -> ".join(f'"{name}"' for name in (*cycle, cycle[0]))
                self.problems.append(
                    Problem(
                        "cycle",
                        f"{path} is a cycle",
                        rule="wires lead forward",
                        cure="a state node to carry a value to the next step",
                        node=cycle[0],
                    )
                )
            return []

    def _inputs(self, node: Node, declared: Declaration) -> dict[str, list[Value | HostScalar]] | None:
        """What is wired to the node, by socket; None if something before it failed."""
        wired: dict[str, list[Value | HostScalar]] = {}
        for edge in self.graph.edges_into(node.id):
            self._check_edge(edge, declared)
            value = self.results.get((edge.source, edge.source_socket))
            if value is None:
                return None
            wired.setdefault(edge.target_socket, []).append(value)
        for socket, values in wired.items():
            if len(values) > 1 and not declared.inputs[socket].variadic:
                raise GraphError(
                    Problem(
                        "two-wires",
                        f"{len(values)} wires end in {socket}",
                        rule=f"{socket} takes one wire",
                        cure="remove one",
                        socket=socket,
                    )
                )
        return wired

    def _check_edge(self, edge: Edge, declared: Declaration) -> None:
        if edge.target_socket not in declared.inputs:
            known = ", ".join(declared.inputs) or "none"
            raise GraphError(
                Problem(
                    "unknown-socket",
                    f"{declared.name} has no input {edge.target_socket!r}",
                    rule=f"its inputs: {known}",
                    socket=edge.target_socket,
                )
            )
        source = REGISTRY.get(self.graph.nodes[edge.source].operator)
        if source is not None and edge.source_socket not in source.outputs:
            known = ", ".join(source.outputs) or "none"
            raise GraphError(
                Problem(
                    "unknown-socket",
                    f'"{edge.source}" ({source.name}) has no output {edge.source_socket!r}',
                    rule=f"its outputs: {known}",
                    socket=edge.target_socket,
                )
            )

    # -- kinds of nodes ------------------------------------------------------------------------------------------------

    def _lower_node(self, node: Node, declared: Declaration) -> None:
        if node.version > declared.version:
            raise GraphError(
                Problem(
                    "newer-node",
                    f"saved with version {node.version} of {declared.name}, here it has {declared.version}",
                    cure="a newer munet-studio",
                )
            )
        inputs = self._inputs(node, declared)
        if isinstance(declared, Optimiser):
            declared.check_sockets(edge.target_socket for edge in self.graph.edges_into(node.id))
            declared.checked_params(node.params)
            return
        if inputs is None:
            return
        if node.muted:
            self._bypass(node, declared, inputs)
            return
        params = declared.checked_params(node.params)
        declared.check_sockets(inputs)
        match declared:
            case Operator():
                self._keep(node, declared, declared(**inputs, **params))
            case Layer():
                arguments = {name: self._argument(declared, name, inputs) for name in declared.inputs}
                self._match_patterns(declared, inputs)
                self._keep(node, declared, declared.function(self.builder, **arguments, **params))
            case DataSource():
                self._lower_source(node, declared, params)
            case Schedule():
                self._lower_schedule(node, declared, params)
            case _:
                raise GraphError(Problem("not-a-node", f"{declared.name} cannot be placed on a canvas"))

    def _argument(self, declared: Declaration, name: str, inputs: Mapping[str, list[Any]]) -> Any:
        values = inputs.get(name, [])
        if declared.inputs[name].variadic:
            return tuple(values)
        return values[0] if values else None

    def _match_patterns(self, declared: Layer, inputs: Mapping[str, list[Any]]) -> None:
        """Layers state patterns too; an operator without outputs does the matching."""
        checker = Operator(declared.name, "", declared.inputs, {}, "", declared.function)
        checker.infer({name: [v for v in values if isinstance(v, Value)] for name, values in inputs.items()}, {})

    def _keep(self, node: Node, declared: Declaration, result: Any) -> None:
        results = (
            result
            if isinstance(result, dict)
            else dict(zip(declared.outputs, result if isinstance(result, tuple) else (result,), strict=True))
        )
        for socket, value in results.items():
            self.results[node.id, socket] = value
            if declared.role in ("loss", "metric") and value.shape == () and value.dtype is F32:
                several = sum(1 for n in self.graph.nodes.values() if REGISTRY.get(n.operator) is declared) > 1
                self.builder.record(f"{node.id}" if several else socket, value)

    def _bypass(self, node: Node, declared: Declaration, inputs: Mapping[str, list[Any]]) -> None:
        """A muted node hands its first input on."""
        first = next((values[0] for values in inputs.values() if values), None)
        if first is None:
            raise GraphError(
                Problem(
                    "muted-source",
                    f"{declared.name} has nothing to pass on",
                    rule="a muted node passes its first input on",
                    cure="unmute it",
                )
            )
        for socket in declared.outputs:
            self.results[node.id, socket] = first

    def _lower_source(self, node: Node, declared: DataSource, params: Mapping[str, Any]) -> None:
        own = {name: value for name, value in params.items() if name != "batch"}
        dataset = declared.function(**own)
        columns = dataset.train if self.mode == "train" else (dataset.test or dataset.train)
        count = len(next(iter(columns.values())))
        batch = min(self.batch or int(params["batch"]), count)
        if batch == 0:
            raise GraphError(Problem("empty-data", f"{declared.name} has no samples"))
        b = self.builder
        rows = b.feed(f"{node.id}/order", (batch,), I32)
        self.feedings.append(Feeding(node.id, dataset, batch, f"{node.id}/order"))
        split = "train" if self.mode == "train" else "test"
        take_rows = REGISTRY["take_rows"]
        assert isinstance(take_rows, Operator)
        for socket in declared.outputs:
            array = columns[socket]
            data = b.source(Source(f"{node.id}/{split}/{socket}", "data", Value(array.shape, of_array(array), socket)))
            self.results[node.id, socket] = take_rows(data, rows)

    def _lower_schedule(self, node: Node, declared: Schedule, params: Mapping[str, Any]) -> None:
        live = tuple(name for name, param in declared.params.items() if param.live)
        fixed = {name: value for name, value in params.items() if name not in live}
        self.live |= {f"{node.id}.{name}": float(params[name]) for name in live}
        self.results[node.id, "rate"] = hostscalar.scheduled(
            node.id, lambda step, **moving: declared.function(step, **fixed, **moving), live
        )

    def _lower_optimiser(self, node: Node, declared: Declaration) -> None:
        assert isinstance(declared, Optimiser)
        inputs = self._inputs(node, declared)
        if inputs is None or node.muted:
            return
        b, loss = self.builder, inputs["loss"][0]
        assert isinstance(loss, Value)
        params = declared.checked_params(node.params)
        numbers = Scalars(node.id, declared, params, inputs.get("rate", [None])[0])
        self.live |= {f"{node.id}.{name}": float(params[name]) for name, param in declared.params.items() if param.live}
        parameters = {
            source.name: source for source in b.sources.values() if source.role == "state" and source.group == "parameter"
        }
        wrt = [source.value for source in parameters.values()]
        if not wrt:
            raise GraphError(
                Problem(
                    "nothing-to-train",
                    "no parameters lead to this loss",
                    cure="a layer such as Linear between the data and the loss",
                )
            )
        grads = gradients(b, loss, wrt)
        for (name, source), g in zip(parameters.items(), grads, strict=True):
            if name in self.optimised:
                raise GraphError(
                    Problem(
                        "two-optimisers",
                        f'parameter "{name}" is already updated by "{self.optimised[name]}"',
                        rule="each parameter has one optimiser",
                    )
                )
            self.optimised[name] = node.id
            with b.at(name):
                slots = Slots(b, declared, source.value)
                updated = declared.function(source.value, g, slots, numbers)
                slots.store()
                b.set_result(source.value, updated)


class Slots:
    """An optimiser's states of one parameter: reading gives the value before the step, assigning the one after."""

    _b: Builder
    _names: tuple[str, ...]
    _like: Value
    _states: dict[str, Value]
    _now: dict[str, Value]

    def __init__(self, b: Builder, declared: Optimiser, parameter: Value):
        object.__setattr__(self, "_b", b)
        object.__setattr__(self, "_names", declared.slots)
        object.__setattr__(self, "_like", parameter)
        object.__setattr__(self, "_states", {})
        object.__setattr__(self, "_now", {})

    def __getattr__(self, name: str) -> Value:
        if name not in self._names:
            raise AttributeError(f"no slot {name!r}; declared: {', '.join(self._names)}")
        if name not in self._states:
            node, like = self._b.origin[0], self._like
            self._states[name] = self._b.state(
                name, like.shape, initial=Initial("zeros"), group=f"{node}.{name}", dtype=like.dtype
            )
        return self._now.get(name, self._states[name])

    def __setattr__(self, name: str, value: Value) -> None:
        getattr(self, name)
        self._now[name] = value

    def store(self) -> None:
        for name, value in self._now.items():
            self._b.set_result(self._states[name], value)


class Scalars:
    """An optimiser's numbers: live parameters and the step as host scalars, the others as they are."""

    def __init__(self, node: str, declared: Optimiser, params: Mapping[str, Any], rate: Value | HostScalar | None):
        self._node, self._declared, self._params = node, declared, params
        self._rate = rate
        self.step = hostscalar.step()

    def __getattr__(self, name: str) -> Any:
        if name not in self._declared.params:
            raise AttributeError(name)
        if name == "lr" and self._rate is not None:
            return self._rate
        return hostscalar.live(self._node, name) if self._declared.params[name].live else self._params[name]

    def used(self, name: str) -> bool:
        """Whether a parameter that is usually 0 is not; what is off at first costs nothing and cannot be turned on live."""
        return bool(self._params[name])


def _unknown_operator(node: Node) -> Problem:
    near = difflib.get_close_matches(node.operator, REGISTRY, n=3)
    return Problem(
        "unknown-operator",
        f"there is no operator {node.operator!r}",
        cure=" or ".join(near) if near else "munet info for the list",
        node=node.id,
    )


def _cycles(drawing: Any) -> list[list[str]]:
    """One cycle for each knot of nodes that reach each other."""
    found: list[list[str]] = []
    for knot in nx.strongly_connected_components(drawing):
        if len(knot) > 1 or any(drawing.has_edge(n, n) for n in knot):
            found.append([edge[0] for edge in nx.find_cycle(drawing.subgraph(sorted(knot)))])
    return found
