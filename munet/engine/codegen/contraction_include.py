"""Writes what takes the place of `contraction.glsl` in a variant: sizes, loads with all that was fused in front, stores likewise.

Loads and stores are pulled by the same `Writer` as in generated kernels. Where four neighbours of a factor or of a result surely
lie together, at a place that is a multiple of four, they are moved at once: a quarter of the instructions, and of the work on
addresses.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from munet.engine.codegen.asset_choice import Choice
from munet.engine.codegen.contraction_asset import INCLUDE, Layout, layout_of, step_of
from munet.engine.codegen.form import Form
from munet.engine.codegen.glsl import Buffer
from munet.engine.codegen.parts import contraction_of
from munet.engine.codegen.writer import COSTLY, Writer, storage_type
from munet.engine.coordinates import Indices, kernel_of
from munet.engine.dtypes import F32
from munet.engine.errors import ShaderError
from munet.engine.index import Index, flatten, unflatten, var
from munet.engine.ir.module import Value
from munet.engine.kernels import Site
from munet.engine.scalar import Expr, Load, loads

FOUR = 4
Sides = Mapping[str, Index]
_INCLUDE_LINE = re.compile(rf'^[ \t]*#[ \t]*include[ \t]+"{re.escape(INCLUDE)}"[^\n]*$', re.MULTILINE)


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
    names = {value: f"b{i}" for i, buffer in enumerate(buffers) for value in buffer.values}
    functions: list[str] = []
    constants: dict[str, bool] = {}
    for side, which in (("A", layout.first), ("B", 1 - layout.first)):
        along_k = constants[f"{side}_ALONG_K"] = _lies_along_sum(form, layout, which)
        functions += _load_function(form, layout, names, f"float load_{side.lower()}", which)
        along = "k" if along_k else layout.side(which)
        load = _load_by_4(form, layout, which, along)
        if load is not None and any(buffer.writable for buffer in buffers if load.value in buffer.values):
            load = None
        constants[f"{side}_BY_4"] = load is not None
        functions += _load_4_function(form, layout, names, f"load_{side.lower()}", which, along, load)
    changing = any(buffer.readable and buffer.writable for buffer in buffers)  # two views of what is read and written: none
    by_4 = constants["STORE_BY_4"] = not changing and all(_stored_by_4(form, layout, value) for value in form.outputs)
    stores = _store_functions(form, layout, Writer(form.ops, names, watched, flag), by_4=by_4)
    constants["COSTLY_STORE"] = any(f"mu_{name}(" in line for line in stores for name in COSTLY)
    functions += stores
    random = any("mu_random" in line for line in functions)
    lines = ['#include "random.glsl"' if random else '#include "math.glsl"']
    lines += [f"const uint {name} = {size}u;" for name, size in layout.dims.items()]
    lines += [f"const bool {name} = {'true' if value else 'false'};" for name, value in constants.items()]
    for i, buffer in enumerate(buffers):
        access = "" if buffer.readable and buffer.writable else "readonly " if buffer.readable else "writeonly "
        head, dtype = f"layout(set = 0, binding = {i}, std430) {access}buffer", buffer.values[0].dtype
        lines.append(f"{head} B{i} {{ {storage_type(dtype)} b{i}[]; }};")
        if dtype is F32:
            lines.append(f"{head} Q{i} {{ vec4 q{i}[]; }};")  # the same, by four
    return "\n".join([*lines, *functions])


def _sides(layout: Layout) -> Sides:
    """The variables of the functions, by name."""
    return {name: var(name, layout.dims[name.upper()]) for name in ("batch", "m", "n", "k")}


def _fours(layout: Layout, along: str) -> Iterator[Sides]:
    """The same for the first, second, third, and fourth of four neighbours along a side."""
    for place in range(FOUR):
        yield {**_sides(layout), along: var(f"{along}4", layout.dims[along.upper()] // FOUR) * FOUR + place}


def _space_index(form: Form, layout: Layout, sides: Sides) -> Indices:
    """The place in the form's space as a function of batch, m and n."""
    index = [Index(0)] * len(form.space)
    for name, axes in (("batch", layout.batch), ("m", layout.m), ("n", layout.n)):
        sizes = [form.space[axis] for axis in axes]
        for axis, place in zip(axes, unflatten(sides[name], sizes), strict=True):
            index[axis] = place
    return tuple(index)


def _factor(form: Form, layout: Layout, which: int, given: Sides | None = None) -> Expr:
    """A factor's element as a function of batch, m, n and k."""
    op, kernel = contraction_of(form)
    site, sides = Site(op), given or _sides(layout)
    sizes = kernel.summed(site)
    places = unflatten(sides["k"], list(sizes.values())) if sizes else ()
    sums = dict(zip(sizes, places, strict=True))
    at = form.coordinates(_space_index(form, layout, sides)).at[op.output]
    return kernel.factors(site, kernel.output_indices(at) | sums)[which]


def _load_function(form: Form, layout: Layout, names: Mapping[Value, str], head: str, which: int) -> list[str]:
    writer = Writer(form.ops, names)
    writer.line(f"return {writer.expr(_factor(form, layout, which))};")
    return _function(layout, head, which, writer)


def _load_4_function(
    form: Form, layout: Layout, names: Mapping[Value, str], name: str, which: int, along: str, load: Load | None
) -> list[str]:
    """Four neighbours: at once by a load of all of them, or one by one."""
    writer = Writer(form.ops, names)
    if load is not None:
        text = _quad(names[load.value], writer, flatten(load.index, load.value.shape))
    else:
        places = [
            ", ".join(f"{side}_ + {i}u" if side == along else f"{side}_" for side in _given(layout, which)) for i in range(FOUR)
        ]
        text = f"vec4({', '.join(f'{name}({place})' for place in places)})"
    writer.line(f"return {text};")
    return _function(layout, f"vec4 {name}4", which, writer)


