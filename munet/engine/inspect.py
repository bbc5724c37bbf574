"""What tools may know: read-only views of declarations, shapes, memory plan, passes and kernels. Frozen data, no behaviour.

    registry()                     all declarations: sockets, parameters with their limits, formulas, help
    example(name)                  small inputs of a kind of node, and what comes out
    wire_shapes(graph)             shape and dtype of every output socket that can be worked out
    passes_of(program)             each dispatch: level, nodes, kernel and why it was chosen, grid, bytes, arithmetic
    plan_of(program)               each value: buffer, offset, lifetime, with whom it shares bytes and why
    glsl_of / ir_of(program, node) what was generated for a node

Nodes are named as on the drawing; "" stands for what belongs to none: counters, metric ring, the watch for NaN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from munet.engine.example import Example, example_of
from munet.engine.graph import Graph
from munet.engine.ir.module import Op, Shape, Value
from munet.engine.ir.text import Names, print_ops
from munet.engine.lower import Lowering
from munet.engine.operator import REGISTRY, Declaration, NotDifferentiable, Operator, Optimiser, ParamValue
from munet.engine.passlist import ComputePass, Placement
from munet.engine.program import BufferSpec, MemoryReport, Program


@dataclass(frozen=True)
class SocketView:
    """`pattern` is the declared shape, "n c h w", "" for a single number. `dtype` is "" where a rule works it out.

    `computed`: a rule works the shape out, and the pattern is ""; `doc` then says what it is.
    """

    name: str
    pattern: str
    dtype: str
    optional: bool = False
    variadic: bool = False
    doc: str = ""
    computed: bool = False


@dataclass(frozen=True)
class ParamView:
    """`type`: "bool", "int", "float", "text" or "ints". Hard limits refuse, `soft_max` shapes a slider."""

    name: str
    type: str
    default: ParamValue
    min: float | None
    max: float | None
    soft_max: float | None
    choices: tuple[str, ...]
    live: bool
    positive: bool
    doc: str


@dataclass(frozen=True)
class DeclarationView:
    """A kind of node. `kind`: "operator", "layer", "datasource", "optimiser" or "schedule".

    category   its place in the palette; "" for what only the compiler uses
    formula    lines, as mathematics writes it; none where there is nothing to write
    kernel     "map", "reduction", "contraction" or "update", for operators
    gradient   "" if it has one, else why not
    states     an optimiser's states of each parameter
    """

    name: str
    kind: str
    category: str
    role: str
    version: int
    doc: str
    inputs: tuple[SocketView, ...]
    outputs: tuple[SocketView, ...]
    params: tuple[ParamView, ...]
    formula: tuple[str, ...] = ()
    kernel: str = ""
    gradient: str = ""
    states: tuple[str, ...] = ()


@dataclass(frozen=True)
class WireView:
    """What a wire carries."""

    shape: Shape
    dtype: str

    def __str__(self) -> str:
        return f"{self.dtype} [{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class PassView:
    """One dispatch. `nodes` in the order of its ops; `variant` is a shader asset's, "generated" for written kernels."""

    index: int
    level: int
    name: str
    nodes: tuple[str, ...]
    kernel: str
    variant: str
    reason: str
    grid: tuple[int, int, int]
    bytes_read: int
    bytes_written: int
    flops: int


@dataclass(frozen=True)
class Sharing:
    """Another value that has bytes of this one, and why that is right."""

    value: int  # its index in the plan
    reason: str


@dataclass(frozen=True)
class PlannedValue:
    """Where a value lies and when it lives. `first` and `last` are the levels of its first write and last read.

    A source, which is there before the step, has first = -1. `kind`: the role, but a temporary of a node is an "activation" or
    a "gradient"; counters, metrics and what optimisers work with stay "temporary".
    """

    index: int
    name: str
    role: str  # "state", "data", "feed" or "temporary"
    node: str
    shape: Shape
    dtype: str
    buffer: str
    offset_bytes: int
    size_bytes: int
    first: int
    last: int
    shares: tuple[Sharing, ...] = ()
    kind: str = "temporary"


