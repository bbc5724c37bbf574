"""Orders ops into levels with no hazard inside a level, so that one barrier between levels is enough.

Hazards: a value is read after it is written; a state is written, in place, after all its old readers. Where a state
cannot be written in place (a reader of the old value needs the new one, or the writer reads it at other places) the new value
gets a place of its own and a copy moves it at the end of the step.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace

from munet.engine.codegen.form import form_of, is_packed
from munet.engine.coordinates import kernel_of
from munet.engine.ir.module import Module, Op, Region, Value, users
from munet.engine.kernels import Site, Update, Watch
from munet.engine.operator import Operator, find
from munet.engine.scalar import loads


@dataclass(frozen=True)
class Schedule:
    """The module (with copies added), its ops in running order with their levels, and values that share a state's place."""

    module: Module
    level: Mapping[Op, int]
    in_place: Mapping[Value, Value]  # a state's result -> the state's value, where it is written over it

    @property
    def level_count(self) -> int:
        return 1 + max(self.level.values(), default=-1)


def order_levels(module: Module) -> Schedule:
    module, in_place = _settle_states(module)
    before = _predecessors(module, in_place)
    level: dict[Op, int] = {}
    for op in _topological(module.ops, before):
        level[op] = max((level[p] for p in before[op]), default=-1) + (0 if is_watch(op) else 1)
    position = {op: i for i, op in enumerate(module.ops)}
    ordered = sorted(module.ops, key=lambda op: (level[op], position[op]))
    return Schedule(replace(module, ops=tuple(ordered)), level, in_place)


def _predecessors(module: Module, in_place: Mapping[Value, Value]) -> dict[Op, list[Op]]:
    producer = {v: op for op in module.ops for v in op.outputs}
    readers = users(module.ops)
    before: dict[Op, list[Op]] = {op: [producer[v] for v in op.inputs if v in producer] for op in module.ops}
    for result, state in in_place.items():
        writer = producer[result]
        before[writer] += [reader for reader in readers.get(state, []) if reader is not writer]
    return before


def _topological(ops: tuple[Op, ...], before: Mapping[Op, list[Op]]) -> list[Op]:
    """Raises ValueError on a circle: a fault of fusion or of in-place writing."""
    done: dict[Op, None] = {}
    open_ops: set[Op] = set()
    for root in ops:
        stack: list[tuple[Op, bool]] = [(root, False)]
        while stack:
            op, ready = stack.pop()
            if op in done:
                continue
            if ready:
                done[op] = None
                open_ops.discard(op)
            elif op in open_ops:
                raise ValueError(f"{op} waits for itself")
            else:
                open_ops.add(op)
                stack.append((op, True))
                stack += [(p, False) for p in before[op] if p not in done]
    return list(done)


def _settle_states(module: Module) -> tuple[Module, dict[Value, Value]]:
    """Which results are written over their state; the others get a copy at the end.

    An output that is a state as it was before the step is copied too: it is read when the step is over.
    """
    module = _with_copied_outputs(module)
    producer = {v: op for op in module.ops for v in op.outputs}
    readers = users(module.ops)
    in_place: dict[Value, Value] = {}
    waiting: dict[Op, list[Op]] = {}  # writers that wait for an op because it reads the state they overwrite
    behind: tuple[Op | None, set[Op]] = (None, set())
    copies: dict[str, Op] = {}
    outputs = set(module.outputs.values())
    for source in module.states:
        result = source.result
        if result is None or result is source.value:
            continue
        writer = producer.get(result)
        fine = (
            writer is not None
            and result not in in_place
            and (is_update(writer) or is_watch(writer) or reads_in_place(writer, source.value, result))
        )
        if fine and writer is not None and not (result in outputs and not is_update(writer)):
            if writer is not behind[0]:  # a packed op writes many states, one after the other
                behind = (writer, _reachable(writer, readers, waiting))
            others = [reader for reader in readers.get(source.value, []) if reader is not writer]
            if not any(reader in behind[1] for reader in others):
                in_place[result] = source.value
                for reader in others:
                    waiting.setdefault(reader, []).append(writer)
                continue
        copies[source.name] = _copy(result, source.value)
    if copies:
        sources = tuple(replace(s, result=copies[s.name].output) if s.name in copies else s for s in module.sources)
        in_place |= {copies[s.name].output: s.value for s in module.sources if s.name in copies}
        module = replace(module, ops=(*module.ops, *copies.values()), sources=sources)
    return module, in_place


