"""emit_program: levels and placements -> Program. Writes each op's kernel and bindings; decides nothing about order or memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from munet.engine.builder import FEED_ROWS
from munet.engine.codegen.asset_choice import Choice
from munet.engine.codegen.contraction_asset import ASSET, plan_contraction
from munet.engine.codegen.contraction_include import write_variant
from munet.engine.codegen.form import Form, flattened, form_of, is_packed
from munet.engine.codegen.glsl import Buffer, flops_of, write_shader
from munet.engine.codegen.parts import Part, plan_part
from munet.engine.codegen.traffic import bytes_read, bytes_written
from munet.engine.device import DeviceInfo
from munet.engine.dtypes import U8
from munet.engine.errors import GraphError, Problem
from munet.engine.ir.module import Module, Op, Origin, Value
from munet.engine.passlist import Binding, ComputePass, Kernel, PassList, Placement
from munet.engine.plan.buffers import Plan, dead_ranges
from munet.engine.plan.levels import Schedule, is_watch
from munet.engine.program import Feed, Program, Records
from munet.engine.transforms.pack_updates import packs_of

MAX_PARTS = 8  # ops in one pass
SMALL_PASS = 512  # workgroups; of those with more, only one goes into a pass, so that the device stays full
MAX_BINDINGS = 24


@dataclass(frozen=True)
class Unit:
    """An op ready to be emitted: its part of a shader and where its values lie. `choice` is the asset variant that computes it
    in a pass of its own, None for a generated kernel; `reason` says why."""

    op: Op
    part: Part
    places: Mapping[Value, Placement]
    choice: Choice | None = None
    reason: str = ""


def emit_program(schedule: Schedule, plan: Plan, device: DeviceInfo, *, join: bool = True, assets: bool = True) -> Program:
    """`join` lets ops of one level share a pass, `assets` lets shader assets stand in for generated kernels."""
    module = schedule.module
    watches = [op for op in module.ops if is_watch(op)]
    flags = {value: watch.output for watch in watches for value in watch.inputs}
    levels: dict[int, list[Unit]] = {}
    for op in module.ops:
        if op not in watches:
            levels.setdefault(schedule.level[op], []).append(_unit(op, plan.placements, device, flags, assets))
    passes = [
        _emit_pass(units, level, device)
        for level, waiting in sorted(levels.items())
        for units in (_joined(waiting, device) if join else [[unit] for unit in waiting])
    ]
    passes = _with_riders(passes, watches, schedule)
    dead = dead_ranges(schedule, plan, [(p.level, [v for op in p.ops for v in op.outputs]) for p in passes])
    return Program(
        module.name,
        (PassList(tuple(passes)),),
        plan.buffers,
        plan.placements,
        module,
        _feeds(module, plan.placements),
        _records(module, plan.placements),
        plan.memory,
        dead,
    )


def _with_riders(passes: Sequence[ComputePass], watches: Sequence[Op], schedule: Schedule) -> list[ComputePass]:
    """Each watch with the last pass of its level: by then all that it reads has been made."""
    riders: dict[int, list[Op]] = {}
    for watch in watches:
        last = max(i for i, p in enumerate(passes) if p.level <= schedule.level[watch])
        riders.setdefault(last, []).append(watch)
    return [replace(p, riders=tuple(riders[i])) if i in riders else p for i, p in enumerate(passes)]


def _unit(op: Op, placements: Mapping[Value, Placement], device: DeviceInfo, flags: Mapping[Value, Value], assets: bool) -> Unit:
    """`flags`: for each value that is watched, what to set if it is not finite."""
    if is_packed(op):
        form, places = _packed_form(op, placements)
    else:
        form = form_of(op)
        places = {value: placements[value] for value in (*form.inputs, *form.outputs)}
    choice, reason = plan_contraction(form, device) if assets and form.kind == "contraction" else (None, "")
    if any(v.dtype is U8 for v in form.outputs) and "storage_8bit" not in device.features:
        raise GraphError(
            Problem(
                "dtype-unsupported",
                "bytes are computed and kept here",
                rule=f"{device.name} has no 8-bit storage",
                cure="a cast to i32 or f32 before it",
                node=op.origin[0] if op.origin else "",
            )
        )
    try:
        part = plan_part(form, device)
    except GraphError as error:
        raise GraphError(error.problem.at(node=op.origin[0] if op.origin else "")) from None
    watched = frozenset(v for v in form.outputs if v in flags)
    for flag in dict.fromkeys(flags[v] for v in watched):
        part = replace(part, watched=watched, flag=flag)
        places[flag] = placements[flag]
    return Unit(op, part, places, choice, reason)


def _joined(units: Sequence[Unit], device: DeviceInfo) -> list[list[Unit]]:
    """Ops of one level shared out over few passes: small ones ride along with others."""
    alone = [[unit] for unit in units if unit.choice is not None]
    bins: list[list[Unit]] = []
    generated = [unit for unit in units if unit.choice is None]
    for unit in sorted(generated, key=lambda u: -u.part.groups(u.part.workgroup)):
        for chosen in bins:
            if _fits(unit, chosen, device):
                chosen.append(unit)
                break
        else:
            bins.append([unit])
    return alone + bins


def _fits(unit: Unit, others: Sequence[Unit], device: DeviceInfo) -> bool:
    bindings = {(place, value.dtype.name) for u in (*others, unit) for value, place in u.places.items()}
    small = unit.part.groups(unit.part.workgroup) <= SMALL_PASS
    # A larger workgroup would slow down the large op that is there already.
    if unit.part.workgroup > others[0].part.workgroup and others[0].part.groups(others[0].part.workgroup) > SMALL_PASS // 4:
        return False
    return small and len(others) < MAX_PARTS and len(bindings) <= min(MAX_BINDINGS, device.max_storage_buffers)


def _emit_pass(units: Sequence[Unit], level: int, device: DeviceInfo) -> ComputePass:
    bindings, buffers = _bind(units)
    choice = units[0].choice
    if choice is not None:
        kernel, grid, flops = _asset_kernel(units[0], choice, buffers), choice.grid, flops_of(units[0].part.form)
    else:
        shader = write_shader([unit.part for unit in units], buffers, device)
        kinds = "+".join(dict.fromkeys(unit.part.form.kind for unit in units))
        kernel = Kernel(kinds, shader.glsl, len(buffers), reason=f"generated: {'; '.join(map(_reason, units))}")
        grid, flops = shader.grid, shader.flops
    ops = tuple(unit.op for unit in units)
    origins = tuple(dict.fromkeys(origin for op in ops for origin in _origins(op)))
    return ComputePass(" | ".join(map(_name, ops)), ops, kernel, bindings, grid, level, flops=flops, origins=origins)


def _asset_kernel(unit: Unit, choice: Choice, buffers: Sequence[Buffer]) -> Kernel:
    return Kernel(
        f"{ASSET}/{choice.variant.name}",
        write_variant(unit.part.form, choice, buffers, unit.part.watched, unit.part.flag),
        len(buffers),
        constants=choice.variant.specialization(choice.configuration),
        variant=choice.variant.name,
        reason=unit.reason,
    )


def _reason(unit: Unit) -> str:
    part = unit.part
    lanes = f", {part.lanes} lanes" if part.lanes > 1 else ""
    block = f", block {'x'.join(str(count) for _, count in part.block)}" if part.block else ""
    return f"{part.form.kind}{lanes}{block}{f', {unit.reason}' if unit.reason else ''}"


def _packed_form(op: Op, placements: Mapping[Value, Placement]) -> tuple[Form, dict[Value, Placement]]:
    """A packed op as one long element-wise kernel, each of its tensors a stretch of an arena."""
    stretches = {pack[0]: _stretch(pack, placements) for pack in packs_of(op)}
    count = max(stretch.size_bytes for stretch in stretches.values()) // 4
    flat_op, flat = flattened(op.regions[0], count)
    places = {flat[value]: stretches.get(value) or placements[value] for value in (*op.regions[0].inputs, *op.regions[0].outputs)}
    return form_of(flat_op), places


def _stretch(pack: Sequence[Value], placements: Mapping[Value, Placement]) -> Placement:
    first, last = placements[pack[0]], placements[pack[-1]]
    base = first.offset_bytes
    for before, after in pairwise(pack):
        if placements[before].end_bytes > placements[after].offset_bytes:
            raise ValueError(f"{after} is not placed behind {before}")
    return Placement(first.buffer, base, last.end_bytes - base)


def _bind(units: Sequence[Unit]) -> tuple[tuple[Binding, ...], list[Buffer]]:
    """One binding a place: an input and the result that overwrites it are the same buffer to the shader."""
    values: dict[tuple[Placement, str], dict[Value, None]] = {}
    readable: set[tuple[Placement, str]] = set()
    writable: set[tuple[Placement, str]] = set()
    read: dict[tuple[Placement, str], int] = {}
    written: dict[tuple[Placement, str], int] = {}
    for unit in units:
        form = unit.part.form
        for value in (*form.inputs, *form.outputs):
            key = (unit.places[value], value.dtype.name)
            values.setdefault(key, {})[value] = None
            if value in form.outputs:
                writable.add(key)
                written[key] = written.get(key, 0) + bytes_written(form, value)
            elif not (form.kind == "update" and value is form.ops[-1].inputs[0]):
                readable.add(key)
                read[key] = read.get(key, 0) + bytes_read(form, value)
        if unit.part.flag is not None:
            key = (unit.places[unit.part.flag], unit.part.flag.dtype.name)
            values.setdefault(key, {})[unit.part.flag] = None
            writable.add(key)
    bindings, buffers = [], []
    for key, held in values.items():
        access = "read_write" if key in readable and key in writable else "read" if key in readable else "write"
        bindings.append(Binding(key[0], access, next(iter(held)), read.get(key), written.get(key)))
        buffers.append(Buffer(tuple(held), key in readable, key in writable))
    return tuple(bindings), buffers


def _name(op: Op) -> str:
    """The pass's name: the kinds of its ops, plumbing and views left out, the first few of them."""
    ops = op.regions[0].ops if op.regions else (op,)
    quiet = {"constant", "take_scalar", "take_row", "reshape", "expand", "transpose", "flatten", "stop_gradient"}
    names = [inner.operator for inner in ops if inner.operator not in quiet] or [ops[-1].operator]
    text = "+".join(names[:4]) + ("+..." if len(names) > 4 else "")
    return f"{text} x{len(op.regions)}" if len(op.regions) > 1 else text


def _origins(op: Op) -> tuple[Origin, ...]:
    inner = [o.origin for region in op.regions for o in region.ops if o.origin]
    return tuple(dict.fromkeys([op.origin, *inner] if op.origin else inner))


def _feeds(module: Module, placements: Mapping[Value, Placement]) -> tuple[Feed, ...]:
    return tuple(
        Feed(s.name, placements[s.value], s.value.shape[1:], s.value.dtype, s.value.shape[0])
        for s in module.sources
        if s.role == "feed"
    )


def _records(module: Module, placements: Mapping[Value, Placement]) -> Records | None:
    if not module.records:
        return None
    # Not by the program's name: one that takes another's place keeps the names of its states.
    ring = next(s for s in module.states if s.name.endswith("/records") and s.group.rpartition("/")[2] == "records")
    return Records(module.records, placements[ring.value], FEED_ROWS)
