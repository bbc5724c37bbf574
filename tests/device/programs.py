"""Small hand-made programs with hand-written GLSL, for tests of executors: every number in them can be worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from munet.engine.dtypes import F32, U32
from munet.engine.execute.base import Array, Executor, Ticket
from munet.engine.ir.module import Module, Op
from munet.engine.passlist import Binding, ComputePass, Kernel, PassList, Placement
from munet.engine.program import BufferSpec, Feed, Program, Records

ELEMENTS = 37  # prime, and no multiple of a workgroup
CAPACITY = 130  # of the rings, in steps
SIZE_BYTES = 4 * ELEMENTS

_HEAD = "#version 450\nlayout(local_size_x = 64) in;\n"


def buffer(index: int, name: str, kind: str = "float", access: str = "") -> str:
    """The GLSL of one binding."""
    return f"layout(set = 0, binding = {index}, std430) {access} buffer B{index} {{ {kind} {name}[]; }};\n"


def compute_pass(name: str, glsl: str, bindings: Sequence[Placement], *, level: int = 0) -> ComputePass:
    bound = tuple(Binding(placement, "read_write") for placement in bindings)
    return ComputePass(name, (Op("test", (), ()),), Kernel(name, glsl, len(bindings)), bound, (1, 1, 1), level)


def each_element(declarations: str, statement: str) -> str:
    """GLSL that runs `statement` for each element i."""
    return f"{_HEAD}{declarations}void main() {{ uint i = gl_GlobalInvocationID.x; if (i < {ELEMENTS}) {statement} }}\n"


def program(
    name: str,
    passes: Sequence[ComputePass],
    buffers: Sequence[BufferSpec],
    feeds: Sequence[Feed] = (),
    records: Records | None = None,
    dead_ranges: tuple[tuple[Placement, ...], ...] = (),
) -> Program:
    return Program(
        name=name,
        stages=(PassList(tuple(passes)),),
        buffers=tuple(buffers),
        placements={},
        module=Module(name, (), ()),
        feeds=tuple(feeds),
        records=records,
        dead_ranges=dead_ranges,
    )


Y, STEP = Placement("y", 0, SIZE_BYTES), Placement("step", 0, 4)
ROWS_RING, RECORDS_RING = Placement("rows", 0, CAPACITY * SIZE_BYTES), Placement("ring", 0, CAPACITY * 8)
SCALARS_RING = Placement("scalars", 0, CAPACITY * 4)

ADD_ROW = compute_pass(
    "add row",
    _HEAD
    + buffer(0, "y")
    + buffer(1, "rows", access="readonly")
    + buffer(2, "counter", "uint", "readonly")
    + f"""void main() {{
    uint i = gl_GlobalInvocationID.x;
    if (i < {ELEMENTS}) y[i] += rows[(counter[0] % {CAPACITY}) * {ELEMENTS} + i];
}}
""",
    [Y, ROWS_RING, STEP],
)
RECORD = compute_pass(
    "record",
    _HEAD
    + buffer(0, "y", access="readonly")
    + buffer(1, "ring")
    + buffer(2, "counter", "uint")
    + buffer(3, "scalars", "uint", "readonly")
    + f"""void main() {{
    if (gl_GlobalInvocationID.x != 0) return;
    uint row = counter[0] % {CAPACITY};
    ring[2 * row] = y[0];
    ring[2 * row + 1] = float(scalars[row]);
    counter[0] += 1;
}}
""",
    [Y, RECORDS_RING, STEP, SCALARS_RING],
    level=1,
)


def accumulate(name: str = "accumulate") -> Program:
    """Each step: y += the step's row of the feed; record (y[0], the step's scalar); count the step."""
    sizes = {"y": ("state", SIZE_BYTES), "step": ("state", 4), "rows": ("feed", ROWS_RING.size_bytes)}
    sizes |= {"ring": ("state", RECORDS_RING.size_bytes), "scalars": ("feed", SCALARS_RING.size_bytes)}
    return program(
        name,
        [ADD_ROW, RECORD],
        [BufferSpec(key, size, role) for key, (role, size) in sizes.items()],
        feeds=[Feed("rows", ROWS_RING, (ELEMENTS,), F32, CAPACITY), Feed("scalars", SCALARS_RING, (), U32, CAPACITY)],
        records=Records(("first", "scalar"), RECORDS_RING, CAPACITY),
    )


def scale(factor: str, name: str = "scale") -> Program:
    """Each step: y *= factor; shares y with `accumulate`."""
    glsl = each_element(buffer(0, "y"), f"y[i] *= {factor};")
    return program(name, [compute_pass(f"times {factor}", glsl, [Y])], [BufferSpec("y", SIZE_BYTES, "state")])


def through_temporary(planned_well: bool) -> Program:
    """Two passes over a temporary: t = y + 1, then y = t. Planned badly, t's bytes count as dead when they are read."""
    t = Placement("through/temporary", 0, SIZE_BYTES)
    both = buffer(0, "y") + buffer(1, "t")
    first, second = each_element(both, "t[i] = y[i] + 1.0;"), each_element(both, "y[i] = t[i];")
    return program(
        "through",
        [compute_pass("to t", first, [Y, t]), compute_pass("from t", second, [Y, t], level=1)],
        [BufferSpec("y", SIZE_BYTES, "state"), BufferSpec(t.buffer, SIZE_BYTES, "temporary")],
        dead_ranges=((t,), () if planned_well else (t,)),
    )


def push_and_constants(value: int, constant: int) -> Program:
    """y[i] = push constant + specialization constant."""
    glsl = (
        "#version 450\nlayout(local_size_x = 64) in;\nlayout(constant_id = 3) const uint ADDED = 0;\n"
        + buffer(0, "y")
        + "layout(push_constant, std430) uniform Push { uint count; uint value; };\n"
        + "void main() { uint i = gl_GlobalInvocationID.x; if (i < count) y[i] = float(value + ADDED); }\n"
    )
    push = ELEMENTS.to_bytes(4, "little") + value.to_bytes(4, "little")
    kernel = Kernel("constants", glsl, 1, 8, ((3, constant),))
    p = ComputePass("constants", (Op("test", (), ()),), kernel, (Binding(Y, "write"),), (1, 1, 1), 0, push)
    return program(f"constants {value} {constant}", [p], [BufferSpec("y", SIZE_BYTES, "state")])


ROWS = np.random.default_rng(7).integers(-9, 9, (700, ELEMENTS)).astype(np.float32)  # whole numbers: sums are exact
SCALARS = (np.arange(700, dtype=np.uint32) * 2654435761) % 1000003


def run(executor: Executor, p: Program, first_step: int, steps: int) -> Ticket:
    """Submits steps; a program with feeds gets the rows of ROWS and SCALARS at its steps."""
    feeds: dict[str, Array] = {}
    if p.feeds:
        feeds = {"rows": ROWS[first_step : first_step + steps], "scalars": SCALARS[first_step : first_step + steps]}
    return executor.submit(p, first_step=first_step, steps=steps, feeds=feeds)


def floats(executor: Executor, buffer: str) -> Array:
    return np.frombuffer(executor.read(buffer), np.float32)
