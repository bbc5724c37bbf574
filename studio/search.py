"""Finding: nodes for the palette by fuzzy text, and which sockets fit each other by dtype and axes.

Fitting is judged by declarations and by what is known of the wire; it errs on the side of letting through, since lowering
decides. `advice.py` explains what does not fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from munet import Graph, Node
from munet.inspect import DeclarationView, SocketView, WireView
from studio.blocks import Block
from studio.edits import BORDERS, SUBGRAPH
from studio.nodeviews import declaration_of, declarations

FLOATS = frozenset({"f64", "f32", "f16", "bf16"})
INTEGERS = frozenset({"i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8", "i4", "u4"})
ALL = FLOATS | INTEGERS | {"bool"}
GROUPS = {"": ALL, "any": ALL, "number": FLOATS | INTEGERS, "float": FLOATS, "integer": INTEGERS}


@dataclass(frozen=True)
class Entry:
    """What can be placed: an operator, or a subgraph of the project. `words` are searched besides name and category."""

    name: str
    operator: str
    category: str
    doc: str
    words: str = ""
    graph: str = ""  # name of the subgraph, for instances
    block: Graph | None = None  # holds that subgraph, if it is a saved one
    formula: tuple[str, ...] = ()

    def node(self, at: tuple[float, float] = (0.0, 0.0)) -> Node:
        """A new node of this kind; its id still has to be made free."""
        params = {"graph": self.graph} if self.graph else {}
        return Node(self.name.replace("_", " ") if self.graph == "" else self.name, self.operator, params, at)


@dataclass(frozen=True)
class Found:
    """A result; `socket` is the one that fits, where a socket was given."""

    entry: Entry
    score: float
    socket: str = ""


# What people call things elsewhere.
OTHER_NAMES = {
    "Linear": "dense fully connected affine",
    "Conv2d": "convolution kernel filter",
    "relu": "rectifier",
    "add": "plus + residual skip",
    "mul": "times *",
    "sub": "minus -",
    "div": "/",
    "cross_entropy": "classification loss softmax",
    "mse_loss": "squared error regression loss",
    "Adam": "optimizer",
    "AdamW": "optimizer",
    "SGD": "optimizer momentum",
    "concat": "join cat",
    "digits": "mnist dataset data",
    "fashion_mnist": "dataset data clothes",
    "max_pool2d": "pooling downsample maxpool",
    "BatchNorm": "batch normalization",
    "LayerNorm": "normalization",
    "cast": "convert type dtype",
    "reshape": "view",
    "reroute": "dot bend",
    "Siren": "sine",
    "matmul": "@ dot product",
    "text": "dataset",
    "subgraph_input": "socket group",
    "subgraph_output": "socket group",
    "Embedding": "lookup table",
    "image": "picture dataset",
}


@cache
def _operator_entries() -> tuple[Entry, ...]:
    hidden = (SUBGRAPH,)
    return tuple(
        Entry(d.name, d.name, d.category, d.doc, OTHER_NAMES.get(d.name, ""), formula=d.formula)
        for d in declarations().values()
        if d.category and d.name not in hidden
    )


def entries(graph: Graph, owner: str = "", blocks: Iterable[Block] = ()) -> tuple[Entry, ...]:
    """All that can be placed in the drawing `owner` ("" = the project's own): border nodes only inside subgraphs."""
    own = [entry for entry in _operator_entries() if owner or entry.operator not in BORDERS]
    parts = [
        Entry(name, SUBGRAPH, "Subgraphs", part.note, "subgraph block group", name)
        for name, part in graph.subgraphs.items()
        if name != owner
    ]
    kept = [Entry(b.name, SUBGRAPH, "Blocks", b.note, "block subgraph saved", b.name, b.graph) for b in blocks]
    return (*own, *parts, *kept)


def categories(found: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Entries by category, in the order of their first."""
    groups: dict[str, list[Entry]] = {}
    for entry in found:
        groups.setdefault(entry.category, []).append(entry)
    return groups


def search(query: str, among: Iterable[Entry], recent: Iterable[str] = ()) -> list[Found]:
    """Entries that match all words of the query, the best first; all of them for an empty query."""
    words = query.lower().split()
    used = {name: place for place, name in enumerate(recent)}
    found: list[Found] = []
    for entry in among:
        scores = [_score(word, entry) for word in words]
        if any(score <= 0 for score in scores):
            continue
        bonus = 3.0 - 0.3 * min(used[entry.name], 10) if entry.name in used else 0.0
        found.append(Found(entry, sum(scores) + bonus))
    return sorted(found, key=lambda f: (-f.score, len(f.entry.name), f.entry.name.lower())) if words or used else found


def _score(word: str, entry: Entry) -> float:
    name = entry.name.lower()
    flat = name.replace("_", "")
    if word in (name, flat):
        return 100.0
    if word in entry.words.split():
        return 62.0
    if name.startswith(word) or flat.startswith(word):
        return 60.0 - 0.2 * len(name)
    if any(part.startswith(word) for part in name.split("_")):
        return 45.0
    if word in name:
        return 35.0
    if any(other.startswith(word) for other in entry.words.split()):
        return 30.0
    if entry.category.lower().startswith(word):
        return 25.0
    spread = _subsequence(word, flat)
    if spread:
        return 20.0 - spread
    if len(word) > 2 and _one_off(word, flat):
        return 12.0
    return 8.0 if len(word) > 2 and word in entry.doc.lower() else 0.0


def _subsequence(word: str, name: str) -> float:
    """Letters of the word in order, starting with the name's first: how many are left out, plus 1; 0 if they are not there."""
    if len(word) < 2 or not name.startswith(word[0]):
        return 0.0
    at = -1
    for letter in word:
        at = name.find(letter, at + 1)
        if at < 0:
            return 0.0
    return min(10.0, 1.0 + at + 1 - len(word))


def _one_off(word: str, name: str) -> bool:
    """Whether the name starts with the word but for one slip: a letter wrong, missing, too many, or two exchanged."""
    for length in (len(word) - 1, len(word), len(word) + 1):
        start = name[:length]
        if len(start) == length and _distance_is_one(word, start):
            return True
    return False


def _distance_is_one(a: str, b: str) -> bool:
    i = 0
    while i < min(len(a), len(b)) and a[i] == b[i]:
        i += 1
    if len(a) == len(b):
        return a[i + 1 :] == b[i + 1 :] or (a[i : i + 2] == b[i : i + 2][::-1] and a[i + 2 :] == b[i + 2 :])
    return a[i + 1 :] == b[i:] if len(a) > len(b) else a[i:] == b[i + 1 :]


# -- fitting ---------------------------------------------------------------------------------------------------------------


def dtypes_of(declared: str) -> frozenset[str]:
    """Which dtypes a socket may have: "T:float" any float, "i32" that one, "" (a rule) all."""
    variable, _, group = declared.partition(":")
    return frozenset({variable}) if variable in ALL else GROUPS.get(group, ALL)


def rank_of(pattern: str) -> tuple[int, int]:
    """The least and the greatest number of axes that a declared pattern stands for."""
    names = pattern.split()
    stars = sum(1 for name in names if name.startswith("*"))
    return (len(names) - stars, 99 if stars else len(names))


@dataclass(frozen=True)
class Carried:
    """What leaves an output, as far as it is known."""

    dtypes: frozenset[str] = ALL
    ranks: tuple[int, int] = (0, 99)


def carried(socket: SocketView, known: WireView | None = None, by_rule: bool = False) -> Carried:
    """`known` is what lowering found; `by_rule`: the declared pattern is only a sketch (layers, which give any shape)."""
    if known is not None:
        return Carried(frozenset({known.dtype}), (len(known.shape), len(known.shape)))
    return Carried(dtypes_of(socket.dtype), (0, 99) if by_rule or not socket.pattern else rank_of(socket.pattern))


def fits(source: Carried, target: SocketView) -> bool:
    """Whether the input may take what is carried."""
    low, high = rank_of(target.pattern)
    return bool(source.dtypes & dtypes_of(target.dtype)) and source.ranks[0] <= high and source.ranks[1] >= low


def outputs_of(graph: Graph, node: Node, wires: Mapping[tuple[str, str], WireView]) -> Iterator[tuple[str, Carried]]:
    """The node's outputs and what leaves them."""
    declared = declaration_of(graph, node)
    for socket in declared.outputs if declared else ():
        by_rule = declared is not None and declared.kind != "operator"
        yield socket.name, carried(socket, wires.get((node.id, socket.name)), by_rule)


def that_take(source: Carried, among: Iterable[Entry], graph: Graph, query: str = "") -> list[Found]:
    """Entries with an input that fits what a wire carries, with the first such socket: for a wire dropped on empty canvas."""
    found = search(query, among)
    picked = ((hit, _first_input(source, _declared(hit.entry, graph))) for hit in found)
    return [Found(hit.entry, hit.score, socket) for hit, socket in picked if socket]


def that_give(target: SocketView, among: Iterable[Entry], graph: Graph, query: str = "") -> list[Found]:
    """Entries with an output that an input can take."""
    found: list[Found] = []
    for hit in search(query, among):
        declared = _declared(hit.entry, graph)
        for socket in declared.outputs if declared else ():
            rate = declared is not None and declared.kind == "schedule"
            if fits(carried(socket, by_rule=declared is not None and declared.kind == "layer"), target) and (
                not rate or target.name == "rate"
            ):
                found.append(Found(hit.entry, hit.score, socket.name))
                break
    return found


def _declared(entry: Entry, graph: Graph) -> DeclarationView | None:
    return declaration_of(entry.block or graph, entry.node())


def _first_input(source: Carried, declared: DeclarationView | None) -> str:
    """Only a loss, which is a float, is handed to an optimiser."""
    if declared is None or (declared.kind == "optimiser" and not source.dtypes & FLOATS):
        return ""
    return next((socket.name for socket in declared.inputs if fits(source, socket)), "")
