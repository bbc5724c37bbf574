"""Where the time of a step goes: GPU time of each pass, shared out over the nodes of the drawing, and a trace of it.

Passes are timed one by one, each alone on the device ("serialised"), so their sum is more than a step takes where passes of
one level run side by side. A pass that computes parts of several nodes is shared out by their arithmetic: an estimate.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from munet.engine.codegen.form import form_of
from munet.engine.codegen.glsl import flops_of
from munet.engine.execute.base import PassTime
from munet.engine.files import PathLike, write_file
from munet.engine.inspect import nodes_of
from munet.engine.ir.module import Op, Value
from munet.engine.passlist import ComputePass
from munet.engine.program import Program

PHASES = ("forward", "backward", "update")


@dataclass(frozen=True)
class TimedPass:
    """`us`: the median over the timed steps, in microseconds. `phase`: that of most of its arithmetic, one of PHASES."""

    index: int
    level: int
    name: str
    nodes: tuple[str, ...]
    us: float
    flops: int
    bytes_moved: int
    phase: str = "forward"


@dataclass(frozen=True)
class NodeTime:
    """A node's share of a step in microseconds. Node "" stands for counters, metric ring and what else belongs to none."""

    node: str
    forward_us: float = 0.0
    backward_us: float = 0.0
    update_us: float = 0.0

    @property
    def us(self) -> float:
        return self.forward_us + self.backward_us + self.update_us


@dataclass(frozen=True)
class Timings:
    """What `steps` steps, timed pass by pass, took. `step_us` is a step as it really runs; None where nobody has measured."""

    device: str
    steps: int
    passes: tuple[TimedPass, ...]
    nodes: tuple[NodeTime, ...]  # slowest first
    step_us: float | None = None
    level_us: tuple[float, ...] = ()  # each level as it really runs, its passes side by side

    @property
    def levels_us(self) -> float:
        """The levels one after the other: a step but for what lies between steps."""
        return sum(self.level_us)

    @property
    def serialised_us(self) -> float:
        return sum(p.us for p in self.passes)

    def node(self, name: str) -> NodeTime:
        """The node's share; nothing for one that no pass computes."""
        return next((found for found in self.nodes if found.node == name), NodeTime(name))

    def trace(self) -> str:
        """One step as Chrome's trace events: chrome://tracing and ui.perfetto.dev open it."""
        head = [{"ph": "M", "pid": 1, "name": "process_name", "args": {"name": self.device}}]
        head += [
            {"ph": "M", "pid": 1, "tid": tid, "name": "thread_name", "args": {"name": name}}
            for tid, name in ((1, "levels"), (2, "passes"))
        ]
        return json.dumps({"traceEvents": [*head, *self._events()], "displayTimeUnit": "ns"}) + "\n"

    def write_trace(self, path: PathLike) -> None:
        """Raises ProjectError when the file cannot be written."""
        write_file(path, self.trace().encode())

    def _events(self) -> Iterator[dict[str, object]]:
        now = start = 0.0
        for place, p in enumerate(self.passes):
            facts = {"index": p.index, "nodes": ", ".join(p.nodes), "flops": p.flops, "bytes": p.bytes_moved}
            yield {"ph": "X", "pid": 1, "tid": 2, "cat": "pass", "name": p.name, "ts": now, "dur": p.us, "args": facts}
            now += p.us
            if place + 1 == len(self.passes) or self.passes[place + 1].level != p.level:
                yield {"ph": "X", "pid": 1, "tid": 1, "cat": "level", "name": f"level {p.level}", "ts": start, "dur": now - start}
                start = now


def timings_of(
    program: Program,
    measured: Sequence[Sequence[PassTime]],
    device: str,
    optimisers: Collection[str] = (),
    step_us: float | None = None,
    levels: Sequence[Sequence[PassTime]] = (),
) -> Timings:
    """Of one or more steps of a program; each holds its passes in order, `levels` its levels. `optimisers` are such nodes."""
    passes = [p for stage in program.pass_lists for p in stage]
    medians = [statistics.median(step[index].us for step in measured) for index in range(len(passes))]
    totals: dict[str, dict[str, float]] = {}
    main_phases: list[str] = []
    for p, us in zip(passes, medians, strict=True):
        of_pass: dict[str, float] = dict.fromkeys(PHASES, 0.0)
        for (node, phase), share in shares(p, program, optimisers).items():
            phases = totals.setdefault(node, dict.fromkeys(PHASES, 0.0))
            phases[phase] += us * share
            of_pass[phase] += share
        main_phases.append(max(of_pass, key=of_pass.__getitem__))
    nodes = [NodeTime(node, *(phases[phase] for phase in PHASES)) for node, phases in totals.items()]
    timed = tuple(
        TimedPass(index, p.level, p.name, nodes_of(p), us, p.flops, p.bytes_read + p.bytes_written, phase)
        for index, (p, us, phase) in enumerate(zip(passes, medians, main_phases, strict=True))
    )
    level_us = tuple(statistics.median(times) for times in zip(*([t.us for t in step] for step in levels), strict=True))
    return Timings(device, len(measured), timed, tuple(sorted(nodes, key=lambda n: -n.us)), step_us, level_us)


def shares(compute_pass: ComputePass, program: Program, optimisers: Collection[str]) -> dict[tuple[str, str], float]:
    """Which part of a pass's arithmetic is whose, by (node, phase); the parts add up to 1."""
    results = {s.result for s in program.module.states if s.result is not None}
    weights: dict[tuple[str, str], float] = {}
    for op in plain_ops(compute_pass):
        key = _owner(op, results, optimisers)
        weights[key] = weights.get(key, 0.0) + max(1.0, moved_and_computed(op))
    total = sum(weights.values())
    return {key: weight / total for key, weight in weights.items()}


def plain_ops(compute_pass: ComputePass) -> Iterator[Op]:
    """The ops as they were before fusion."""
    for op in compute_pass.ops:
        if op.regions:
            yield from (inner for region in op.regions for inner in region.ops)
        else:
            yield op


def moved_and_computed(op: Op) -> float:
    """Operations of a plain op, an element written counted as one."""
    return float(sum(value.element_count for value in op.outputs) + flops_of(form_of(op)))


def _owner(op: Op, results: Collection[Value], optimisers: Collection[str]) -> tuple[str, str]:
    """Node and phase. Gradients carry "gradient" in their origin; updates are an optimiser's, or write a state."""
    node = op.origin[0] if op.origin else ""
    if "gradient" in op.origin[1:]:
        return node, "backward"
    if not node or node in optimisers or any(value in results for value in op.outputs):
        return node, "update"
    return node, "forward"
