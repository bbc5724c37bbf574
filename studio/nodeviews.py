"""How a node looks, as data: its size, rows of sockets and parameters, where its sockets are, colours by category and dtype.

All lengths are canvas units. A view is made from the node's declaration, or from the interface of the subgraph it stands for.
Nothing is drawn here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from munet import Graph, Node
from munet.inspect import DeclarationView, ParamView, SocketView, WireView
from studio.edits import REROUTE, SUBGRAPH
from studio.instances import declarations, instances

Point = tuple[float, float]
Color = tuple[int, int, int]

WIDTH, MAX_WIDTH, HEAD, ROW, PAD, SOCKET = 168.0, 320.0, 26.0, 20.0, 6.0, 4.5
LETTER, TITLE_LETTER = 6.6, 7.8  # rough widths of a letter of the two text sizes
WIDE_LETTER = 13.0  # of CJK scripts
REROUTE_SIZE = 16.0
SHOWN_PARAMS = 6  # rows; the inspector shows all

DTYPE_COLORS: Mapping[str, Color] = {
    "f32": (96, 165, 250), "f16": (167, 139, 250), "bf16": (167, 139, 250), "f64": (129, 140, 248),
    "i32": (74, 222, 128), "i64": (74, 222, 128), "u32": (163, 230, 53), "u8": (251, 146, 60), "bool": (244, 114, 182),
    "rate": (250, 204, 21), "any": (148, 163, 184),
}  # fmt: skip
# The shape says it as well, for those who do not see the colours.
DTYPE_SHAPES: Mapping[str, str] = {"float": "circle", "integer": "square", "bool": "diamond", "rate": "triangle", "any": "ring"}
CATEGORY_COLORS: Mapping[str, Color] = {
    "Sources": (46, 125, 90), "Layers": (59, 110, 180), "Attention": (70, 90, 190), "Normalisation": (56, 130, 160),
    "Activations": (150, 92, 40), "Losses": (170, 70, 70), "Metrics": (150, 80, 120), "Optimisers": (140, 110, 30),
    "Schedules": (120, 105, 50), "Random": (110, 80, 150), "Pooling": (60, 125, 140), "Structure": (80, 86, 98),
    "Comparison": (110, 80, 110), "Reductions": (70, 110, 110), "Indexing": (95, 105, 70),
}  # fmt: skip
PLAIN: Color = (90, 100, 120)
UNKNOWN: Color = (127, 29, 29)


@dataclass(frozen=True)
class SocketSpot:
    """A socket; `x`, `y` from the node's upper left corner. `kind` is a key of DTYPE_SHAPES, `dtype` of DTYPE_COLORS."""

    name: str
    side: str  # "in" or "out"
    x: float
    y: float
    dtype: str
    kind: str
    pattern: str = ""
    optional: bool = False
    variadic: bool = False
    wired: bool = False
    doc: str = ""

    @property
    def color(self) -> Color:
        return DTYPE_COLORS.get(self.dtype, DTYPE_COLORS["any"])

    @property
    def shape(self) -> str:
        return DTYPE_SHAPES[self.kind]


@dataclass(frozen=True)
class ParamRow:
    """A parameter on the node: `y` is the top of its row. `changed`: it differs from its default."""

    name: str
    value: str
    y: float
    changed: bool
    live: bool


@dataclass(frozen=True)
class NodeView:
    """A node as it is drawn at `x`, `y`."""

    id: str
    operator: str
    title: str
    subtitle: str
    category: str
    color: Color
    x: float
    y: float
    width: float
    height: float
    inputs: tuple[SocketSpot, ...]
    outputs: tuple[SocketSpot, ...]
    params: tuple[ParamRow, ...] = ()
    more_params: int = 0
    muted: bool = False
    frozen: bool = False
    note: str = ""
    known: bool = True  # False: there is no such operator

    @property
    def rect(self) -> tuple[float, float, float, float]:
        return (self.x, self.y, self.x + self.width, self.y + self.height)

    @property
    def is_reroute(self) -> bool:
        return self.operator == REROUTE

    def socket(self, side: str, name: str) -> SocketSpot | None:
        return next((s for s in (self.inputs if side == "in" else self.outputs) if s.name == name), None)

    def place_of(self, spot: SocketSpot) -> Point:
        """On the canvas."""
        return (self.x + spot.x, self.y + spot.y)


def declaration_of(graph: Graph, node: Node) -> DeclarationView | None:
    """What the node's sockets and parameters are, those of a subgraph's instance included; None for an unknown operator."""
    declared = declarations().get(node.operator)
    if node.operator != SUBGRAPH or declared is None:
        return declared
    return instances(graph.subgraphs).declaration(str(node.params.get("graph")))


Wires = Mapping[tuple[str, str], WireView]


