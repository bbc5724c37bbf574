"""Programs that only look: predictions for arrays that the caller brings, and taps on any socket while training goes on.

Both run over the states that training writes and change none of them. Compiled programs are kept, the last few used.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from munet.engine.compile import compile_program
from munet.engine.dtypes import BY_NAME, DType, of_array
from munet.engine.errors import Problem, ProjectError, ShapeError
from munet.engine.evaluation import with_own_states
from munet.engine.execute.base import Array, Executor
from munet.engine.feeding import scalar_rows
from munet.engine.graph import Graph
from munet.engine.ir.module import Value
from munet.engine.lower import Lowered, lower
from munet.engine.operator import REGISTRY, DataSource
from munet.engine.passlist import Placement
from munet.engine.program import Program
from munet.engine.shapes import Dims
from munet.engine.states import read_value, write_value

KEPT = 8  # programs
BINS = 64  # of a histogram


@dataclass(frozen=True, eq=False)
class Histogram:
    """Counts of finite elements between neighbouring `edges`; `strange` elements are NaN or infinite."""

    edges: Array
    counts: Array
    strange: int


@dataclass(frozen=True)
class Summary:
    """What a tensor is like, its finite elements that is; NaN where there are none."""

    shape: tuple[int, ...]
    minimum: float
    maximum: float
    mean: float
    deviation: float
    zeros: int
    strange: int  # elements that are NaN or infinite


class Looker:
    """Makes and keeps the programs of one drawing; `lowered` and `train` are its training step."""

    def __init__(self, graph: Graph, executor: Executor, lowered: Lowered, train: Program, off: Collection[str] = ()):
        self._graph, self._executor, self._lowered, self._train, self._off = graph, executor, lowered, train, off
        self._flat = lowered.flat  # without subgraphs
        self._states: Mapping[str, Placement] = {s.name: train.state_placement(s.name) for s in train.module.states}
        self._predicting: OrderedDict[object, tuple[Program, Lowered]] = OrderedDict()
        self._tapping: OrderedDict[object, Program] = OrderedDict()
        self._made = 0

    # -- predictions ---------------------------------------------------------------------------------------------------

    def predict(
        self, given: Mapping[str, ArrayLike], nodes: Sequence[str] | None, live: Mapping[str, float], step: int
    ) -> dict[str, Array]:
        """See `Session.predict`."""
        arrays = self._checked(given)
        key = (
            tuple((place, array.shape, array.dtype.str) for place, array in arrays.items()),
            None if nodes is None else tuple(nodes),
        )
        if key not in self._predicting:
            self._predicting[key] = self._load_prediction(arrays, nodes)
        self._predicting.move_to_end(key)
        while len(self._predicting) > KEPT:
            self._executor.unload(self._predicting.popitem(last=False)[1][0].name)
        program, lowered = self._predicting[key]
        for (node, socket), array in arrays.items():
            name = f"{program.name}/{node}/{socket}"
            source = next((s for s in program.module.sources if s.name == name), None)
            if source is not None:
                write_value(self._executor, program, source.value, array)
        feeds = {feed.name: scalar_rows(lowered.scalars, step, 1, {**lowered.live, **live}) for feed in program.feeds}
        self._executor.submit(program, first_step=0, steps=1, feeds=feeds)
        return {name: read_value(self._executor, program, value) for name, value in program.module.outputs.items()}

    def _load_prediction(self, arrays: Mapping[tuple[str, str], Array], nodes: Sequence[str] | None) -> tuple[Program, Lowered]:
        self._made += 1
        types = {place: (array.shape, of_array(array)) for place, array in arrays.items()}
        lowered = lower(self._graph, "predict", given=types, name=f"predict {self._made}")
        outputs = self._outputs(lowered, arrays, nodes)
        module = with_own_states(replace(lowered.module, outputs=outputs), lowered.module.name)
        module = replace(module, sources=tuple(replace(s, result=None) if s.name in self._states else s for s in module.sources))
        return self._loaded(compile_program(module, self._executor.info, states=self._states, off=self._off)), lowered

    def _outputs(self, lowered: Lowered, given: Mapping[tuple[str, str], Array], nodes: Sequence[str] | None) -> dict[str, Value]:
        """The sockets asked for, "node.socket"; unless any are, those that lead into nothing that could be computed."""
        found = {place: v for place, v in lowered.shapes.items() if place not in given and place[0] in self._flat.nodes}
        if nodes is None:
            computed = {node for node, _ in found}
            used = {(e.source, e.source_socket) for e in self._flat.edges if e.target in computed}
            return {f"{node}.{socket}": value for (node, socket), value in found.items() if (node, socket) not in used}
        outputs: dict[str, Value] = {}
        for asked in nodes:
            node, _, socket = asked.partition(".")
            chosen = {f"{n}.{s}": v for (n, s), v in lowered.shapes.items() if n == node and socket in ("", s)}
            if not chosen:
                raise self._absent(asked, node, given)
            outputs |= chosen
        return outputs

    def _absent(self, asked: str, node: str, given: Mapping[tuple[str, str], Array]) -> ProjectError:
        if node not in self._graph.nodes and node not in self._flat.nodes:
            return _problem("unknown-node", f'there is no node "{node}"', rule=f"nodes: {', '.join(self._flat.nodes)}")
        brought = [f"{n}.{s}" for n in self._sources() for s in REGISTRY[self._flat.nodes[n].operator].outputs]
        missing = [name for name in brought if tuple(name.rsplit(".", 1)) not in given]
        found = f'"{asked}" cannot be computed' + (f" without {' and '.join(missing)}" if missing else "")
        return _problem("not-given", found, cure="give it among the inputs, or ask for another node", node=node)

    def _sources(self) -> list[str]:
        return [name for name, node in self._flat.nodes.items() if isinstance(REGISTRY.get(node.operator), DataSource)]

    def _checked(self, given: Mapping[str, ArrayLike]) -> dict[tuple[str, str], Array]:
        """The arrays by (node, socket), in the dtypes of their sockets. A node alone stands for its first output."""
        arrays: dict[tuple[str, str], Array] = {}
        for name, array in given.items():
            node, _, socket = name.partition(".")
            if node not in self._sources():
                known = f"sources: {', '.join(self._sources()) or 'none'}"
                raise _problem("unknown-source", f'there is no source "{node}" to give something for', rule=known)
            try:
                array = np.asarray(array)
            except (TypeError, ValueError) as error:
                raise _problem("wrong-dtype", f"{name} is no array of numbers ({error})", node=node) from None
            declared = REGISTRY[self._flat.nodes[node].operator]
            socket = socket or next(iter(declared.outputs))
            if socket not in declared.outputs:
                known = f"its outputs: {', '.join(declared.outputs)}"
                raise _problem("unknown-socket", f'{declared.name} has no output "{socket}"', rule=known, node=node)
            output = declared.outputs[socket]
            try:
                if isinstance(output.pattern, str):
                    Dims().match(declared.name, socket, output.pattern, np.shape(array))
            except ShapeError as error:
                raise ProjectError([error.problem.at(node=node, socket=socket)]) from None
            arrays[node, socket] = _as_dtype(np.asarray(array), BY_NAME.get(str(output.dtype)), f"{node}.{socket}")
        return arrays

    # -- taps ----------------------------------------------------------------------------------------------------------

    def tap(self, node: str, socket: str, step: int, feeds: Mapping[str, Array]) -> Array:
        """The value of an output socket in step `step` (from 0) of training, whose rows are `feeds`; by the states of now."""
        key = (node, socket)
        if key not in self._tapping:
            self._tapping[key] = self._load_tap(node, socket)
        self._tapping.move_to_end(key)
        while len(self._tapping) > KEPT:
            self._executor.unload(self._tapping.popitem(last=False)[1].name)
        program = self._tapping[key]
        counter = next((s for s in program.module.states if s.name == f"{program.name}/step"), None)
        if counter is not None:
            write_value(self._executor, program, counter.value, np.array(step, np.int32))
        rows = {feed.name: feeds[feed.name] for feed in program.feeds}
        self._executor.submit(program, first_step=step, steps=1, feeds=rows)
        return read_value(self._executor, program, program.module.outputs["value"])

    def _load_tap(self, node: str, socket: str) -> Program:
        value = self._lowered.shapes.get((node, socket))
        if value is None:
            sockets = ", ".join(f"{n}.{s}" for n, s in self._lowered.shapes if n == node)
            rule = f"its outputs: {sockets}" if sockets else f"nodes: {', '.join(self._flat.nodes)}"
            raise _problem("unknown-socket", f'there is no tensor "{node}.{socket}"', rule=rule)
        self._made += 1
        module = with_own_states(self._lowered.module, f"tap {self._made}")
        sources = tuple(replace(source, result=None) for source in module.sources)  # nothing of it survives
        module = replace(module, sources=sources, outputs={"value": value}, records=())
        return self._loaded(compile_program(module, self._executor.info, states=self._states, off=self._off))

    def _loaded(self, program: Program) -> Program:
        self._executor.load(program)
        return program

    def close(self) -> None:
        """Unload all programs: the states they read are about to go."""
        for program in (*(program for program, _ in self._predicting.values()), *self._tapping.values()):
            self._executor.unload(program.name)
        self._predicting.clear()
        self._tapping.clear()


def histogram(array: Array, bins: int = BINS) -> Histogram:
    flat = array.reshape(-1).astype(np.float64)
    finite = flat[np.isfinite(flat)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    # Equal numbers, and such as differ by their last bits, get a range in which all bins have a width.
    least = max(1.0, 1e-6 * max(abs(low), abs(high)))
    if low == high or high - low < 1e-9 * least:
        low, high = low - least / 2, high + least / 2
    counts, edges = np.histogram(finite, bins=bins, range=(low, high))
    return Histogram(edges, counts, flat.size - finite.size)


def summary(array: Array) -> Summary:
    flat = array.reshape(-1).astype(np.float64)
    finite = flat[np.isfinite(flat)]
    strange, zeros = flat.size - finite.size, int((finite == 0).sum())
    if not finite.size:
        nan = float("nan")
        return Summary(array.shape, nan, nan, nan, nan, zeros, strange)
    low, high, mean, deviation = (float(x) for x in (finite.min(), finite.max(), finite.mean(), finite.std()))
    return Summary(array.shape, low, high, mean, deviation, zeros, strange)


def _as_dtype(array: Array, dtype: DType | None, name: str) -> Array:
    """The array as the socket's dtype; refused where that would change whole numbers or cut off fractions."""
    if dtype is None or array.dtype == dtype.host:
        return array.astype(np.float32) if dtype is None and array.dtype == np.float64 else array
    if array.dtype.kind not in "fiub":
        raise _problem("wrong-dtype", f"{name} is {array.dtype}", rule=f"it is {dtype}")
    with np.errstate(all="ignore"):
        cast = array.astype(dtype.host)
    if not dtype.is_float and not np.array_equal(cast, array):
        cure = "bytes from 0 to 255, as the source brings them" if dtype.name == "u8" else f"whole numbers that fit {dtype}"
        raise _problem("wrong-dtype", f"{name} holds {array.dtype} numbers that {dtype} cannot", rule=f"it is {dtype}", cure=cure)
    return cast


def _problem(code: str, found: str, *, rule: str = "", cure: str = "", node: str = "") -> ProjectError:
    return ProjectError([Problem(code, found, rule=rule, cure=cure, node=node)])
