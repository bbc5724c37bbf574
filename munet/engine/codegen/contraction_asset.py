"""Puts a fused contraction into a hand-made shader: the text that takes the place of `contraction.glsl` in a variant.

Axes of the result that only the first factor depends on become M, those that only the second does N, those of both BATCH; the
summed names become K. Which factor counts as the first is free, as a product is: N gets the axis along which results are
neighbours in memory. Loads and stores are pulled by the same `Writer` as in generated kernels, so whatever was fused is in them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from munet.engine.codegen.asset_choice import Choice, choose, refusal
from munet.engine.codegen.form import Form, form_of, is_packed
from munet.engine.codegen.glsl import Buffer
from munet.engine.codegen.own_variants import whole_asset
from munet.engine.codegen.parts import contraction_of, variables_of
from munet.engine.codegen.shader_asset import GENERIC
from munet.engine.codegen.verdicts import generated_us, known_of
from munet.engine.codegen.writer import Writer, storage_type
from munet.engine.coordinates import Indices, kernel_of
from munet.engine.device import DeviceInfo
from munet.engine.dtypes import F32
from munet.engine.errors import ShaderError
from munet.engine.index import Index, Var, evaluate, flatten, unflatten, var
from munet.engine.ir.module import Op, Value
from munet.engine.kernels import Site
from munet.engine.scalar import FUNCTIONS, Expr, Load, loads

COSTLY = frozenset(name for name, function in FUNCTIONS.items() if function.flops >= 10)
ASSET, INCLUDE = "contraction", "contraction.glsl"
WORTH = 0.9  # of the generated kernel's time: a variant cannot share a pass with other ops
_INCLUDE_LINE = re.compile(rf'^[ \t]*#[ \t]*include[ \t]+"{re.escape(INCLUDE)}"[^\n]*$', re.MULTILINE)


@dataclass(frozen=True)
class Layout:
    """A contraction as the asset sees it. `m`, `n` and `batch` are axes of the form's space; `first` is the factor of M."""

    m: tuple[int, ...]
    n: tuple[int, ...]
    batch: tuple[int, ...]
    first: int
    dims: Mapping[str, int]


def plan_contraction(form: Form, device: DeviceInfo) -> tuple[Choice | None, str]:
    """The variant for a contraction, or None where the generated kernel is to be used; and why."""
    if device.kind == "reference":
        return None, "the NumPy reference runs no shaders"
    layout = layout_of(form)
    if layout is None:
        return None, f"asset {ASSET} takes sums of products of two float32 factors"
    if 0 < device.loop_limit < layout.dims["K"]:
        return None, f"the driver ends loops after {device.loop_limit:,} turns, the sum has {layout.dims['K']:,} terms"
    asset = whole_asset(ASSET)
    known, generated = known_of(asset, layout.dims, device), generated_us(asset, layout.dims, device)
    choice = choose(asset, layout.dims, device, known)
    title = f"asset {ASSET}, {choice.variant.name}.comp"
    if choice.variant.name in known.used:
        return choice, f"{title}, to be used wherever it can run, {choice.reason}"
    if generated is not None and (choice.time is None or choice.time > WORTH * generated):
        return None, f"{choice.variant.name}.comp measured not worth it, {generated:.4g} µs"
    if choice.time is not None or (choice.variant.name != GENERIC and not device.is_cpu):
        return choice, f"{title}, {choice.reason}"
    if device.is_cpu:
        return None, "tiles do not pay on a CPU"
    passed = next((v for v in asset.variants if v.name != GENERIC and not v.own), None)
    return None, f"{passed.name}.comp passed over ({refusal(passed, layout.dims, device, known)})" if passed else ""


def shapes_of(ops: Iterable[Op]) -> list[dict[str, int]]:
    """Dimensions of the contractions among the ops of a program that the asset can compute, each once."""
    found: dict[tuple[int, ...], dict[str, int]] = {}
    for op in ops:
        form = form_of(op) if not is_packed(op) else None
        layout = layout_of(form) if form is not None and form.kind == "contraction" else None
        if layout is not None and all(layout.dims.values()):
            found[tuple(layout.dims.values())] = dict(layout.dims)
    return list(found.values())


