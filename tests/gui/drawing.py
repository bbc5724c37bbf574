"""What stories about the canvas share: small drawings, where things of a drawing are in the window, drags."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from munet import Edge, Graph, Node
from studio import fonts
from studio.view import theme
from studio.view.gui import dpg
from tests.gui.hand import Hand, Point

NAMES = ("a", "b", "c", "d")


@contextmanager
def held(hand: Hand, key: str) -> Iterator[None]:
    hand.x("keydown", key)
    yield
    hand.x("keyup", key)


def drag(hand: Hand, start: Point, end: Point, button: int = 1, steps: int = 4) -> None:
    hand.to(start)
    hand.x("mousedown", str(button))
    for step in range(1, steps + 1):
        t = step / steps
        hand.to((start[0] + t * (end[0] - start[0]), start[1] + t * (end[1] - start[1])))
    hand.x("mouseup", str(button))


def show(hand: Hand, graph: Graph, zoom: float = 1.0) -> None:
    """A drawing with its origin near the canvas' corner."""
    core = hand.app.core
    core.open(graph, None)
    hand.until(lambda: core.findings.version == core.document.version)
    hand.frames(4)
    core.camera.x, core.camera.y, core.camera.zoom = -30.0, -60.0, zoom
    core.camera.version += 1
    hand.until(lambda: hand.app.canvas.pictures.pending == 0, 5)


def four() -> Graph:
    """Four activations in two rows, the upper two wired."""
    places = ((0.0, 0.0), (300.0, 0.0), (0.0, 180.0), (300.0, 180.0))
    nodes = {name: Node(name, "relu", {}, at) for name, at in zip(NAMES, places, strict=True)}
    return Graph(nodes=nodes, edges=(Edge("a", "y", "b", "x"),))


def along(hand: Hand, edge: Edge, share: float) -> Point:
    points = hand.app.core.scene.wires[edge].points
    return hand.on_screen(points[round(share * (len(points) - 1))])


def free(hand: Hand, at: Point) -> Point:
    """A place of the drawing in pixels of the window."""
    return hand.on_screen(at)


def wires(hand: Hand) -> list[tuple[str, str]]:
    return [(edge.source, edge.target) for edge in hand.app.core.document.part.edges]


def undressed() -> list[str]:
    """Texts of widgets whose letters the window's own font lacks, and that have not been given one that has them."""
    known, found = theme.font_for("\u5377"), list[str]()
    if known is None:  # no such font is installed
        return found
    for item in dpg.get_all_items():
        shown = dpg.get_item_configuration(item)
        words = [str(shown.get(key) or "") for key in ("label", "text")]
        words += (
            [str(dpg.get_value(item) or "")]
            if "::mvText" in dpg.get_item_type(item) or "InputText" in dpg.get_item_type(item)
            else []
        )
        if any(fonts.needs_cjk(text) for text in words) and dpg.get_item_font(item) != known:
            found.append(f"{dpg.get_item_type(item)} {words}")
    return found
