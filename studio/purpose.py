"""What a drawing is for, as far as it can be told from it: which sockets hold a classifier's scores and labels, points, text.

Found in the flat drawing, so that nodes inside subgraphs count too; "node.socket" names are those that a session takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from munet import Graph
from munet.inspect import WireView

Wires = Mapping[tuple[str, str], WireView]

# Operator -> inputs that take what the network says and what is right.
JUDGES: Mapping[str, tuple[str, str]] = {
    "cross_entropy": ("logits", "label"), "nll_loss": ("logs", "label"), "accuracy": ("logits", "label"),
    "bce_with_logits": ("logits", "target"), "bce_loss": ("p", "target"), "mse_loss": ("prediction", "target"),
    "l1_loss": ("prediction", "target"), "huber_loss": ("prediction", "target"), "smooth_l1_loss": ("prediction", "target"),
}  # fmt: skip
EVEN = {"bce_with_logits": 0.0, "bce_loss": 0.5}  # of two kinds, where neither is more likely


@dataclass(frozen=True)
class Purpose:
    """Sockets as "node.socket", "" where there is none; `kind` is what can be shown of the network as a whole."""

    kind: str  # "classes", "two classes", "text", "values"
    scores: str
    target: str
    judge: str  # the node that compares them
    points: str = ""  # a source of points in the plane
    images: str = ""  # a source of pictures
    letters: str = ""  # a source of text
    file: str = ""  # of the text
    even: float = 0.0
    classes: int = 0  # for "values" of samples their number: three are a colour


def purpose_of(graph: Graph, wires: Wires) -> Purpose | None:
    """Of the first node that judges what the network says; `graph` is flat."""
    into = {(edge.target, edge.target_socket): (edge.source, edge.source_socket) for edge in graph.edges}
    for operator, (said, right) in JUDGES.items():
        for node in graph.nodes.values():
            scores, target = into.get((node.id, said)), into.get((node.id, right))
            if node.operator != operator or node.muted or scores is None or target is None or scores not in wires:
                continue
            found = _purpose(graph, wires, operator, scores, target)
            sources = _behind(graph, scores[0])
            return Purpose(found[0], ".".join(scores), ".".join(target), node.id, classes=found[1],
                           even=EVEN.get(operator, 0.5), **_sources(graph, wires, sources))  # fmt: skip
    return None


def _purpose(graph: Graph, wires: Wires, operator: str, scores: tuple[str, str], target: tuple[str, str]) -> tuple[str, int]:
    shape = wires[scores].shape
    if JUDGES[operator][1] == "label":
        if len(shape) == 3 and graph.nodes[target[0]].operator == "text":
            return "text", shape[-1]
        return ("classes", shape[-1]) if len(shape) == 2 else ("values", 0)
    single = len(shape) == 1 or (len(shape) == 2 and shape[1] == 1)
    return ("two classes", 2) if operator in EVEN and single else ("values", shape[-1] if len(shape) == 2 else 0)


def _behind(graph: Graph, node: str) -> list[str]:
    """All nodes that lead to a node, itself included."""
    before: dict[str, list[str]] = {}
    for edge in graph.edges:
        before.setdefault(edge.target, []).append(edge.source)
    found: dict[str, None] = {}
    stack = [node]
    while stack:
        id_ = stack.pop()
        if id_ not in found:
            found[id_] = None
            stack += before.get(id_, [])
    return list(found)


def _sources(graph: Graph, wires: Wires, behind: list[str]) -> dict[str, str]:
    """What comes into the network: outputs of nodes without inputs. Only where all of them are known is there a plane to draw."""
    inner = {edge.target for edge in graph.edges}
    places = [place for place in wires if place[0] in behind and place[0] not in inner]
    used = {(edge.source, edge.source_socket) for edge in graph.edges if edge.target in behind}
    found: dict[str, str] = {}
    given = [place for place in places if place in used]
    for place in given:
        view, name = wires[place], ".".join(place)
        if graph.nodes[place[0]].operator == "text":
            found |= {"letters": name, "file": str(graph.nodes[place[0]].params.get("file", ""))}
        elif is_picture(view.shape):
            found.setdefault("images", name)
        elif len(view.shape) == 2 and view.shape[1] == 2 and len(given) == 1:
            found["points"] = name
    return found


def is_picture(shape: tuple[int, ...]) -> bool:
    """Samples of one or three channels, large enough to see something."""
    return len(shape) == 4 and shape[1] in (1, 3) and min(shape[2:]) > 1
