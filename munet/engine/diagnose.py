"""Finds what made a step fail: replays it op by op on the device, every value kept, and names the first that is not finite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from munet.engine.compile import compile_program
from munet.engine.evaluation import with_own_states
from munet.engine.execute.base import Array, Executor
from munet.engine.execute.storage import from_stored, to_stored
from munet.engine.ir.module import Module, Op, Source, Value
from munet.engine.program import Program

# Plain ops, each in a pass of its own, none overwriting another's result: what is left is what was drawn.
PLAIN = ("canonicalise", "merge_equal_ops", "split_sums", "fuse", "pack_updates", "alias", "join", "assets")


@dataclass(frozen=True)
class Culprit:
    """What gave the first number that is not finite: an op whose inputs are finite, or a state that held one before the step."""

    node: str
    operator: str  # "" for a state
    text: str  # "log gives NaN in 3 of 64 elements; it read -0.5 to 2"


def find_culprit(executor: Executor, module: Module, program: Program, step: int, feeds: Mapping[str, Array]) -> Culprit | None:
    """Replay step `step` (from 0) of the training module over the states as they are; changes none of them.

    `feeds` are that step's rows. None if every result is finite this time. Raises OutOfDeviceMemory when keeping
    every value does not fit.
    """
    replayed = _without_updates(with_own_states(module, f"{module.name}/replay"))
    states = {s.name: program.placements[s.value] for s in program.module.states}
    plain = compile_program(replayed, executor.info, states=states, off=PLAIN)
    executor.load(plain)
    counter = next((s for s in plain.module.states if s.name == f"{replayed.name}/step"), None)
    if counter is not None:
        place = plain.placements[counter.value]
        executor.write(place.buffer, np.asarray([step], np.int32), offset_bytes=place.offset_bytes)
    for source in plain.module.states:
        if source.name.endswith("/failed") and source.name.startswith(replayed.name):
            place = plain.placements[source.value]
            executor.write(place.buffer, to_stored(np.zeros((), np.int32), source.value.dtype), offset_bytes=place.offset_bytes)
    executor.wait(executor.submit(plain, first_step=step, steps=1, feeds=feeds))
    read = _Reader(executor, plain)
    shared = [source for source in plain.module.states if not source.name.startswith(f"{plain.name}/")]
    held = next((found for source in shared if (found := _look_at_state(source, read)) is not None), None)
    if held is not None:
        executor.unload(plain.name)
        return held
    ops = (op for passes in plain.pass_lists for p in passes for op in p.ops)
    culprit = next((found for op in ops if (found := _look_at(op, read)) is not None), None)
    executor.unload(plain.name)
    return culprit


def _without_updates(module: Module) -> Module:
    """The step without what it does to the states that it shares with others."""
    own = f"{module.name}/"
    sources = tuple(s if s.name.startswith(own) or s.role != "state" else replace(s, result=None) for s in module.sources)
    kept = {s.result for s in module.states if s.result is not None and not s.name.startswith(own)}
    outputs = dict(module.outputs)
    outputs |= {f"update {i}": value for i, value in enumerate(kept) if value is not None}
    return replace(module, sources=sources, outputs=outputs)


class _Reader:
    def __init__(self, executor: Executor, program: Program):
        self._executor, self._program = executor, program

    def __call__(self, value: Value) -> Array:
        place = self._program.placements[value]
        content = self._executor.read(place.buffer, offset_bytes=place.offset_bytes, size_bytes=place.size_bytes)
        return from_stored(content, value.dtype, value.shape)


def _look_at_state(source: Source, read: _Reader) -> Culprit | None:
    """A state that came into the step with a number that is not finite: nobody made it in this one."""
    if not source.value.dtype.is_float or source.group == "schedule":  # a plateau's best loss starts at infinity
        return None
    found = read(source.value)
    bad = ~np.isfinite(found)
    if not bad.any():
        return None
    kind = "NaN" if np.isnan(found).any() else "infinity"
    text = f'"{source.name}" came into it with {kind} in {int(bad.sum()):,} of {found.size:,} elements: its update overflowed'
    return Culprit(source.name.split("/")[0], "", f"{text}, or the checkpoint held it")


def _look_at(op: Op, read: _Reader) -> Culprit | None:
    for value in op.outputs:
        if not value.dtype.is_float:
            continue
        found = read(value)
        bad = ~np.isfinite(found)
        if not bad.any():
            continue
        inputs = [read(v) for v in op.inputs if v.dtype.is_float]
        if all(np.isfinite(array).all() for array in inputs):
            kind = "NaN" if np.isnan(found).any() else "infinity"
            span = ", ".join(f"{array.min():.4g} to {array.max():.4g}" for array in inputs if array.size)
            where = f"{op.operator} gives {kind} in {int(bad.sum()):,} of {found.size:,} elements"
            return Culprit(op.origin[0] if op.origin else "", op.operator, f"{where}; it read {span}" if span else where)
    return None
