"""Fused op -> a complete GLSL compute shader and its grid.

    map          one invocation an element of the space
    reduction    some lanes of a workgroup a row: fold together, then write the row's results
    contraction  like map here, summing in a loop; tiled variants are shader assets
    update       one invocation an element of what is written

Names in the text depend only on what is computed, so equal kernels of different nodes are equal text and one pipeline.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from munet.engine.codegen.form import Form
from munet.engine.codegen.writer import Writer, storage_type
from munet.engine.coordinates import Indices, kernel_of
from munet.engine.device import DeviceInfo
from munet.engine.index import Index, Var, unflatten, var
from munet.engine.ir.module import Value
from munet.engine.kernels import Reduction, Site, Update
from munet.engine.scalar import FOLDS, Expr, Fold, children, count_flops

MAP_WORKGROUP = 128  # invocations: the baseline that every device has


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


def write_shader(form: Form, buffers: Sequence[Buffer], device: DeviceInfo) -> Shader:
    """The shader of one op; `buffers` in binding order name every input and output of the form."""
    names = {value: f"b{i}" for i, buffer in enumerate(buffers) for value in buffer.values}
    writer = Writer(form.ops, names)
    match form.kind:
        case "reduction":
            lanes, workgroup = row_lanes(form, device)
            shared = _write_rows(form, writer, lanes, workgroup)
            groups = _ceil(form.rows, workgroup // lanes)
        case "update":
            workgroup, shared = MAP_WORKGROUP, ()
            groups = _ceil(_count(form.space), workgroup)
            _write_update(form, writer, workgroup)
        case _:
            workgroup, shared = MAP_WORKGROUP, ()
            groups = _ceil(_count(form.space), workgroup)
            _write_map(form, writer, workgroup)
    grid = fold_grid(groups, device)
    return Shader(_assemble(buffers, workgroup, shared, writer.lines), grid, flops_of(form))


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


def _assemble(buffers: Sequence[Buffer], workgroup: int, shared: Sequence[str], body: Sequence[str]) -> str:
    lines = ["#version 450", '#include "math.glsl"', f"layout(local_size_x = {workgroup}, local_size_y = 1, local_size_z = 1) in;"]
    for i, buffer in enumerate(buffers):
        access = "" if buffer.readable and buffer.writable else "readonly " if buffer.readable else "writeonly "
        lines.append(f"layout(set = 0, binding = {i}, std430) {access}buffer B{i} {{ {storage_type(buffer.values[0].dtype)} b{i}[]; }};")
    return "\n".join([*lines, *shared, "void main() {", *body, "}", ""])


GROUP = "int(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x)"


def _write_map(form: Form, writer: Writer, workgroup: int) -> None:
    count = _count(form.space)
    writer.line(f"int i = {GROUP} * {workgroup} + int(gl_LocalInvocationID.x);")
    writer.line(f"if (i >= {count}) return;")
    where = form.coordinates(unflatten(var("i", count), form.space))
    texts = [(value, writer.value(value, where.at[value])) for value in form.outputs]
    for value, text in texts:  # all loads come before all stores: a result may lie where an input did
        writer.store(value, where.at[value], text)


def _write_update(form: Form, writer: Writer, workgroup: int) -> None:
    op = next(op for op in form.ops if isinstance(kernel_of(op), Update))
    kernel, site = kernel_of(op), Site(op)
    assert isinstance(kernel, Update)
    count = _count(form.space)
    writer.line(f"int i = {GROUP} * {workgroup} + int(gl_LocalInvocationID.x);")
    writer.line(f"if (i >= {count}) return;")
    index = unflatten(var("i", count), form.space)
    text = writer.expr(kernel.element(site, 0, index))
    writer.store(op.output, kernel.target(site, index), text)


def row_lanes(form: Form, device: DeviceInfo) -> tuple[int, int]:
    """(lanes a row, invocations a workgroup). Short rows get one invocation each, long ones a whole workgroup.

    Few long rows get a larger workgroup where the device has it: the sum is then shorter for each lane.
    """
    workgroup = MAP_WORKGROUP
    if form.columns > 512 and form.rows < 256 and device.max_workgroup_invocations >= 256:
        workgroup = 256
    lanes = 1
    while lanes < workgroup and lanes * 8 < form.columns:
        lanes *= 2
    return lanes, workgroup


def _write_rows(form: Form, writer: Writer, lanes: int, workgroup: int) -> tuple[str, ...]:
    """Folds in the order of the body, each by all lanes of the row, then the results. Gives shared declarations."""
    rows_a_group = workgroup // lanes
    writer.line(f"int lane = int(gl_LocalInvocationID.x) % {lanes};")
    row_text = f"{GROUP} * {rows_a_group} + int(gl_LocalInvocationID.x) / {lanes}"
    writer.line(f"bool inside = {row_text} < {form.rows};")
    # Rows behind the last repeat it, so that every invocation reaches every barrier; they write nothing.
    writer.line(f"int row = min({row_text}, {form.rows - 1});")
    row, column = var("row", form.rows), Var("column", form.columns)
    kept = [axis for axis in range(len(form.space)) if axis not in form.axes]
    row_index = dict(zip(kept, unflatten(row, [form.space[a] for a in kept]), strict=True))
    columns = Index(0, ((column, 1),)) if form.columns != 1 else Index(0)
    column_index = dict(zip(form.axes, unflatten(columns, [form.space[a] for a in form.axes]), strict=True))
    full = tuple(row_index[a] if a in row_index else column_index[a] for a in range(len(form.space)))
    where = form.coordinates(full)
    shared: dict[str, None] = {}
    for op in form.ops:
        if isinstance(kernel_of(op), Reduction):
            _fold_row(form, writer, op.output, where.at[op.output], lanes, workgroup, shared)
    row_values = [value for value in form.outputs if where.is_row_value(value)]
    full_values = [value for value in form.outputs if not where.is_row_value(value)]
    if row_values:
        with writer.block("if (inside && lane == 0)"):
            for value in row_values:
                writer.store(value, where.at[value], writer.value(value, where.at[value]))
    if full_values:
        loop = f"for (int column = lane; column < {form.columns}; column += {lanes})"
        with writer.block("if (inside)"), writer.block(loop, defines=(column,), loop=True):
            texts = [(value, writer.value(value, where.at[value])) for value in full_values]
            for value, text in texts:
                writer.store(value, where.at[value], text)
    return tuple(shared)


def _fold_row(form: Form, writer: Writer, value: Value, index: Indices, lanes: int, workgroup: int, shared: dict[str, None]) -> None:
    """One reduction of the row by its lanes; afterwards every lane knows the result."""
    op = writer.producer[value]
    expr = kernel_of(op).element(Site(op), 0, index)
    folded = _find_fold(expr)
    if folded is None:  # all reduced dimensions have size 1
        writer.remember(value, index, _named(writer, value, writer.expr(expr)))
        return
    register = folded.dtype.register
    rule = FOLDS[folded.combine]
    acc = writer.name("acc")
    writer.line(f"{register} {acc} = {rule.identity[folded.dtype.kind]};")
    sizes = [v.size for v in folded.variables]
    loop = writer.name("column")
    total = _count(sizes)
    with writer.block(f"for (int {loop} = lane; {loop} < {total}; {loop} += {lanes})", defines=folded.variables, loop=True):
        for variable, position in zip(folded.variables, unflatten(var(loop, total), sizes), strict=True):
            name = writer.name("r")
            writer.line(f"int {name} = {writer.index(position)};")
            writer.variables[variable] = name
        writer.line(f"{acc} = {rule.glsl.format(a=acc, b=writer.expr(folded.body))};")
    if lanes > 1:
        array = f"partial_{register}"
        shared[f"shared {register} {array}[{workgroup}];"] = None
        me = "gl_LocalInvocationID.x"
        writer.line(f"{array}[{me}] = {acc};")
        writer.line("barrier();")
        with writer.block(f"for (int width = {lanes // 2}; width > 0; width >>= 1)"):
            combined = rule.glsl.format(a=f"{array}[{me}]", b=f"{array}[{me} + width]")
            writer.line(f"if (lane < width) {array}[{me}] = {combined};")
            writer.line("barrier();")
        writer.line(f"{acc} = {array}[{me} - lane];")
        writer.line("barrier();")  # a slower invocation may still be reading before the next fold writes
    writer.folded[folded] = acc
    writer.remember(value, index, _named(writer, value, writer.expr(expr)))


def _named(writer: Writer, value: Value, text: str) -> str:
    name = writer.name("t")
    writer.line(f"{value.dtype.register} {name} = {text};")
    return name


def _find_fold(expr: Expr) -> Fold | None:
    if isinstance(expr, Fold):
        return expr
    return next((found for child in children(expr) if (found := _find_fold(child)) is not None), None)
