"""States of a program as host arrays, and back: one transfer for each buffer, not for each state."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from munet.engine.execute.base import Array, Executor
from munet.engine.execute.storage import from_stored, to_stored
from munet.engine.ir.module import Source, Value
from munet.engine.program import Program

NOT_SAVED = "records"  # the group of the metric ring: what is in it has been read


def saved_states(program: Program) -> list[Source]:
    """All states that outlive the session."""
    return [state for state in program.module.states if state.group != NOT_SAVED]


def is_weight(state: Source) -> bool:
    """Whether predicting needs it: parameters and running statistics, no optimiser's moments, counters, random streams."""
    return "." not in state.group and state.group not in ("control", "random", NOT_SAVED)


def owner_of(state: str, nodes: Collection[str]) -> str:
    """The node that a state, "node/weight", belongs to; ids may hold "/" themselves. "" for none."""
    parts = state.split("/")
    paths = ("/".join(parts[:length]) for length in range(len(parts) - 1, 0, -1))
    return next((path for path in paths if path in nodes), "")


def read_value(executor: Executor, program: Program, value: Value) -> Array:
    """A copy of a value as it is after all that was submitted; waits for it."""
    place = program.placements[value]
    content = executor.read(place.buffer, offset_bytes=place.offset_bytes, size_bytes=place.size_bytes)
    return from_stored(content, value.dtype, value.shape).copy()


def write_value(executor: Executor, program: Program, value: Value, array: Array) -> None:
    place = program.placements[value]
    if place.size_bytes:
        executor.write(place.buffer, to_stored(array, value.dtype), offset_bytes=place.offset_bytes)


def read_states(executor: Executor, program: Program) -> dict[str, Array]:
    """Copies of all saved states by name."""
    buffers: dict[str, bytes] = {}
    found: dict[str, Array] = {}
    for source in saved_states(program):
        placement = program.state_placement(source.name)
        if placement.buffer not in buffers:
            buffers[placement.buffer] = executor.read(placement.buffer)
        content = buffers[placement.buffer][placement.offset_bytes : placement.end_bytes]
        found[source.name] = from_stored(content, source.value.dtype, source.value.shape).copy()
    return found


def write_states(executor: Executor, program: Program, arrays: Mapping[str, Array], only: Collection[str] | None = None) -> None:
    """Write all saved states. `only`: just those of these names, the others keep what they are."""
    if only is not None:
        for name in only:
            write_value(executor, program, program.module.source(name).value, arrays[name])
        return
    sizes = {spec.name: spec.size_bytes for spec in program.buffers}
    contents: dict[str, Array] = {}
    for source in saved_states(program):
        placement = program.state_placement(source.name)
        if placement.buffer not in contents:
            contents[placement.buffer] = np.zeros(sizes[placement.buffer], np.uint8)
        stored = np.ascontiguousarray(to_stored(arrays[source.name], source.value.dtype)).reshape(-1).view(np.uint8)
        contents[placement.buffer][placement.offset_bytes : placement.end_bytes] = stored
    for buffer, content in contents.items():
        executor.write(buffer, content)
