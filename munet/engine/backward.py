"""Gradients of a training step, to look at: nothing is updated by them.

A program of its own computes what the training step does up to the gradients, over the states that training writes, and brings
their norms; those that are asked for whole come along. Compiled programs are kept, the last few used.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from munet.engine.autodiff import depending, gradients, values_behind
from munet.engine.compile import compile_program
from munet.engine.errors import Problem, ProjectError
from munet.engine.evaluation import with_own_states
from munet.engine.execute.base import Array, Executor
from munet.engine.feeding import scalar_rows
from munet.engine.graph import Graph, Node
from munet.engine.hostscalar import HostScalar
from munet.engine.ir.module import Source, Value
from munet.engine.lower import Lowered, Lowering
from munet.engine.operator import Declaration, Operator, Optimiser, find
from munet.engine.optimising import sum_of_squares
from munet.engine.passlist import Placement
from munet.engine.program import Program
from munet.engine.states import owner_of, read_value, write_value

KEPT = 8  # programs
JOINED = 8  # norms that one op puts side by side: a kernel binds only so many buffers
NORMS = ""  # name of the output that holds them


@dataclass(frozen=True, eq=False)
class Gradients:
    """Of the loss in step `step` (from 0), by the weights as they are: by parameter, "node/weight", and socket, "node.socket".

    What several optimisers train has the gradient of the first one's loss.
    """

    step: int
    norms: Mapping[str, float]  # Euclidean, of all gradients
    values: Mapping[str, Array]  # of those asked for
    owners: Mapping[str, str]  # of the parameters: the nodes that they belong to

    def by_node(self) -> dict[str, float]:
        """Norm of all parameters of each node that has some, and of each subgraph's instance around it."""
        squares: dict[str, float] = {}
        for name, owner in self.owners.items():
            parts = owner.split("/")
            for length in range(1, len(parts) + 1):
                path = "/".join(parts[:length])
                squares[path] = squares.get(path, 0.0) + self.norms[name] ** 2
        return {path: math.sqrt(square) for path, square in squares.items()}


class Backward:
    """Makes and keeps the programs of one drawing; `lowered` and `train` are its training step."""

    def __init__(self, graph: Graph, executor: Executor, lowered: Lowered, train: Program, off: Collection[str] = ()):
        self._graph, self._executor, self._lowered, self._off = graph, executor, lowered, off
        self._states: Mapping[str, Placement] = {s.name: train.state_placement(s.name) for s in train.module.states}
        self._data = {_plain(s.name): s.name for s in lowered.module.sources if s.role == "data"}
        self._programs: OrderedDict[tuple[str, ...], tuple[Program, _Lowering]] = OrderedDict()
        self._made = 0

    def run(self, whole: Sequence[str], live: Mapping[str, float], step: int, feeds: Mapping[str, Array]) -> Gradients:
        """See `Session.gradients`. `feeds` are the rows of that step of training."""
        key = tuple(dict.fromkeys(whole))
        if key not in self._programs:
            self._programs[key] = self._load(key)
        self._programs.move_to_end(key)
        while len(self._programs) > KEPT:
            self._executor.unload(self._programs.popitem(last=False)[1][0].name)
        program, lowering = self._programs[key]
        counter = next((s for s in program.module.states if s.name == f"{program.name}/step"), None)
        if counter is not None:
            write_value(self._executor, program, counter.value, np.array(step, np.int32))
        rows = {feed.name: feeds[feed.name] for feed in program.feeds if feed.name != "scalars"}
        if any(feed.name == "scalars" for feed in program.feeds):
            rows["scalars"] = scalar_rows(lowering.columns, step, 1, {**lowering.live, **live})
        self._executor.submit(program, first_step=step, steps=1, feeds=rows)
        found = {name: read_value(self._executor, program, value) for name, value in program.module.outputs.items()}
        squares = found.pop(NORMS, np.empty(0))
        norms = {name: float(x) for name, x in zip(lowering.gradients, np.sqrt(squares.astype(np.float64)), strict=True)}
        owners = {name: owner_of(name, lowering.graph.nodes) for name in lowering.parameters}
        return Gradients(step, norms, found, owners)

    def _load(self, whole: tuple[str, ...]) -> tuple[Program, _Lowering]:
        self._made += 1
        lowering = _Lowering(self._graph)
        lowered = lowering.run()
        if lowering.problems:
            raise ProjectError(lowering.problems)
        assert lowered is not None
        named = lowering.gradients | lowering.behind
        missing = [name for name in whole if name not in named]
        if missing:
            known = ", ".join(named) or "none"
            raise ProjectError([Problem("no-such-gradient", f'there is no gradient of "{missing[0]}"', rule=f"known: {known}")])
        module = with_own_states(lowered.module, f"gradients {self._made}")
        # Nothing of it survives.
        sources = tuple(replace(s, result=None, name=self._data.get(s.name, s.name)) for s in module.sources)
        outputs = {name: named[name] for name in whole}
        outputs |= {NORMS: lowering.squares} if lowering.squares is not None else {}
        module = replace(module, sources=sources, outputs=outputs, records=())
        program = compile_program(module, self._executor.info, states=self._states, off=self._off)
        self._executor.load(program)
        return program, lowering

    def close(self) -> None:
        """Unload all programs: the states they read are about to go."""
        for program, _ in self._programs.values():
            self._executor.unload(program.name)
        self._programs.clear()