def _given(layout: Layout, which: int) -> tuple[str, str, str]:
    """What a function of a factor is given: `a` is asked for by batch, m, k, `b` by batch, k, n."""
    return ("batch", "m", "k") if which == layout.first else ("batch", "k", "n")


def _function(layout: Layout, head: str, which: int, writer: Writer) -> list[str]:
    names = _given(layout, which)
    given = ", ".join(f"uint {name}_" for name in names)
    known = ", ".join(f"{name} = int({name}_)" for name in names)
    return [f"{head}({given}) {{", f"  int {known};", *writer.lines, "}"]


def _store_functions(form: Form, layout: Layout, writer: Writer, *, by_4: bool) -> list[str]:
    """`results` computes what is stored for an element, all of it before any of it is stored: it may lie where an input did."""
    where = form.coordinates(_space_index(form, layout, _sides(layout))).at
    result = contraction_of(form)[0].output
    writer.remember(result, where[result], "sum")
    given = "uint batch_, uint m_, uint n_"
    known = "  int batch = int(batch_), m = int(m_), n = int(n_);"
    for i, value in enumerate(form.outputs):
        writer.line(f"r{i} = {writer.value(value, where[value])};")
    outs = ", ".join(f"out {value.dtype.register} r{i}" for i, value in enumerate(form.outputs))
    names = [f"r{i}" for i in range(len(form.outputs))]
    computed = [f"void results({given}, float sum, {outs}) {{", known, *writer.lines, "}"]

    one = Writer((), writer.buffers, writer.watched, writer.flag)
    for name, value in zip(names, form.outputs, strict=True):
        one.store(value, where[value], name)
    declared = [f"  {value.dtype.register} {name};" for name, value in zip(names, form.outputs, strict=True)]
    call = f"  results(batch_, m_, n_, sum, {', '.join(names)});"
    computed += [f"void store({given}, float sum) {{", known, *declared, call, *one.lines, "}"]
    computed += [
        f"void store4({given}, vec4 sum) {{",
        *(_store_at_once(form, writer, where, known) if by_4 else _one_by_one()),
        "}",
    ]
    return computed


def _store_at_once(form: Form, writer: Writer, where: Mapping[Value, Indices], known: str) -> list[str]:
    names = [f"r{i}" for i in range(len(form.outputs))]
    lines = [known, f"  vec4 {', '.join(names)};"]
    lines += [f"  results(batch_, m_, n_ + {i}u, sum[{i}], {', '.join(f'{name}[{i}]' for name in names)});" for i in range(FOUR)]
    four = Writer((), writer.buffers)
    for name, value in zip(names, form.outputs, strict=True):
        four.line(f"{_quad(four.buffers[value], four, flatten(where[value], value.shape))} = {name};")
        if value in writer.watched and writer.flag is not None:
            finite = " && ".join(f"mu_isfinite({name}[{i}])" for i in range(FOUR))
            four.line(f"if (!({finite})) {writer.buffers[writer.flag]}[0] = 1;")
    return [*lines, *four.lines]


def _one_by_one() -> list[str]:
    return [f"  store(batch_, m_, n_ + {i}u, sum[{i}]);" for i in range(FOUR)]


# -- where neighbours lie ----------------------------------------------------------------------------------------------


def _quad(buffer: str, writer: Writer, position: Index) -> str:
    """Four elements of a buffer from a position on that is a multiple of four."""
    return f"q{buffer[1:]}[{writer.index(position)} >> 2]"


def _load_by_4(form: Form, layout: Layout, which: int, along: str) -> Load | None:
    """The load that a factor is, if it is nothing else, and four neighbours along a side can be loaded at once."""
    load = _only_load(form, _factor(form, layout, which))
    if load is None or load.value.dtype is not F32 or layout.dims[along.upper()] % FOUR:
        return None
    positions: list[Index] = []
    for sides in _fours(layout, along):
        four = _only_load(form, _factor(form, layout, which, sides))
        if four is None or four.value is not load.value:
            return None
        positions.append(flatten(four.index, four.value.shape))
    return load if _together(positions) else None


def _only_load(form: Form, expr: Expr) -> Load | None:
    """The load from memory that an expression is, seen through the views of the form; None if it computes something."""
    producer = {value: op for op in form.ops for value in op.outputs}
    while isinstance(expr, Load) and (op := producer.get(expr.value)) is not None:
        expr = kernel_of(op).element(Site(op), op.outputs.index(expr.value), expr.index)
    return expr if isinstance(expr, Load) else None


def _stored_by_4(form: Form, layout: Layout, value: Value) -> bool:
    """Whether four neighbours along n can be stored at once."""
    if value.dtype is not F32 or layout.dims["N"] % FOUR:
        return False
    indices = (form.coordinates(_space_index(form, layout, sides)).at[value] for sides in _fours(layout, "n"))
    return _together([flatten(index, value.shape) for index in indices])


def _together(positions: Sequence[Index]) -> bool:
    """Whether these four follow each other in memory, from a multiple of four on, whatever the variables are."""
    first = positions[0]
    aligned = not any(step % FOUR for step in (first.const, *(step for _, step in first.terms)))
    return aligned and all(position == first + place for place, position in enumerate(positions))


def _lies_along_sum(form: Form, layout: Layout, which: int) -> bool:
    """Whether neighbours of a factor in memory follow each other along the sum rather than along M or N."""
    read = _largest_load(form, _factor(form, layout, which))
    if read is None:
        return False
    side = layout.side(which)
    position = flatten(read.index, read.value.shape)
    along_sum = step_of(position, var("k", layout.dims["K"]))
    across = step_of(position, var(side, layout.dims[side.upper()]))
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
