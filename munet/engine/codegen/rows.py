"""Writes kernels over rows: several lanes fold a row together, once for each reduction, then write its results."""

from __future__ import annotations

import math
from dataclasses import dataclass

from munet.engine.codegen.form import Form
from munet.engine.codegen.writer import Writer
from munet.engine.coordinates import Indices, kernel_of
from munet.engine.index import Index, Var, unflatten, var
from munet.engine.ir.module import Value
from munet.engine.kernels import Reduction, Site
from munet.engine.scalar import FOLDS, Expr, Fold, FoldRule, children


@dataclass(frozen=True)
class Lanes:
    """How the invocations of a workgroup share rows: `count` of them fold one row. Neighbours belong to one row, and read along
    it, or (`rows_first`) to neighbouring rows, and read across: whichever way elements lie next to each other in memory."""

    count: int
    workgroup: int
    rows_first: bool = False

    @property
    def rows(self) -> int:
        """Rows of a workgroup."""
        return self.workgroup // self.count

    @property
    def step(self) -> int:
        """Distance between invocations of neighbouring lanes of a row."""
        return self.rows if self.rows_first else 1


def write_lanes(writer: Writer, rows: int, lanes: Lanes) -> None:
    me = "int(gl_LocalInvocationID.x)"
    lane, own = (
        (f"{me} / {lanes.rows}", f"{me} % {lanes.rows}")
        if lanes.rows_first
        else (f"{me} % {lanes.count}", f"{me} / {lanes.count}")
    )
    writer.line(f"int lane = {lane};")
    row = f"group * {lanes.rows} + {own}"
    writer.line(f"bool inside = {row} < {rows};")
    # Rows behind the last repeat it, so that every invocation reaches every barrier; they write nothing.
    writer.line(f"int row = min({row}, {rows - 1});")


def write_rows(form: Form, writer: Writer, lanes: Lanes, shared: dict[str, None]) -> None:
    """Folds in the order of the body, each by all lanes of the row, then the results."""
    write_lanes(writer, form.rows, lanes)
    row, column = var("row", form.rows), Var("column", form.columns)
    kept = [axis for axis in range(len(form.space)) if axis not in form.axes]
    row_index = dict(zip(kept, unflatten(row, [form.space[a] for a in kept]), strict=True))
    columns = Index(0, ((column, 1),)) if form.columns != 1 else Index(0)
    column_index = dict(zip(form.axes, unflatten(columns, [form.space[a] for a in form.axes]), strict=True))
    full = tuple(row_index[a] if a in row_index else column_index[a] for a in range(len(form.space)))
    where = form.coordinates(full)
    for op in form.ops:
        if isinstance(kernel_of(op), Reduction):
            _fold_row(writer, op.output, where.at[op.output], lanes, shared)
    row_values = [value for value in form.outputs if where.is_row_value(value)]
    full_values = [value for value in form.outputs if not where.is_row_value(value)]
    if row_values:
        with writer.block("if (inside && lane == 0)"):
            for value in row_values:
                writer.store(value, where.at[value], writer.value(value, where.at[value]))
    if full_values:
        loop = f"for (int column = lane; column < {form.columns}; column += {lanes.count})"
        with writer.block("if (inside)"), writer.block(loop, defines=(column,), loop=True):
            texts = [(value, writer.value(value, where.at[value])) for value in full_values]
            for value, text in texts:
                writer.store(value, where.at[value], text)


def _fold_row(writer: Writer, value: Value, index: Indices, lanes: Lanes, shared: dict[str, None]) -> None:
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
    total = math.prod(sizes)
    with writer.block(f"for (int {loop} = lane; {loop} < {total}; {loop} += {lanes.count})", defines=folded.variables, loop=True):
        for variable, position in zip(folded.variables, unflatten(var(loop, total), sizes), strict=True):
            name = writer.name("r")
            writer.line(f"int {name} = {writer.index(position)};")
            writer.variables[variable] = name
        writer.line(f"{acc} = {rule.glsl.format(a=acc, b=writer.expr(folded.body))};")
    if lanes.count > 1:
        combine_lanes(writer, [acc], register, rule, lanes, shared)
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


def combine_lanes(writer: Writer, names: list[str], register: str, rule: FoldRule, lanes: Lanes, shared: dict[str, None]) -> None:
    """Each variable combined over the lanes of a row, in an order that is always the same; afterwards all lanes know it."""
    array = f"partial_{register}"
    shared[f"shared {register} {array}[{lanes.workgroup}];"] = None
    me = "gl_LocalInvocationID.x"
    apart = f" * {lanes.step}" if lanes.step > 1 else ""
    for name in names:
        writer.line(f"{array}[{me}] = {name};")
        writer.line("barrier();")
        with writer.block(f"for (int width = {lanes.count // 2}; width > 0; width >>= 1)"):
            combined = rule.glsl.format(a=f"{array}[{me}]", b=f"{array}[{me} + width{apart}]")
            writer.line(f"if (lane < width) {array}[{me}] = {combined};")
            writer.line("barrier();")
        writer.line(f"{name} = {array}[{me} - lane{apart}];")
        writer.line("barrier();")  # a slower invocation may still be reading before the next one writes