def layout_of(form: Form) -> Layout | None:
    """None for what the asset cannot express: other than two factors, or another dtype than f32."""
    op, kernel = contraction_of(form)
    site = Site(op)
    index = _axes(form)
    factors = kernel.factors(site, kernel.output_indices(index) | kernel.sums(site))
    if len(factors) != 2 or any(factor.dtype is not F32 for factor in factors) or op.output.dtype is not F32:
        return None
    used = [variables_of(factor) for factor in factors]
    sides: dict[tuple[bool, bool], list[int]] = {}
    for axis, place in enumerate(index):
        if place.terms:
            variable = place.terms[0][0]
            sides.setdefault((variable in used[0], variable in used[1]), []).append(axis)
    own, other = sides.get((True, False), []), sides.get((False, True), [])
    batch = sides.get((True, True), []) + sides.get((False, False), [])
    first = 0
    if _fastest_axis(form, [*own, *other]) in own:
        own, other, first = other, own, 1
    sizes = {"BATCH": batch, "M": own, "N": other}
    dims = {name: math.prod(form.space[axis] for axis in axes) for name, axes in sizes.items()}
    dims["K"] = math.prod(kernel.summed(site).values())
    if 0 in form.space:
        dims["BATCH"] = 0
    return Layout(tuple(own), tuple(other), tuple(batch), first, dims)


def write_variant(
    form: Form, choice: Choice, buffers: Sequence[Buffer], watched: Collection[Value] = (), flag: Value | None = None
) -> str:
    """The complete source of the pass; `buffers` in binding order name every input and output of the form.

    `flag` is set where an element of the `watched` results is not finite.
    """
    layout = layout_of(form)
    assert layout is not None
    text = write_include(form, layout, buffers, watched, flag)
    source, count = _INCLUDE_LINE.subn(lambda _: text, choice.variant.source)
    if count != 1:
        raise ShaderError(f'{choice.variant.title}: it has {count} lines #include "{INCLUDE}", expected 1')
    return source


def write_include(
    form: Form, layout: Layout, buffers: Sequence[Buffer], watched: Collection[Value] = (), flag: Value | None = None
) -> str:
    """What takes the place of `contraction.glsl`."""
    result = contraction_of(form)[0].output
    names = {value: f"b{i}" for i, buffer in enumerate(buffers) for value in buffer.values}
    along = [_lies_along_sum(form, layout, which) for which in (layout.first, 1 - layout.first)]
    functions = [
        _load_function(form, layout, names, "load_a(uint batch_, uint m_, uint k_)", layout.first),
        _load_function(form, layout, names, "load_b(uint batch_, uint k_, uint n_)", 1 - layout.first),
        _store_function(form, layout, Writer(form.ops, names, watched, flag), result),
    ]
    random = any("mu_random" in line for lines in functions for line in lines)
    lines = ['#include "random.glsl"' if random else '#include "math.glsl"']
    lines += [f"const uint {name} = {size}u;" for name, size in layout.dims.items()]
    lines += [f"const bool {n}_ALONG_K = {'true' if x else 'false'};" for n, x in zip("AB", along, strict=True)]
    costly = any(f"mu_{name}(" in line for line in functions[2] for name in COSTLY)
    lines.append(f"const bool COSTLY_STORE = {'true' if costly else 'false'};")
    for i, buffer in enumerate(buffers):
        access = "" if buffer.readable and buffer.writable else "readonly " if buffer.readable else "writeonly "
        lines.append(
            f"layout(set = 0, binding = {i}, std430) {access}buffer B{i} {{ {storage_type(buffer.values[0].dtype)} b{i}[]; }};"
        )
    return "\n".join([*lines, *(line for function in functions for line in function)])


def _axes(form: Form) -> Indices:
    return tuple(var(f"a{axis}", size) for axis, size in enumerate(form.space))


