"""A drawing takes another's place while it trains: compiled beside it, its states moved over on the device.

States go by name, shape and dtype; nodes that were renamed keep theirs. What is new starts as drawn from the seed; what is gone
is dropped with its buffers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from munet.engine.compile import compile_program
from munet.engine.device import DeviceInfo
from munet.engine.evaluation import write_data
from munet.engine.execute.base import Executor
from munet.engine.graph import Graph
from munet.engine.initial import draw
from munet.engine.ir.module import Source
from munet.engine.lower import Lowered, lower
from munet.engine.passlist import Placement
from munet.engine.plan.buffers import pack_stride, place_states
from munet.engine.program import Program
from munet.engine.renaming import Renaming
from munet.engine.stages import Report, silent, within
from munet.engine.states import saved_states, write_states


@dataclass(frozen=True)
class Running:
    """A drawing, lowered, with the program that trains it."""

    lowered: Lowered
    program: Program


@dataclass(frozen=True)
class Successor:
    """A program that is loaded beside the one it follows; `move` fills its states. Names of states; `before`: old ones by new."""

    running: Running
    kept: tuple[str, ...]
    started: tuple[str, ...]
    dropped: tuple[str, ...]
    before: Mapping[str, str]

    def move(self, executor: Executor, old: Program, seed: int) -> None:
        """Take over the states of the program before, as they are after all that was submitted."""
        program = self.running.program
        sources = {s.name: s for s in saved_states(program)}
        _copy(executor, old, program, [(self.before[name], sources[name]) for name in self.kept])
        started = [sources[name] for name in self.started]
        # New buffers are zero.
        drawn = {s.name: draw(s, seed) for s in started if s.initial is not None and s.initial.kind != "zeros"}
        write_states(executor, program, drawn, only=drawn)


def succeed(
    executor: Executor,
    before: Running,
    graph: Graph,
    number: int,
    *,
    renames: Renaming,
    off: Collection[str],
    poison: bool,
    report: Report = silent,
) -> Successor:
    """Compile `graph` and load it beside what runs, with its data. `number` tells apart the drawings of a session.

    Raises ProjectError, what compiling and loading raise, and what `report` raises; what runs is untouched then.
    """
    report("lowering", 0.0)
    lowered = lower(graph, "train")
    there = _shared_data(before, lowered)
    sources = tuple(_renamed(s, there, number) for s in lowered.module.sources)
    lowered = replace(lowered, module=replace(lowered.module, name=f"train@{number}", sources=sources))
    places = _places(lowered, executor.info, number)
    program = compile_program(lowered.module, executor.info, states=places, off=off, report=within(report, 0.1, 0.3))
    executor.load(program, poison=poison, report=within(report, 0.3, 0.95))
    try:
        report("loading data", 0.95)
        write_data(executor, program, lowered, tuple(there.values()))
    except BaseException:  # the hook may raise anything
        executor.unload(program.name)
        raise
    new, old = {s.name: s for s in saved_states(program)}, {s.name: s for s in saved_states(before.program)}
    origins = renames.states_before(new.values(), lowered.flat.nodes)
    found = {name: was for name, was in origins.items() if was in old and _alike(new[name], old[was])}
    started, taken = tuple(name for name in new if name not in found), set(found.values())
    dropped = tuple(name for name in old if name not in taken)
    return Successor(Running(lowered, program), tuple(found), started, dropped, found)


def _alike(one: Source, other: Source) -> bool:
    return (one.value.shape, one.value.dtype) == (other.value.shape, other.value.dtype)


def _shared_data(before: Running, lowered: Lowered) -> dict[str, str]:
    """Data that is on the device already, of source nodes that have not changed: its name in the new module -> in the old."""
    same = {
        node.id
        for node in lowered.flat.nodes.values()
        if (old := before.lowered.flat.nodes.get(node.id)) and old.operator == node.operator and _settings(old) == _settings(node)
    }
    known = {_plain_name(s.name): s.name for s in before.program.module.sources if s.role == "data"}
    data = [s for s in lowered.module.sources if s.role == "data"]
    return {s.name: known[s.name] for s in data if s.name in known and s.name.rsplit("/", 2)[0] in same}


def _settings(node: object) -> Mapping[str, object]:
    """The parameters that say which data a source brings."""
    return {name: value for name, value in getattr(node, "params", {}).items() if name != "batch"}


def _plain_name(name: str) -> str:
    node, split, socket = name.rsplit("/", 2)
    return f"{node}/{split.partition('@')[0]}/{socket}"


def _renamed(source: Source, there: Mapping[str, str], number: int) -> Source:
    """Data under a name of its own unless it is there already: the buffer of that name may still be in use."""
    if source.role != "data":
        return source
    node, split, socket = source.name.rsplit("/", 2)
    return replace(source, name=there.get(source.name, f"{node}/{split}@{number}/{socket}"))


def _places(lowered: Lowered, device: DeviceInfo, number: int) -> dict[str, Placement]:
    """Where the states will lie: laid out as always, in buffers of their own."""
    places = place_states(lowered.module, device, {})
    return {source.name: replace(place, buffer=f"{place.buffer}@{number}") for source, place in places.items()}


def _copy(executor: Executor, old: Program, new: Program, states: Iterable[tuple[str, Source]]) -> None:
    """Copy states, given with their old names, on the device; neighbours that stay neighbours go in one copy."""
    runs: list[tuple[Placement, Placement]] = []
    ends: tuple[int, int] = (-1, -1)
    for was, source in sorted(states, key=lambda pair: _key(old.state_placement(pair[0]))):
        here, there = old.state_placement(was), new.state_placement(source.name)
        joins = bool(runs) and (runs[-1][0].buffer, runs[-1][1].buffer) == (here.buffer, there.buffer)
        if joins and ends == (here.offset_bytes, there.offset_bytes):
            first, target = runs[-1]
            size = here.end_bytes - first.offset_bytes
            runs[-1] = (replace(first, size_bytes=size), replace(target, size_bytes=size))
        else:
            runs.append((here, there))
        stride = pack_stride(source.value, executor.info)
        ends = (here.offset_bytes + stride, there.offset_bytes + stride)
    for here, there in runs:
        executor.copy(here.buffer, here.offset_bytes, there.buffer, there.offset_bytes, here.size_bytes)


def _key(place: Placement) -> tuple[str, int]:
    return place.buffer, place.offset_bytes