class _Lowering(Lowering):
    """A training step that ends with gradients, where the optimisers would follow."""

    def __init__(self, graph: Graph):
        super().__init__(graph, "train", name="gradients")
        self.gradients: dict[str, Value] = {}
        self.parameters: list[str] = []  # those of the above that are parameters
        self.squares: Value | None = None  # norms², in the order of `gradients`
        self.behind: dict[str, Value] = {}  # sockets of subgraphs' instances
        self.columns: tuple[HostScalar, ...] = ()

    def run(self) -> Lowered | None:
        lowered = super().run()
        self.columns = lowered.scalars if lowered is not None else ()
        inner = {".".join(place): ".".join(end) for place, end in self.flat.behind.items()}
        self.behind = {name: self.gradients[end] for name, end in inner.items() if end in self.gradients}
        return lowered

    def _lower_optimiser(self, node: Node, declared: Declaration) -> None:
        assert isinstance(declared, Optimiser)
        inputs = self._inputs(node)
        if inputs is None or node.muted:
            return
        b, loss = self.builder, self._values(declared, {"loss": inputs["loss"]})["loss"][0]
        reached, chosen = values_behind(b, loss), self._chosen_by(node)
        trained = [s for s in b.sources.values() if _is_trained(s) and s.name not in self.frozen and chosen(s.name)]
        parameters = {s.name: s.value for s in trained if s.value in reached}
        after = depending(b, list(parameters.values()))
        places = {f"{n}.{s}": v for (n, s), v in self.results.items() if isinstance(v, Value) and v in after and v in reached}
        wanted = {name: value for name, value in (parameters | places).items() if name not in self.gradients}
        found = gradients(b, loss, list(wanted.values()))
        self.gradients |= dict(zip(wanted, found, strict=True))
        self.parameters += [name for name in wanted if name in parameters]
        squares = [_call("reshape", sum_of_squares(g), shape=(1,)) for g in found]
        if self.squares is not None:
            squares.insert(0, self.squares)
        while len(squares) > 1:
            squares = [_call("concat", *squares[i : i + JOINED], axis=0) for i in range(0, len(squares), JOINED)]
        self.squares = squares[0] if squares else None


def _is_trained(source: Source) -> bool:
    return source.role == "state" and source.group == "parameter"


def _plain(name: str) -> str:
    """Of data: its name as a first drawing of the session gives it, "node/train/socket" for "node/train@2/socket"."""
    node, split, socket = name.rsplit("/", 2)
    return f"{node}/{split.partition('@')[0]}/{socket}"


def _call(name: str, *args: Any, **params: Any) -> Value:
    declared = find(name)
    assert isinstance(declared, Operator)
    return declared(*args, **params)
