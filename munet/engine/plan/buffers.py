"""plan_buffers: where every value of a module lies.

States lie in one arena a group, in order of declaration, so that groups of equal order (parameters, moments) have equal
layouts; data and feeds in buffers of their own; temporaries share one arena. Values that a packed op wants one after the other
get one block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from munet.engine.device import DeviceInfo
from munet.engine.errors import GraphError, Problem
from munet.engine.ir.module import Module, Source, Value
from munet.engine.passlist import Placement
from munet.engine.plan.aliases import overwrites
from munet.engine.plan.arena import align, place
from munet.engine.plan.levels import Schedule
from munet.engine.plan.lifetimes import Lifetime, joined, live_bytes, value_lifetimes
from munet.engine.program import BufferSpec, MemoryReport
from munet.engine.transforms.pack_updates import packs_of


@dataclass(frozen=True)
class Plan:
    """The result: placements of all values, buffers to allocate, and what the temporaries cost."""

    placements: Mapping[Value, Placement]
    buffers: tuple[BufferSpec, ...]
    memory: MemoryReport
    lifetimes: Mapping[Value, Lifetime]  # of temporaries, in levels
    overwritten: Mapping[Value, Value]  # result -> the input whose bytes it took


def plan_buffers(
    schedule: Schedule, device: DeviceInfo, *, states: Mapping[str, Placement] | None = None, alias: bool = True
) -> Plan:
    """`states` fixes places of states by name, as an earlier program laid them out; `alias=False` shares no bytes."""
    module = schedule.module
    placements: dict[Value, Placement] = {}
    buffers: list[BufferSpec] = []
    for source in module.sources:
        if source.role != "state":
            name = f"data/{source.name}" if source.role == "data" else f"{module.name}/feed/{source.name}"
            size = max(align(source.value.size_bytes, 16), 16)
            placements[source.value] = Placement(name, 0, source.value.size_bytes)
            buffers.append(BufferSpec(name, size, source.role))
    for source, placement in place_states(module, device, states or {}).items():
        placements[source.value] = placement
        if source.result is not None:
            placements[source.result] = placement
    buffers += _state_buffers(module, placements, states or {}, device)
    for result, value in schedule.in_place.items():
        placements[result] = placements[value]
    lifetimes = value_lifetimes(schedule, keep_all=not alias)
    blocks, taken = _blocks(schedule, lifetimes, device, alias)
    offsets, arena = place(blocks, device.storage_alignment)
    name = f"{module.name}/temporary"
    for block, offset in zip(blocks, offsets, strict=True):
        for value, start in _inside(block, offset, device):
            placements[value] = Placement(name, start, value.size_bytes)
    for value in lifetimes:  # in order of running: a result's place is known once its input's is
        if value in taken:
            placements[value] = placements[taken[value]]
    if arena:
        buffers.append(BufferSpec(name, arena, "temporary"))
    _check_range(module, placements, device)
    real = list(value_lifetimes(schedule).values())
    unshared = sum(align(max(t.size_bytes, 16), device.storage_alignment) for t in real)
    report = MemoryReport(arena, unshared, live_bytes(blocks, schedule.level_count))
    return Plan(placements, tuple(buffers), report, lifetimes, taken)


def _blocks(
    schedule: Schedule, lifetimes: Mapping[Value, Lifetime], device: DeviceInfo, alias: bool
) -> tuple[list[Lifetime], dict[Value, Value]]:
    """What the arena places: packs as one block each, chains of overwriting results as one, the rest alone."""
    packs = [pack for op in schedule.module.ops if len(op.regions) > 1 for pack in packs_of(op) if pack[0] in lifetimes]
    fixed = {value for pack in packs for value in pack}
    taken = overwrites(schedule, lifetimes, fixed) if alias else {}
    blocks = [joined([lifetimes[v] for v in pack], sum(pack_stride(v, device) for v in pack)) for pack in dict.fromkeys(packs)]
    chains: dict[Value, list[Lifetime]] = {}
    root: dict[Value, Value] = {}
    for value, lifetime in lifetimes.items():
        if value not in fixed:
            root[value] = root[taken[value]] if value in taken else value
            chains.setdefault(root[value], []).append(lifetime)
    for first, members in chains.items():
        whole = joined(members, first.size_bytes)
        blocks.append(Lifetime((first,), whole.first, whole.last, first.size_bytes))
    return blocks, taken


def pack_stride(value: Value, device: DeviceInfo) -> int:
    """Bytes from one member of a pack to the next."""
    return align(max(value.size_bytes, 16), max(device.storage_alignment, 16))


def _inside(block: Lifetime, offset: int, device: DeviceInfo) -> list[tuple[Value, int]]:
    places: list[tuple[Value, int]] = []
    for value in block.values:
        places.append((value, offset))
        offset += pack_stride(value, device)
    return places


def place_states(module: Module, device: DeviceInfo, known: Mapping[str, Placement]) -> dict[Source, Placement]:
    """States one after the other in their group's arena; those in `known` stay where they are."""
    ends: dict[str, int] = {}
    places: dict[Source, Placement] = {}
    shared = {placement.buffer for placement in known.values()}
    for source in module.states:
        if source.name in known:
            places[source] = known[source.name]
            continue
        if f"state/{source.group}" in shared:
            raise ValueError(
                f"state {source.name} would grow the group {source.group!r}, whose buffer another program has laid out"
            )
        offset = ends.get(source.group, 0)
        places[source] = Placement(f"state/{source.group}", offset, source.value.size_bytes)
        ends[source.group] = offset + pack_stride(source.value, device)
    return places


