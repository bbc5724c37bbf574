"""Packs the element-wise updates of all parameters into one op: an optimiser step over the network is one pass.

Updates with the same body qualify. A packed op holds one region a parameter; planning lays the tensors of each
position (parameters, gradients, moments) one after the other in the same order, so that the kernel is one element-wise
pass over the whole stretch, padding between them included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from munet.engine.device import DeviceInfo
from munet.engine.ir.module import Module, Op, Region, Source, Value, in_running_order


def pack_updates(module: Module, device: DeviceInfo) -> Module:
    states = {s.value: s for s in module.states} | {s.result: s for s in module.states if s.result is not None}
    packable: dict[Any, list[Op]] = {}
    for op in module.ops:
        if op.params.get("kind") == "step" and op.regions and (key := _key(op.regions[0], states)) is not None:
            packable.setdefault(key, []).append(op)
    module = _clustered(module, [[states[v].name for op in ops for v in op.outputs] for ops in packable.values()])
    order = _state_order(module)
    packed: dict[Op, Op | None] = {}
    taken: set[Value] = set()
    for ops in packable.values():
        ops.sort(key=lambda op: order[_first_state(op.regions[0], states).name])
        for run in _runs(ops, states, order, taken):
            if len(run) > 1:
                packed |= dict.fromkeys(run, None)
                packed[run[-1]] = _pack(run)
                taken.update(v for op in run for v in op.inputs if v not in states)
    return module.replace_ops(in_running_order([chosen for op in module.ops if (chosen := packed.get(op, op)) is not None]))


def _clustered(module: Module, alike: Sequence[Sequence[str]]) -> Module:
    """The states of each group so that those that are updated alike lie together: weights with decay, then those without."""
    rank = {name: i for i, names in enumerate(alike) for name in names}
    groups: dict[str, list[Source]] = {}
    for source in module.states:
        groups.setdefault(source.group, []).append(source)
    following = {group: iter(sorted(held, key=lambda s: rank.get(s.name, -1))) for group, held in groups.items()}
    return replace(module, sources=tuple(next(following[s.group]) if s.role == "state" else s for s in module.sources))


def _state_order(module: Module) -> dict[str, int]:
    """Position of each state within its group."""
    counts: dict[str, int] = {}
    order: dict[str, int] = {}
    for source in module.states:
        order[source.name] = counts.get(source.group, 0)
        counts[source.group] = order[source.name] + 1
    return order


def _first_state(region: Region, states: Mapping[Value, Source]) -> Source:
    return next(states[v] for v in (*region.outputs, *region.inputs) if v in states and v.rank)


def _key(region: Region, states: Mapping[Value, Source]) -> tuple[Any, ...] | None:
    """Equal for bodies that do the same to each element; None if the body is not purely element-wise over one shape."""
    shape = region.outputs[0].shape
    names: dict[Value, Any] = {}
    for position, value in enumerate(region.inputs):
        if value.shape == shape and shape:
            state = states.get(value)
            names[value] = ("in", position, state.group if state else "")
        elif value.rank == 0 or value in states or not _is_tensor(value, region):
            names[value] = ("shared", id(value))
        else:
            return None
    body: list[Any] = []
    for op in region.ops:
        if any(v.shape != shape and v.rank for v in op.outputs):
            return None
        for value in op.outputs:
            names[value] = ("op", len(body), value.rank > 0)
        params = () if op.operator == "expand" else tuple(op.params.items())
        body.append(
            (op.operator, op.sockets, params, tuple(names[v] for v in op.inputs), tuple(v.dtype.name for v in op.outputs))
        )
    outputs = tuple((names[v], states[v].group if v in states else None) for v in region.outputs)
    if not shape or any(group is None for _, group in outputs):
        return None
    return (*body, outputs)


def _is_tensor(value: Value, region: Region) -> bool:
    """Whether an element-wise op of the body reads the value as a tensor (not as the row of host scalars)."""
    return any(value in op.inputs and op.operator != "take_scalar" for op in region.ops)


def _runs(ops: Sequence[Op], states: Mapping[Value, Source], order: Mapping[str, int], taken: set[Value]) -> list[list[Op]]:
    """Stretches of ops whose states follow each other without a gap in every group, and whose gradients are free to be placed."""
    runs: list[list[Op]] = []
    already: set[Value] = set()  # what the last run reads
    made: set[Value] = set()  # and what it writes
    for op in ops:
        follows = bool(runs) and _follow(runs[-1][-1].regions[0], op.regions[0], states, order)
        follows = follows and not any(v in made for v in op.inputs) and not any(v in already for v in op.outputs)
        placed = [v for v in op.inputs if v.shape == op.outputs[0].shape and v not in states]
        free = not any(v in taken for v in placed)
        if follows and free and not any(v in already for v in placed):
            runs[-1].append(op)
        else:
            runs.append([op])
            already.clear()
            made.clear()
        already.update(op.inputs)
        made.update(op.outputs)
    return runs


def _follow(first: Region, second: Region, states: Mapping[Value, Source], order: Mapping[str, int]) -> bool:
    """Whether all states that the second body reads and writes lie right behind those of the first."""
    pairs = [*zip(first.outputs, second.outputs, strict=True), *zip(first.inputs, second.inputs, strict=True)]
    placed = [(states[a], states[b]) for a, b in pairs if a is not b and a.rank and a in states and b in states]
    return all(order[b.name] == order[a.name] + 1 for a, b in placed)


def _pack(run: Sequence[Op]) -> Op:
    inputs = tuple(dict.fromkeys(v for op in run for v in op.inputs))
    outputs = tuple(v for op in run for v in op.outputs)
    names = run[0].origin[:1]
    return replace(
        run[0],
        operator="packed",
        inputs=inputs,
        outputs=outputs,
        params={"kind": "step"},
        regions=tuple(op.regions[0] for op in run),
        origin=names,
    )


def packs_of(op: Op) -> list[tuple[Value, ...]]:
    """For each tensor position of a packed op, the values that must lie one after the other."""
    first = op.regions[0]
    shape = first.outputs[0].shape
    packs = [tuple(region.inputs[i] for region in op.regions) for i, v in enumerate(first.inputs) if v.shape == shape]
    packs += [tuple(region.outputs[i] for region in op.regions) for i in range(len(first.outputs))]
    return packs
