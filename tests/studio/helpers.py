"""What the studio's tests share: small documents, and a mouse that moves over a scene without any display."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from munet import Edge, Graph, Node, load_project
from munet.inspect import wire_shapes
from studio.camera import Camera
from studio.document import Document
from studio.edits import EditRefused
from studio.hit import Scene
from studio.nodeviews import Point
from studio.requests import LEFT, Outcome, Pointer, perform
from studio.tools import Tool

PROJECTS = Path(__file__).resolve().parents[2] / "projects"


def project(name: str = "spiral_mlp") -> Graph:
    return load_project(PROJECTS / f"{name}.json")


def opened(name: str = "spiral_mlp") -> Document:
    return Document(project(name))


def chain(*operators: str) -> Graph:
    """Nodes "a", "b", ... wired one behind the other."""
    nodes = {chr(97 + i): Node(chr(97 + i), operator, {}, (200.0 * i, 0.0)) for i, operator in enumerate(operators)}
    return Graph(nodes=nodes, edges=tuple(Edge(s, "y", t, "x") for s, t in pairwise(nodes)))


def relus(count: int, gap: float = 320.0) -> Graph:
    """A row of them, wired one behind the other: "r0", "r1", ..."""
    nodes = {f"r{i}": Node(f"r{i}", "relu", {}, (gap * i, 0.0)) for i in range(count)}
    edges = tuple(Edge(f"r{i}", "y", f"r{i + 1}", "x") for i in range(count - 1))
    return Graph(nodes=nodes, edges=edges)


class Mouse:
    """Drives a tool as a window would; `asked` and `refused` collect what it hands back."""

    def __init__(self, document: Document, zoom: float = 1.0):
        self.document, self.scene, self.camera = document, Scene(), Camera(zoom=zoom)
        self.tool = Tool(document, self.scene, wires=wire_shapes(document.graph))
        self.asked: list[Outcome] = []
        self.refused: list[EditRefused] = []
        self.held: frozenset[str] = frozenset()
        self.sync()

    def sync(self) -> None:
        self.scene.update(self.document.graph, self.document.part)

    def pointer(self, at: Point) -> Pointer:
        return Pointer(self.camera.to_screen(at), at, self.camera.zoom, self.held)

    def do(self, outcomes: Sequence[Outcome]) -> None:
        rest, refused = perform(self.document, outcomes)
        self.asked += rest
        self.refused += refused
        self.sync()

    def press(self, at: Point, button: str = LEFT) -> None:
        self.do(self.tool.press(button, self.pointer(at)))

    def move(self, at: Point) -> None:
        self.do(self.tool.move(self.pointer(at)))

    def release(self, at: Point) -> None:
        self.do(self.tool.release(self.pointer(at)))

    def click(self, at: Point, button: str = LEFT, held: str = "") -> None:
        self.held = frozenset(held.split())
        self.press(at, button)
        self.release(at)
        self.held = frozenset()

    def drag(self, start: Point, end: Point, button: str = LEFT, held: str = "", steps: int = 4) -> None:
        self.held = frozenset(held.split())
        self.press(start, button)
        for step in range(1, steps + 1):
            t = step / steps
            self.move((start[0] + t * (end[0] - start[0]), start[1] + t * (end[1] - start[1])))
        self.release(end)
        self.held = frozenset()

    def double_click(self, at: Point) -> None:
        self.click(at)
        self.press(at)
        self.tool.double_click(self.pointer(at))
        self.release(at)

    def head(self, node: str) -> Point:
        view = self.scene.views[node]
        return (view.x + view.width / 2, view.y + 8)

    def socket(self, node: str, side: str, name: str) -> Point:
        return self.scene.socket_at(node, side, name)