def node_view(graph: Graph, node: Node, wired: frozenset[str] = frozenset(), wires: Wires | None = None) -> NodeView:
    """The view of a node. `wired`: its inputs that have a wire; `wires`: what is known of outputs, by (node, socket)."""
    declared = declaration_of(graph, node)
    if node.operator == REROUTE:
        return _reroute_view(node, wires or {})
    if declared is None:
        return _unknown_view(graph, node)
    rows = max(len(declared.inputs), len(declared.outputs))
    shown = [p for p in declared.params if p.name in node.params] or list(declared.params)
    shown = [p for p in declared.params if p in shown][:SHOWN_PARAMS] if node.operator != SUBGRAPH else list(declared.params)
    title, subtitle = node.id, declared.name if declared.name.lower() != node.id.lower() else ""
    values = [(p, shown_value(node.params.get(p.name, p.default))) for p in shown]
    width = _width(title, declared, values)
    inputs = tuple(_spot(node, s, "in", i, 0.0, s.name in wired, wires or {}) for i, s in enumerate(declared.inputs))
    outputs = tuple(_spot(node, s, "out", i, width, False, wires or {}) for i, s in enumerate(declared.outputs))
    top = HEAD + PAD + ROW * rows
    params = tuple(
        ParamRow(p.name, value, top + ROW * i, node.params.get(p.name, p.default) != p.default, p.live)
        for i, (p, value) in enumerate(values)
    )
    height = top + ROW * len(params) + PAD
    color = CATEGORY_COLORS.get(declared.category, PLAIN)
    rest = len(declared.params) - len(params)
    return NodeView(
        node.id, node.operator, title, subtitle, declared.category, color, *node.position, width, height,
        inputs, outputs, params, rest, node.muted, node.frozen, node.note,
    )  # fmt: skip


def _width(title: str, declared: DeclarationView, values: list[tuple[ParamView, str]]) -> float:
    pairs = range(max(len(declared.inputs), len(declared.outputs)))
    left, right = declared.inputs, declared.outputs
    rows = [
        text_width(left[i].name if i < len(left) else "") + text_width(right[i].name if i < len(right) else "") + 44.0
        for i in pairs
    ]
    rows += [text_width(p.name) + text_width(value) + 36.0 for p, value in values]
    return min(MAX_WIDTH, max([WIDTH, text_width(title, TITLE_LETTER) + 44.0, *rows]))


def text_width(words: str, letter: float = LETTER) -> float:
    """Roughly, in canvas units; the view knows better once fonts are loaded."""
    return sum(WIDE_LETTER if ord(character) >= 0x2E80 else letter for character in words)


def shown_value(value: Any) -> str:
    """A parameter's value as a node shows it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, tuple | list):
        return " × ".join(map(str, value)) if value else "all"
    words = str(value)
    return words if len(words) <= 24 else words[:10] + "…" + words[-13:]


def kind_of(dtype: str) -> str:
    """Key of DTYPE_SHAPES for a dtype's name or a declaration such as "T:float"."""
    variable, _, group = dtype.partition(":")
    if group in ("float", "integer"):
        return group
    if variable in ("bool", "rate"):
        return variable
    if variable[1:].isdigit():
        return {"f": "float", "i": "integer", "u": "integer"}.get(variable[:1], "any")
    return "float" if variable == "bf16" else "any"


def _spot(node: Node, socket: SocketView, side: str, row: int, x: float, wired: bool, wires: Wires) -> SocketSpot:
    y = HEAD + PAD + ROW * (row + 0.5)
    known = wires.get((node.id, socket.name)) if side == "out" else None
    declared = declarations().get(node.operator)
    if socket.name == "rate" and declared is not None and declared.kind in ("schedule", "optimiser"):
        dtype = kind = "rate"
    else:
        dtype = known.dtype if known is not None else socket.dtype.partition(":")[0]
        kind = kind_of(known.dtype if known is not None else socket.dtype)
        if dtype not in DTYPE_COLORS:
            dtype = {"float": "f32", "integer": "i32"}.get(kind, "any")
    return SocketSpot(
        socket.name, side, x, y, dtype, kind, socket.pattern, socket.optional, socket.variadic, wired, socket.doc
    )  # fmt: skip


def _reroute_view(node: Node, wires: Wires) -> NodeView:
    known = wires.get((node.id, "y"))
    dtype, kind = (known.dtype, kind_of(known.dtype)) if known else ("any", "any")
    half = REROUTE_SIZE / 2
    into = SocketSpot("x", "in", 0.0, half, dtype, kind)
    out = SocketSpot("y", "out", REROUTE_SIZE, half, dtype, kind)
    color = DTYPE_COLORS.get(dtype, DTYPE_COLORS["any"])
    return NodeView(node.id, REROUTE, "", "", "Structure", color, *node.position, REROUTE_SIZE, REROUTE_SIZE, (into,), (out,))


def _unknown_view(graph: Graph, node: Node) -> NodeView:
    """Sockets are those that have wires somewhere in the project under this id."""
    parts = (graph, *graph.subgraphs.values())
    into = dict.fromkeys(e.target_socket for part in parts for e in part.edges if e.target == node.id)
    out = dict.fromkeys(e.source_socket for part in parts for e in part.edges if e.source == node.id)
    inputs = tuple(SocketSpot(s, "in", 0.0, HEAD + PAD + ROW * (i + 0.5), "any", "any") for i, s in enumerate(into))
    outputs = tuple(SocketSpot(s, "out", WIDTH, HEAD + PAD + ROW * (i + 0.5), "any", "any") for i, s in enumerate(out))
    height = HEAD + 2 * PAD + ROW * max(len(inputs), len(outputs), 1)
    return NodeView(
        node.id, node.operator, node.id, node.operator, "", UNKNOWN, *node.position, WIDTH, height, inputs, outputs,
        muted=node.muted, note=node.note, known=False,
    )  # fmt: skip
