"""Fused ops -> a complete GLSL compute shader and its grid.

    map          one invocation an element of the space
    reduction    some lanes of a workgroup a row: fold together, then write the row's results
    contraction  likewise, a row being one element of the result and its sum the fold; tiled variants are shader assets
    update       one invocation an element of what is written

Several ops without a hazard between them may share a shader: each gets a stretch of the workgroups. Names in the text depend
only on what is computed, so equal kernels of different nodes are equal text and one pipeline.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from munet.engine.codegen.contraction import write_contraction
from munet.engine.codegen.form import Form
from munet.engine.codegen.parts import Part
from munet.engine.codegen.rows import Lanes, write_rows
from munet.engine.codegen.writer import BYTES, Writer, storage_type
from munet.engine.coordinates import Indices, kernel_of
from munet.engine.device import DeviceInfo
from munet.engine.dtypes import U8
from munet.engine.index import unflatten, var
from munet.engine.ir.module import Value
from munet.engine.kernels import Site, Update
from munet.engine.scalar import count_flops


@dataclass(frozen=True)
class Buffer:
    """One binding as the shader sees it: values that lie in the same place share it."""

    values: tuple[Value, ...]
    readable: bool
    writable: bool


@dataclass(frozen=True)
class Shader:
    glsl: str
    grid: tuple[int, int, int]
    flops: int


def write_shader(parts: Sequence[Part], buffers: Sequence[Buffer], device: DeviceInfo) -> Shader:
    """The shader of some ops; `buffers` in binding order name every input and output of their forms."""
    names = {value: _name(i, buffer) for i, buffer in enumerate(buffers) for value in buffer.values}
    workgroup = max(part.workgroup for part in parts)
    shared: dict[str, None] = {}
    bodies = [_write_part(part, Writer(part.form.ops, names, part.watched, part.flag), workgroup, shared) for part in parts]
    counts = [part.groups(workgroup) for part in parts]
    text = _assemble(buffers, workgroup, tuple(shared), bodies, counts)
    return Shader(text, fold_grid(sum(counts), device), sum(flops_of(part.form) for part in parts))


def _name(number: int, buffer: Buffer) -> str:
    return f"{BYTES}{number}" if buffer.writable and buffer.values[0].dtype is U8 else f"b{number}"


def _write_part(part: Part, writer: Writer, workgroup: int, shared: dict[str, None]) -> list[str]:
    match part.form.kind:
        case "reduction":
            write_rows(part.form, writer, Lanes(part.lanes, workgroup, part.rows_first), shared)
        case "contraction":
            write_contraction(part, writer, workgroup, shared)
        case "update":
            _write_update(part.form, writer, workgroup)
        case _:
            _write_map(part, writer, workgroup)
    return writer.lines


def _count(shape: Sequence[int]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total


def _ceil(count: int, size: int) -> int:
    return -(-count // size)


def fold_grid(groups: int, device: DeviceInfo) -> tuple[int, int, int]:
    """A grid of at least `groups` workgroups; above the limit of x they are folded into y."""
    limit = device.max_workgroup_count[0]
    if groups <= limit:
        return (groups, 1, 1)
    rows = _ceil(groups, limit)
    return (_ceil(groups, rows), rows, 1)


def flops_of(form: Form) -> int:
    """Arithmetic of the whole kernel, each op counted once an element of its results."""
    total = 0
    for op in form.ops:
        element = kernel_of(op).element(Site(op), 0, tuple(var(f"i{a}", s) for a, s in enumerate(op.outputs[0].shape)))
        total += count_flops(element) * op.outputs[0].element_count
    return total


def _assemble(
    buffers: Sequence[Buffer], workgroup: int, shared: Sequence[str], bodies: Sequence[Sequence[str]], counts: Sequence[int]
) -> str:
    lines = [
        "#version 450",
        # random.glsl brings math.glsl with it
        '#include "random.glsl"' if any("mu_random" in line for body in bodies for line in body) else '#include "math.glsl"',
        f"layout(local_size_x = {workgroup}, local_size_y = 1, local_size_z = 1) in;",
    ]
    if any(_name(i, buffer).startswith(BYTES) for i, buffer in enumerate(buffers)):
        lines[1:1] = [
            "#extension GL_EXT_shader_8bit_storage : require",
            "#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require",
        ]
    for i, buffer in enumerate(buffers):
        access = "" if buffer.readable and buffer.writable else "readonly " if buffer.readable else "writeonly "
        name = _name(i, buffer)
        kind = "uint8_t" if name.startswith(BYTES) else storage_type(buffer.values[0].dtype)
        lines.append(f"layout(set = 0, binding = {i}, std430) {access}buffer B{i} {{ {kind} {name}[]; }};")
    lines += shared
    for i, body in enumerate(bodies):
        lines += [f"void part{i}(int group) {{", *body, "}"]
    lines += ["void main() {", "  int group = int(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x);"]
    start = 0
    for i, count in enumerate(counts[:-1]):
        lines.append(f"  if (group < {start + count}) {{ part{i}({_minus('group', start)}); return; }}")
        start += count
    lines += [f"  part{len(bodies) - 1}({_minus('group', start)});", "}", ""]
    return "\n".join(lines)


def _minus(name: str, number: int) -> str:
    return f"{name} - {number}" if number else name


def _write_map(part: Part, writer: Writer, workgroup: int) -> None:
    form, count = part.form, _count(part.form.space)
    if part.each == 1:
        writer.line(f"int i = group * {workgroup} + int(gl_LocalInvocationID.x);")
        writer.line(f"if (i >= {count}) return;")
        places = {"i": ""}
    else:
        # What lies beyond the end is computed as the last element once more, and not stored.
        writer.line(f"int first = group * {workgroup * part.each} + int(gl_LocalInvocationID.x);")
        places = {f"i{n}": f"first + {n * workgroup} < {count}" for n in range(part.each)}
        for n, name in enumerate(places):
            writer.line(f"int {name} = min(first + {n * workgroup}, {count - 1});")
    texts: list[tuple[str, Value, Indices, str]] = []
    for name, inside in places.items():
        where = form.coordinates(unflatten(var(name, count), form.space)).at
        texts += [(inside, value, where[value], writer.value(value, where[value])) for value in form.outputs]
    for inside, value, index, text in texts:  # all loads come before all stores: a result may lie where an input did
        if inside:
            with writer.block(f"if ({inside})"):
                writer.store(value, index, text)
        else:
            writer.store(value, index, text)


def _write_update(form: Form, writer: Writer, workgroup: int) -> None:
    op = next(op for op in form.ops if isinstance(kernel_of(op), Update))
    kernel, site = kernel_of(op), Site(op)
    assert isinstance(kernel, Update)
    count = _count(form.space)
    writer.line(f"int i = group * {workgroup} + int(gl_LocalInvocationID.x);")
    writer.line(f"if (i >= {count}) return;")
    index = unflatten(var("i", count), form.space)
    text = writer.expr(kernel.element(site, 0, index))
    writer.store(op.output, kernel.target(site, index), text)
