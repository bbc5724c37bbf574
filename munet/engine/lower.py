"""Graph -> Module: nodes become ops, layers expand, sources become resident data and a batch order, optimisers become updates.

Shapes are inferred here, node by node; what does not fit becomes a `Problem` at its node. `validate.py` runs the same
code and collects all problems, `lower` raises them together.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from munet.engine import hostscalar
from munet.engine.autodiff import depends, gradients, values_behind
from munet.engine.builder import Builder
from munet.engine.dtypes import F32, I32, DType, of_array
from munet.engine.errors import GraphError, MunetError, Problem, ProjectError
from munet.engine.graph import Edge, Graph, Node
from munet.engine.hostscalar import HostScalar
from munet.engine.ir.module import Initial, Module, Shape, Source, Value
from munet.engine.operator import REGISTRY, DataSource, Declaration, Layer, Operator, Optimiser, Relay, Schedule
from munet.engine.optimising import accumulated, average, clipped, held, update_due
from munet.engine.structure import examine
from munet.engine.subgraphs import flatten

MODES = ("train", "evaluate", "predict")
NOTHING_TRAINS = Problem(
    "nothing-trains", "there is no optimiser, so nothing would be trained", cure="a node such as Adam, wired to the loss"
)
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
    flat: Graph = field(default_factory=Graph)  # the graph as it was lowered: subgraphs in place of their instances


Given = Mapping[tuple[str, str], tuple[Shape, DType]]  # by (source node, socket)


def lower(graph: Graph, mode: str = "train", *, batch: int = 0, given: Given | None = None, name: str = "") -> Lowered:
    """The module of one step.

    mode   "train"; "evaluate" reads the held-out split and no optimiser; "predict" takes what is `given` in place of what
           sources bring, records nothing, and leaves out nodes that lack something
    batch  goes before the sources' own;  name: the module's, its mode unless given
    Raises ProjectError with every problem found.
    """
    lowering = Lowering(graph, mode, batch, given, name)
    lowered = lowering.run()
    if lowering.problems:
        raise ProjectError(lowering.problems)
    if mode == "train" and not lowering.optimised:
        raise ProjectError([NOTHING_TRAINS])
    assert lowered is not None
    return lowered


class Lowering:
    """One walk over the graph; `problems` collects what is wrong, nodes behind a faulty one are skipped."""

    def __init__(self, graph: Graph, mode: str, batch: int = 0, given: Given | None = None, name: str = ""):
        self.flat = flatten(graph)
        self.graph, self.mode, self.batch, self.given = self.flat.graph, mode, batch, given or {}
        self.structure = examine(self.graph)
        self.leaving: dict[str, list[Edge]] = {}  # wires by the node they come from
        for edge in self.graph.edges:
            self.leaving.setdefault(edge.source, []).append(edge)
        self.problems = [*self.flat.problems, *self.structure.problems]
        self.starved: list[Problem] = []  # wires that bring nothing
        self.builder = Builder(name or mode, training=mode == "train")
        self.results: dict[tuple[str, str], Value | HostScalar] = {}
        self.feedings: list[Feeding] = []
        self.live: dict[str, float] = {}
        self.optimised: dict[str, str] = {}  # parameter -> optimiser node that updates it
        self.frozen: set[str] = set()  # parameters that stay as they are

    def run(self) -> Lowered | None:
        with self.builder.active():
            for node in self.structure.order:
                self._guarded(node, self._lower_node)
            for node in self.structure.order:
                if self.mode == "train" and isinstance(REGISTRY.get(node.operator), Optimiser):
                    self._guarded(node, self._lower_optimiser)
            self.results |= {key: self.results[end] for key, end in self.flat.behind.items() if end in self.results}
            if not self.problems and self.mode != "predict":
                self.problems += self.starved  # else they only follow from what is told already
            if self.problems:
                return None
            module = self.builder.finish()
        shapes = {key: value for key, value in self.results.items() if isinstance(value, Value)}
        scalars = tuple(value for _, value in sorted(self.builder.scalars.values(), key=lambda pair: pair[0]))
        return Lowered(module, self.mode, tuple(self.feedings), scalars, self.live, shapes, self.graph)

    def _guarded(self, node: Node, work: Callable[[Node, Declaration], None]) -> None:
        """Run `work`; what it raises becomes a problem of the node."""
        before = len(self.builder.ops)
        try:
            with self.builder.at(node.id):
                work(node, REGISTRY[node.operator])
        except GraphError as error:
            self.problems.append(error.problem.at(node=node.id))
            del self.builder.ops[before:]
        except MunetError as error:
            self.problems.append(Problem("node-failed", str(error), node=node.id))
            del self.builder.ops[before:]
        except Exception as error:  # noqa: BLE001  # the function may be anybody's: a fault in it is shown at the node
            self.problems.append(_layer_failed(node, error))
            del self.builder.ops[before:]

    def _inputs(self, node: Node) -> dict[str, list[Value | HostScalar]] | None:
        """What is wired to the node, by socket; None if something before it failed."""
        wired: dict[str, list[Value | HostScalar]] = {}
        for edge in self.structure.wires.get(node.id, ()):
            value = self.results.get((edge.source, edge.source_socket))
            if value is None:
                found = f'nothing comes from "{edge.source}.{edge.source_socket}"'
                rule = "a wire begins at an output that has a value"
                self.starved.append(Problem("no-value", found, rule, "remove the wire", node.id, edge.target_socket))
                return None
            wired.setdefault(edge.target_socket, []).append(value)
        return wired

    # -- kinds of nodes ------------------------------------------------------------------------------------------------

    def _lower_node(self, node: Node, declared: Declaration) -> None:
        inputs = self._inputs(node)
        if inputs is None or isinstance(declared, Optimiser | Relay):
            return
        if node.muted:
            first = next(values[0] for values in inputs.values())
            self.results |= {(node.id, socket): first for socket in declared.outputs}
            return
        params = declared.checked_params(node.params)
        match declared:
            case Operator():
                self._keep(node, declared, declared(**inputs, **params))
            case Layer():
                values = self._values(declared, inputs)
                arguments = {name: self._argument(declared, name, values) for name in declared.inputs}
                known = set(self.builder.sources)
                self._keep(node, declared, declared.function(self.builder, **arguments, **params))
                self.frozen |= self.builder.sources.keys() - known if node.frozen else set()
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

    def _values(self, declared: Declaration, inputs: Mapping[str, list[Any]]) -> dict[str, list[Value]]:
        """The inputs as values that fit the declared patterns; an operator without outputs does the matching."""
        values = {name: [self.builder.as_value(v, F32) for v in given] for name, given in inputs.items()}
        Operator(declared.name, "", declared.inputs, {}, "", declared.function).infer(values, {})
        return values

    def _keep(self, node: Node, declared: Declaration, result: Any) -> None:
        """File the results by socket. A dict may leave out outputs that the node does not have with its parameters."""
        results = (
            result
            if isinstance(result, dict)
            else dict(zip(declared.outputs, result if isinstance(result, tuple) else (result,), strict=True))
        )
        for edge in self.leaving.get(node.id, ()):
            # Of a socket that is not even declared `structure.py` has told.
            if edge.source_socket in declared.outputs and edge.source_socket not in results:
                found = f'a wire leads from {edge.source_socket} to "{edge.target}", but there are only {", ".join(results)}'
                raise GraphError(Problem("unknown-socket", found, cure="remove the wire, or change the node's parameters"))
        for socket, value in results.items():
            self.results[node.id, socket] = value
            records = declared.role in ("loss", "metric") and self.mode != "predict"
            if records and value.shape == () and value.dtype is F32:
                self.builder.record(self._record_name(node, socket), value)

    def _record_name(self, node: Node, socket: str) -> str:
        """The output's name where it is the only one of that name, else the node's."""
        recorders = (REGISTRY.get(other.operator) for other in self.graph.nodes.values())
        several = sum(1 for other in recorders if other is not None and other.role and socket in other.outputs) > 1
        name = node.id if several else socket
        return name if name not in self.builder.recorded else f"{node.id}.{socket}"

    def _lower_source(self, node: Node, declared: DataSource, params: Mapping[str, Any]) -> None:
        if self.mode == "predict":
            for socket in declared.outputs:
                if (node.id, socket) in self.given:
                    shape, dtype = self.given[node.id, socket]
                    name = f"{self.builder.name}/{node.id}/{socket}"
                    self.results[node.id, socket] = self.builder.source(Source(name, "data", Value(shape, dtype, socket)))
            return
        own = {name: value for name, value in params.items() if name != "batch"}
        dataset = declared.function(**own)
        split = "train" if self.mode == "train" or not dataset.test else "test"
        columns = getattr(dataset, split)
        count = len(next(iter(columns.values())))
        batch = min(self.batch or int(params["batch"]), count)
        if batch == 0:
            raise GraphError(Problem("empty-data", f"{declared.name} has no samples"))
        b = self.builder
        rows = b.feed(f"{node.id}/order", (batch,), I32)
        self.feedings.append(Feeding(node.id, dataset, batch, f"{node.id}/order"))
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
        inputs = self._inputs(node)
        if inputs is None or node.muted:
            return
        b, loss = self.builder, self._values(declared, {"loss": inputs["loss"]})["loss"][0]
        params = declared.checked_params(node.params)
        rate = inputs.get("rate", [None])[0]
        if isinstance(rate, Value):
            self._values(declared, {"rate": [rate]})
        every = max(1, self.graph.run.accumulate)
        numbers = Scalars(node.id, declared, params, rate, every)
        self.live |= {f"{node.id}.{name}": float(params[name]) for name, param in declared.params.items() if param.live}
        reached = values_behind(b, loss)
        trained = (s for s in b.sources.values() if s.role == "state" and s.group == "parameter")
        chosen = self._chosen_by(node)
        parameters = {s.name: s for s in trained if s.name not in self.frozen and chosen(s.name)}
        wrt = [source.value for source in parameters.values()]
        but_frozen = " but frozen ones" if self.frozen else ""
        if params["parameters"] and not parameters:
            known = ", ".join(f'"{s.name}"' for s in b.sources.values() if s.group == "parameter") or "none"
            found = f"no parameter is called {params['parameters']!r}"
            raise GraphError(Problem("no-such-parameter", found, rule=f"the parameters are {known}", socket="parameters"))
        if not depends(b, loss, wrt):
            raise GraphError(
                Problem(
                    "nothing-to-train",
                    "no parameter has a gradient here" if wrt else f"there are no parameters{but_frozen}",
                    rule="parameters lead to the loss by way of differentiable operators",
                    cure="the output of a loss node that reads the network" if wrt else "a layer such as Linear before the loss",
                    socket="loss",
                )
            )
        # What does not lead to this loss is left as it is, for another optimiser or for good.
        parameters = {name: s for name, s in parameters.items() if s.value in reached}
        grads = gradients(b, loss, [source.value for source in parameters.values()])
        for value in (loss, *grads):
            b.watch(value)
        due = update_due(b, every)
        for i, name in enumerate(parameters):
            with b.at(name):
                grads[i] = accumulated(b, grads[i], every, due)
        grads = clipped(b, grads, numbers)
        for (name, source), g in zip(parameters.items(), grads, strict=True):
            if name in self.optimised:
                raise GraphError(
                    Problem(
                        "two-optimisers",
                        f'parameter "{name}" is already updated by "{self.optimised[name]}"',
                        rule="each parameter has one optimiser",
                        cure="remove one of the optimisers",
                    )
                )
            self.optimised[name] = node.id
            with b.at(name):
                slots = Slots(b, declared, source.value)
                updated = held(source.value, declared.function(source.value, g, slots, numbers), due)
                slots.store(due)
                b.set_result(source.value, updated)
                if numbers.used("ema"):
                    average(b, source.value, updated, numbers.ema, every, due)

    def _chosen_by(self, node: Node) -> Callable[[str], bool]:
        """Which parameters an optimiser node updates: those it names, or else those that no other optimiser names."""
        named = {
            other.id: str(other.params.get("parameters", "")).split()
            for other in self.flat.graph.nodes.values()
            if isinstance(REGISTRY.get(other.operator), Optimiser) and not other.muted
        }
        own = named[node.id]
        others = [pattern for patterns in named.values() for pattern in patterns]
        if own:
            return lambda name: any(fnmatchcase(name, pattern) for pattern in own)
        return lambda name: not any(fnmatchcase(name, pattern) for pattern in others)


def _layer_failed(node: Node, error: Exception) -> Problem:
    """What a declared function raised, and where: it is its author who has to look there."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    found = f"{node.operator} raised {type(error).__name__}: {error} ({last.filename}:{last.lineno})"
    return Problem("layer-failed", found, rule="a node's function raises nothing but ShapeError and GraphError", node=node.id)


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

    def store(self, due: Value | None = None) -> None:
        for name, value in self._now.items():
            self._b.set_result(self._states[name], held(self._states[name], value, due))


class Scalars:
    """An optimiser's numbers: live parameters and the step as host scalars, the others as they are."""

    def __init__(
        self, node: str, declared: Optimiser, params: Mapping[str, Any], rate: Value | HostScalar | None, every: int = 1
    ):
        self._node, self._declared, self._params = node, declared, params
        self._rate = rate
        self.step = hostscalar.step(every)  # of updates

    def __getattr__(self, name: str) -> Any:
        if name not in self._declared.params:
            raise AttributeError(name)
        if name == "lr" and self._rate is not None:
            return self._rate
        return hostscalar.live(self._node, name) if self._declared.params[name].live else self._params[name]

    def used(self, name: str) -> bool:
        """Whether a parameter that is usually 0 is not; what is off at first costs nothing and cannot be turned on live."""
        return bool(self._params[name])