def _space_index(form: Form, layout: Layout) -> Indices:
    """The place in the form's space as a function of batch, m and n."""
    index = [Index(0)] * len(form.space)
    for name, axes in (("batch", layout.batch), ("m", layout.m), ("n", layout.n)):
        sizes = [form.space[axis] for axis in axes]
        for axis, place in zip(axes, unflatten(var(name, math.prod(sizes)), sizes), strict=True):
            index[axis] = place
    return tuple(index)


def _factor(form: Form, layout: Layout, which: int) -> Expr:
    """A factor's element as a function of batch, m, n and k."""
    op, kernel = contraction_of(form)
    site = Site(op)
    sizes = kernel.summed(site)
    places = unflatten(var("k", layout.dims["K"]), list(sizes.values())) if sizes else ()
    sums = dict(zip(sizes, places, strict=True))
    at = form.coordinates(_space_index(form, layout)).at[op.output]
    return kernel.factors(site, kernel.output_indices(at) | sums)[which]


def _load_function(form: Form, layout: Layout, names: Mapping[Value, str], head: str, which: int) -> list[str]:
    writer = Writer(form.ops, names)
    side = "m" if which == layout.first else "n"
    writer.line(f"int batch = int(batch_), {side} = int({side}_), k = int(k_);")
    writer.line(f"return {writer.expr(_factor(form, layout, which))};")
    return [f"float {head} {{", *writer.lines, "}"]


def _store_function(form: Form, layout: Layout, writer: Writer, result: Value) -> list[str]:
    where = form.coordinates(_space_index(form, layout))
    writer.line("int batch = int(batch_), m = int(m_), n = int(n_);")
    writer.remember(result, where.at[result], "sum")
    texts = [(value, writer.value(value, where.at[value])) for value in form.outputs]
    for value, text in texts:  # all loads come before all stores: a result may lie where an input did
        writer.store(value, where.at[value], text)
    return ["void store(uint batch_, uint m_, uint n_, float sum) {", *writer.lines, "}"]


# -- where neighbours lie ----------------------------------------------------------------------------------------------


def _fastest_axis(form: Form, axes: Sequence[int]) -> int:
    """The axis along which the form's first result has its neighbours nearest in memory; -1 if there is none."""
    index = _axes(form)
    value = form.outputs[0]
    position = flatten(form.coordinates(index).at[value], value.shape)
    steps = {axis: step for axis in axes if (step := _step(position, index[axis])) > 0}
    return min(steps, key=lambda axis: (steps[axis], -axis), default=-1)


def _lies_along_sum(form: Form, layout: Layout, which: int) -> bool:
    """Whether neighbours of a factor in memory follow each other along the sum rather than along M or N."""
    read = _largest_load(form, _factor(form, layout, which))
    if read is None:
        return False
    side = "m" if which == layout.first else "n"
    position = flatten(read.index, read.value.shape)
    along_sum = _step(position, var("k", layout.dims["K"]))
    across = _step(position, var(side, layout.dims[side.upper()]))
    return along_sum > 0 and (across == 0 or along_sum < across)


def _largest_load(form: Form, expr: Expr) -> Load | None:
    """The load from memory of the largest value that an expression leads to, through the ops of the form."""
    producer = {value: op for op in form.ops for value in op.outputs}
    found: list[Load] = []
    pending, seen = [expr], set[tuple[Value, Indices]]()
    while pending:
        for load in loads(pending.pop()):
            if (load.value, load.index) in seen:
                continue
            seen.add((load.value, load.index))
            op = producer.get(load.value)
            if op is None:
                found.append(load)
            else:
                pending.append(kernel_of(op).element(Site(op), op.outputs.index(load.value), load.index))
    return max(found, key=lambda load: load.value.element_count, default=None)


def _step(position: Index, variable: Index) -> int:
    """How far in memory the next value of a variable lies from its first; 0 if it makes no difference or is not known."""
    if not variable.terms:
        return 0
    moving = variable.terms[0][0]
    variables = {atom for atom in position.atoms() if isinstance(atom, Var)}
    if moving not in variables:
        return 0
    origin = dict.fromkeys(variables, 0)
    try:
        return abs(evaluate(position, origin | {moving: 1}) - evaluate(position, origin))
    except TypeError:  # an index that is itself loaded
        return 0