def is_watch(op: Op) -> bool:
    """Whether the op is done by those who make what it reads, in their own passes."""
    return not op.regions and isinstance(kernel_of(op), Watch)


def is_update(op: Op) -> bool:
    """Whether the op writes part of its first input in place by its very meaning."""
    ops = op.regions[0].ops if op.regions else (op,)
    return any(isinstance(kernel_of(inner), Update) for inner in ops)


def _with_copied_outputs(module: Module) -> Module:
    changing = {source.value for source in module.states if source.result is not None}
    copies = {value: _copy(value, value) for value in module.outputs.values() if value in changing}
    if not copies:
        return module
    outputs = {name: copies[value].output if value in copies else value for name, value in module.outputs.items()}
    return replace(module, ops=(*copies.values(), *module.ops), outputs=outputs)


def _copy(value: Value, like: Value) -> Op:
    declared = find("stop_gradient")
    assert isinstance(declared, Operator)
    inside = Value(like.shape, like.dtype, like.hint)
    op = Op(declared.name, (value,), (inside,), ("x",))
    params = {"kind": "map", "space": like.shape, "axes": ()}
    return Op(
        "fused", (value,), (inside,), params=params, regions=(Region((value,), (op,), (inside,)),), origin=("copy", like.hint)
    )


def _reachable(start: Op, readers: Mapping[Value, list[Op]], waiting: Mapping[Op, list[Op]]) -> set[Op]:
    """Ops that come after `start`, because they read what it leads to or overwrite what that reads; without it."""
    found: set[Op] = set()
    pending = [start]
    while pending:
        op = pending.pop()
        for later in (*(r for value in op.outputs for r in readers.get(value, [])), *waiting.get(op, [])):
            if later not in found:
                found.add(later)
                pending.append(later)
    return found - {start}


@functools.lru_cache(maxsize=1)
def _regions_reading(op: Op) -> dict[Value, list[Region]]:
    """The bodies of a packed op by what they read. Remembered for one op: each of its values is asked for in turn."""
    found: dict[Value, list[Region]] = {}
    for region in op.regions:
        for value in dict.fromkeys(region.inputs):
            found.setdefault(value, []).append(region)
    return found


def _alone(region: Region) -> Op:
    """One body of a packed op as an op of its own."""
    params = {"kind": "map", "space": region.outputs[0].shape, "axes": ()}
    return Op("fused", region.inputs, region.outputs, params=params, regions=(region,))


def reads_in_place(op: Op, value: Value, result: Value) -> bool:
    """Whether `result` may overwrite `value` while the op runs: each element of `value` is read only by the invocation that
    writes the same element, before it does."""
    if is_packed(op):
        return all(result in r.outputs and reads_in_place(_alone(r), value, result) for r in _regions_reading(op).get(value, ()))
    if value not in op.inputs:
        return True
    form = form_of(op)
    if form.kind != "map":
        return False
    if value.shape != result.shape or value.dtype is not result.dtype:
        return False
    where = form.coordinates()
    target = where.at[result]
    pending = [(v, where.at[v]) for v in form.outputs]
    producer = {v: o for o in form.ops for v in o.outputs}
    seen: set[object] = set()
    while pending:
        current, index = pending.pop()
        if (current, index) in seen:
            continue
        seen.add((current, index))
        if current is value:
            if index != target:
                return False
        elif current in producer:
            inner = producer[current]
            element = kernel_of(inner).element(Site(inner), inner.outputs.index(current), index)
            pending += [(load.value, load.index) for load in loads(element)]
    return True
