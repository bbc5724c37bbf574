"""Writes contractions: sums of products, a block of results in each invocation, the sum shared out over lanes.

Everything an op reads is pulled, so views and element-wise ops before the contraction are part of its loads, and those behind
it of its stores.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import product

from munet.engine.codegen.parts import Part, contraction_of
from munet.engine.codegen.rows import Lanes, combine_lanes, write_lanes
from munet.engine.codegen.writer import BLOCK, Writer
from munet.engine.coordinates import Indices
from munet.engine.index import Index, Var, unflatten, var
from munet.engine.kernels import Site
from munet.engine.scalar import FOLDS


def write_contraction(part: Part, writer: Writer, workgroup: int, shared: dict[str, None]) -> None:
    """All results of the part's form."""
    form, lanes, rows = part.form, part.lanes, part.rows
    if lanes > 1:
        write_lanes(writer, rows, Lanes(lanes, workgroup))
    else:
        writer.line(f"int row = group * {workgroup} + int(gl_LocalInvocationID.x);")
        writer.line(f"if (row >= {rows}) return;")
    op, kernel = contraction_of(form)
    site = Site(op)
    sums = kernel.sums(site)
    variables = [atom for index in sums.values() for atom, _ in index.terms if isinstance(atom, Var)]
    spots = [form.coordinates(index) for index in block_indices(part)]
    sinks = [writer.name("acc") for _ in spots]
    register = op.output.dtype.register
    writer.line(f"{register} {', '.join(f'{name} = 0.0' for name in sinks)};")
    with sum_loops(writer, variables, lanes, sinks, register) as targets:
        for where, target in zip(spots, targets, strict=True):
            writer.line(f"{target} += {writer.expr(kernel.term(site, where.at[op.output], sums))};")
    if lanes > 1:
        combine_lanes(writer, sinks, register, FOLDS["add"], Lanes(lanes, workgroup), shared)
    for where, name in zip(spots, sinks, strict=True):
        writer.remember(op.output, where.at[op.output], name)
    with writer.block("if (inside && lane == 0)") if lanes > 1 else nullcontext():
        texts = [(value, where.at[value], writer.value(value, where.at[value])) for where in spots for value in form.outputs]
        for value, index, text in texts:
            writer.store(value, index, text)


def block_indices(part: Part) -> list[Indices]:
    """Indices of an invocation's results. Along a blocked axis they lie a stride apart, so that neighbouring invocations
    read and write neighbouring elements."""
    counts = dict(part.block)
    small = tuple(size // counts.get(axis, 1) for axis, size in enumerate(part.form.space))
    base = unflatten(var("row", math.prod(small)), small)
    return [
        tuple(index + offsets[axis] * small[axis] if axis in offsets else index for axis, index in enumerate(base))
        for offsets in (dict(zip(counts, chosen, strict=True)) for chosen in product(*(range(n) for n in counts.values())))
    ]


@contextmanager
def sum_loops(writer: Writer, variables: list[Var], lanes: int, sinks: list[str], register: str) -> Iterator[list[str]]:
    """Loops over all products of a sum; gives the names to add to. Long sums are added up in blocks: the error grows with
    the root of their number, not of the length."""
    total = math.prod(v.size for v in variables)
    turns = -(-total // lanes)
    blocked = turns > 2 * BLOCK
    targets = [writer.name("part") for _ in sinks] if blocked else sinks
    flat = Var("products", max(total, 2))
    position = Index(0, ((flat, 1),)) if total != 1 else Index(0)
    sizes = [v.size for v in variables]
    if blocked:
        start = writer.name("start")
        loop = writer.variables[flat] = writer.name("k")
        step = BLOCK * lanes
        with writer.block(f"for (int {start} = 0; {start} < {total}; {start} += {step})", loop=True):
            writer.line(f"{register} {', '.join(f'{name} = 0.0' for name in targets)};")
            first = f"{start} + lane" if lanes > 1 else start
            head = f"for (int {loop} = {first}; {loop} < min({start} + {step}, {total}); {loop} += {lanes})"
            with writer.block(head, defines=(*variables, flat), loop=True):
                _bind(writer, variables, unflatten(position, sizes))
                yield targets
            for sink, target in zip(sinks, targets, strict=True):
                writer.line(f"{sink} += {target};")
    elif lanes > 1:
        loop = writer.variables[flat] = writer.name("k")
        with writer.block(f"for (int {loop} = lane; {loop} < {total}; {loop} += {lanes})", defines=(*variables, flat), loop=True):
            _bind(writer, variables, unflatten(position, sizes))
            yield targets
    else:
        with writer.loops(variables):
            yield targets


def _bind(writer: Writer, variables: list[Var], positions: Indices) -> None:
    for variable, position in zip(variables, positions, strict=True):
        name = writer.variables[variable] = writer.name("r")
        writer.line(f"int {name} = {writer.index(position)};")