@dataclass(frozen=True)
class MemoryPlan:
    """All buffers of a program, and all values in them, by buffer, offset and time."""

    buffers: tuple[BufferSpec, ...]
    values: tuple[PlannedValue, ...]
    memory: MemoryReport

    @property
    def total_bytes(self) -> int:
        return sum(buffer.size_bytes for buffer in self.buffers)


# -- declarations --------------------------------------------------------------------------------------------------------


def registry() -> tuple[DeclarationView, ...]:
    """Every declaration, in the order in which they were made."""
    return tuple(_declaration(declared) for declared in REGISTRY.values())


def declaration(name: str) -> DeclarationView:
    """The declaration of that name. Raises KeyError."""
    return _declaration(REGISTRY[name])


def example(name: str) -> Example | None:
    """Of the declaration of that name; None for what computes nothing. Raises KeyError. Takes a millisecond or two once."""
    return example_of(REGISTRY[name])


def _declaration(declared: Declaration) -> DeclarationView:
    inputs = tuple(SocketView(n, s.pattern, s.dtype, s.optional, s.variadic, s.doc) for n, s in declared.inputs.items())
    outputs = tuple(
        SocketView(n, _text(s.pattern), _text(s.dtype), doc=s.doc, computed=callable(s.pattern))
        for n, s in declared.outputs.items()
    )
    params = tuple(
        ParamView(n, _type(p.default), p.default, p.min, p.max, p.soft_max, p.choices, p.live, p.positive, p.doc)
        for n, p in declared.params.items()
    )
    kernel = gradient = ""
    if isinstance(declared, Operator):
        kernel = declared.kernel.kind if declared.kernel else ""
        rule = declared.gradient_rule
        gradient = rule.reason if isinstance(rule, NotDifferentiable) else "nobody has written one yet" if rule is None else ""
    states = declared.slots if isinstance(declared, Optimiser) else ()
    head = (declared.name, declared.kind, declared.category, declared.role, declared.version, declared.doc)
    return DeclarationView(*head, inputs, outputs, params, declared.formula, kernel, gradient, states)


def _text(rule: object) -> str:
    return rule if isinstance(rule, str) else ""


def _type(default: ParamValue) -> str:
    names = ((bool, "bool"), (int, "int"), (float, "float"), (tuple, "ints"))
    return next((name for kind, name in names if isinstance(default, kind)), "text")


def wire_shapes(graph: Graph, mode: str = "train") -> dict[tuple[str, str], WireView]:
    """By (node, output socket); what lies behind a faulty node is missing. Never raises for a faulty drawing."""
    lowering = Lowering(graph, mode)
    lowering.run()
    found = lowering.results.items()
    return {key: WireView(value.shape, value.dtype.name) for key, value in found if isinstance(value, Value)}


# -- passes --------------------------------------------------------------------------------------------------------------


def passes_of(program: Program) -> tuple[PassView, ...]:
    """In running order; those of one level may run at the same time."""
    return tuple(_pass(index, p) for index, p in enumerate(_passes(program)))


def _pass(index: int, p: ComputePass) -> PassView:
    head = (index, p.level, p.name, nodes_of(p), p.kernel.name, p.kernel.variant, p.kernel.reason)
    return PassView(*head, p.grid, p.bytes_read, p.bytes_written, p.flops)


def nodes_of(compute_pass: ComputePass) -> tuple[str, ...]:
    return tuple(dict.fromkeys(origin[0] for origin in compute_pass.origins if origin))


def glsl_of(program: Program, node: str | None = None) -> dict[int, str]:
    """The shader of each pass that computes something of `node`, or of all; by index of the pass."""
    return {index: p.kernel.glsl for index, p in enumerate(_passes(program)) if node is None or node in nodes_of(p)}


def ir_of(program: Program, node: str | None = None) -> dict[int, str]:
    """The fused ops of each such pass as text; by index of the pass."""
    names = Names()
    for source in program.module.sources:
        names.set(source.value, source.name)
    texts = {index: "\n".join(print_ops(p.ops, names, "")) for index, p in enumerate(_passes(program))}
    chosen = glsl_of(program, node)
    return {index: text for index, text in texts.items() if index in chosen}


