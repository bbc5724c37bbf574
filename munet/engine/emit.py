"""emit_program: levels and placements -> Program. Writes each op's kernel and bindings; decides nothing about order or memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from munet.engine.builder import FEED_ROWS
from munet.engine.codegen.form import Form, flattened, form_of, is_packed
from munet.engine.codegen.glsl import Buffer, write_shader
from munet.engine.device import DeviceInfo
from munet.engine.ir.module import Module, Op, Origin, Value
from munet.engine.passlist import Binding, ComputePass, Kernel, PassList, Placement
from munet.engine.plan.buffers import Plan, dead_ranges
from munet.engine.plan.levels import Schedule
from munet.engine.program import Feed, Program, Records
from munet.engine.transforms.pack_updates import packs_of


def emit_program(schedule: Schedule, plan: Plan, device: DeviceInfo) -> Program:
    module = schedule.module
    passes = [_emit_pass(op, schedule.level[op], plan.placements, device) for op in module.ops]
    dead = dead_ranges(schedule, plan, [(p.level, p.op.outputs) for p in passes])
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


def _emit_pass(op: Op, level: int, placements: Mapping[Value, Placement], device: DeviceInfo) -> ComputePass:
    if is_packed(op):
        form, places = _packed_form(op, placements)
    else:
        form = form_of(op)
        places = {value: placements[value] for value in (*form.inputs, *form.outputs)}
    bindings, buffers = _bind(form, places)
    shader = write_shader(form, buffers, device)
    kernel = Kernel(form.kind, shader.glsl, len(buffers), reason=f"{form.kind} kernel, generated")
    return ComputePass(_name(op), op, kernel, bindings, shader.grid, level, flops=shader.flops, origins=_origins(op))


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
    for before, after in zip(pack, pack[1:], strict=False):
        if placements[before].end_bytes > placements[after].offset_bytes:
            raise ValueError(f"{after} is not placed behind {before}")
    return Placement(first.buffer, base, last.end_bytes - base)


def _bind(form: Form, places: Mapping[Value, Placement]) -> tuple[tuple[Binding, ...], list[Buffer]]:
    """One binding a place: an input and the result that overwrites it are the same buffer to the shader."""
    by_place: dict[tuple[Placement, str], list[Value]] = {}
    for value in dict.fromkeys((*form.inputs, *form.outputs)):
        by_place.setdefault((places[value], value.dtype.name), []).append(value)
    bindings: list[Binding] = []
    buffers: list[Buffer] = []
    for (placement, _), values in by_place.items():
        readable = any(value in form.inputs for value in values) and not (form.kind == "update" and _only_written(form, values))
        writable = any(value in form.outputs for value in values)
        access = "read_write" if readable and writable else "read" if readable else "write"
        bindings.append(Binding(placement, access, values[0]))
        buffers.append(Buffer(tuple(values), readable, writable))
    return tuple(bindings), buffers


def _only_written(form: Form, values: Sequence[Value]) -> bool:
    """Whether the values are just the state that an update writes into."""
    update = form.ops[-1]
    return all(value is update.inputs[0] or value in form.outputs for value in values)


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
        Feed(s.name, placements[s.value], s.value.shape[1:], s.value.dtype, s.value.shape[0]) for s in module.sources if s.role == "feed"
    )


def _records(module: Module, placements: Mapping[Value, Placement]) -> Records | None:
    if not module.records:
        return None
    ring = module.source(f"{module.name}/records")
    return Records(module.records, placements[ring.value], FEED_ROWS)