def _state_buffers(
    module: Module, placements: Mapping[Value, Placement], known: Mapping[str, Placement], device: DeviceInfo
) -> list[BufferSpec]:
    sizes: dict[str, int] = {}
    for placement in (*known.values(), *(placements[s.value] for s in module.states)):
        end = align(placement.offset_bytes + max(placement.size_bytes, 16), max(device.storage_alignment, 16))
        sizes[placement.buffer] = max(sizes.get(placement.buffer, 0), end)
    used = {placements[s.value].buffer for s in module.states}
    return [BufferSpec(name, size, "state") for name, size in sizes.items() if name in used]


def _check_range(module: Module, placements: Mapping[Value, Placement], device: DeviceInfo) -> None:
    origin = {v: op.origin for op in module.ops for v in op.outputs} | {s.value: tuple(s.name.split("/")) for s in module.sources}
    for value, placement in placements.items():
        if placement.size_bytes > device.max_storage_range:
            path = origin.get(value, ())
            raise GraphError(
                Problem(
                    "too-large",
                    f"{value} takes {placement.size_bytes:,} bytes",
                    rule=f"{device.name} binds at most {device.max_storage_range:,} bytes at once",
                    cure="a smaller batch, or a device with a larger maxStorageBufferRange",
                    node=path[0] if path else "",
                )
            )


def dead_ranges(
    schedule: Schedule, plan: Plan, passes: Sequence[tuple[int, Sequence[Value]]]
) -> tuple[tuple[Placement, ...], ...]:
    """For each pass (its level, the values it writes): bytes of the temporary arena that hold nothing when it starts."""
    name = f"{schedule.module.name}/temporary"
    arena = next((b.size_bytes for b in plan.buffers if b.name == name), 0)
    alive: list[Value] = []
    result: list[tuple[Placement, ...]] = []
    true_life = value_lifetimes(schedule)
    for level, outputs in passes:
        alive = [v for v in alive if true_life[v].last >= level]
        busy = sorted((plan.placements[v].offset_bytes, plan.placements[v].end_bytes) for v in alive)
        free: list[Placement] = []
        position = 0
        for start, end in busy:
            low, high = align(position, 4), start // 4 * 4
            if high > low:
                free.append(Placement(name, low, high - low))
            position = max(position, end)
        if arena > align(position, 4):
            free.append(Placement(name, align(position, 4), arena - align(position, 4)))
        result.append(tuple(free))
        alive += [v for v in outputs if v in true_life and plan.placements[v].buffer == name]
    return tuple(result)