def _passes(program: Program) -> tuple[ComputePass, ...]:
    return tuple(p for passes in program.pass_lists for p in passes)


# -- memory --------------------------------------------------------------------------------------------------------------


def plan_of(program: Program) -> MemoryPlan:
    """Values that no pass touches are left out."""
    end = program.level_count - 1
    kept, sources = set(program.module.results()), {s.value: s for s in program.module.sources}
    states = {s.result: s for s in program.module.states if s.result is not None}
    spans: dict[Value, list[int]] = {}
    makers: dict[Value, Op] = {}
    for p in _passes(program):
        for op in (*p.ops, *p.riders):
            for value in (*op.inputs, *op.outputs):
                if value in program.placements:
                    first = -1 if value in sources else p.level
                    spans.setdefault(value, [first, p.level])[1] = p.level
            makers |= dict.fromkeys(op.outputs, op)
    for value in spans:
        if value in kept:
            spans[value][1] = end
    order = sorted(spans, key=lambda v: (program.placements[v].buffer, program.placements[v].offset_bytes, spans[v]))
    roles = {buffer.name: buffer.role for buffer in program.buffers}
    planned: list[PlannedValue] = []
    shared = _sharing(order, program.placements, spans, makers, {v: s.value for v, s in states.items()})
    for index, value in enumerate(order):
        place = program.placements[value]
        source = sources.get(value) or states.get(value)
        name = source.name if source else value.hint
        node = _node_of(makers.get(value)) or (source.name.split("/")[0] if source and "/" in source.name else "")
        head = (index, name, roles[place.buffer], node, value.shape, value.dtype.name)
        where = (place.buffer, place.offset_bytes, place.size_bytes)
        first, last = spans[value]
        kind = _kind_of(value, makers.get(value), node) if roles[place.buffer] == "temporary" else roles[place.buffer]
        planned.append(PlannedValue(*head, *where, first, last, tuple(shared.get(value, ())), kind))
    return MemoryPlan(program.buffers, tuple(planned), program.memory)


def _sharing(
    order: Sequence[Value],
    places: Mapping[Value, Placement],
    spans: Mapping[Value, Sequence[int]],
    makers: Mapping[Value, Op],
    states: Mapping[Value, Value],
) -> dict[Value, list[Sharing]]:
    """For each value those whose bytes meet its own; `order` is by buffer and offset."""
    found: dict[Value, list[Sharing]] = {}
    open_: list[tuple[int, Value]] = []
    for index, value in enumerate(order):
        place = places[value]
        open_ = [(i, v) for i, v in open_ if places[v].buffer == place.buffer and places[v].end_bytes > place.offset_bytes]
        for other_index, other in open_:
            pair = (other, value) if spans[other][0] <= spans[value][0] else (value, other)
            reason = _why(*pair, spans, makers, states)
            found.setdefault(value, []).append(Sharing(other_index, reason))
            found.setdefault(other, []).append(Sharing(index, reason))
        open_.append((index, value))
    return found


def _why(
    early: Value, late: Value, spans: Mapping[Value, Sequence[int]], makers: Mapping[Value, Op], states: Mapping[Value, Value]
) -> str:
    if states.get(late) is early or states.get(early) is late:
        return "the state after the step is written over the one before it"
    if spans[early][1] < spans[late][0]:
        return f"one is last read in level {spans[early][1]}, the other first written in level {spans[late][0]}"
    maker = makers.get(late)
    if maker is not None and early in maker.inputs:
        return "the result is written over an input that nobody reads afterwards, element by element"
    return "one is a part or a view of the other"


def _kind_of(value: Value, maker: Op | None, node: str) -> str:
    """Of a temporary: by the plain op that makes it."""
    plain = [op for region in maker.regions for op in region.ops if value in op.outputs] if maker is not None else []
    origin = plain[-1].origin if plain else maker.origin if maker is not None else ()
    return "gradient" if "gradient" in origin[1:] else "activation" if node and origin else "temporary"


def _node_of(op: Op | None) -> str:
    if op is None:
        return ""
    inner = [o.origin for region in op.regions for o in region.ops if o.origin]
    return op.origin[0] if op.origin else inner[-1][0] if inner else ""
