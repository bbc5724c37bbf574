"""What the start page shows: recent projects with their files' times, and cards of the shipped examples.

Reading them takes a moment, so `look` is called on a thread of its own; what it gives is frozen data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from munet import Graph, MunetError, bundled_project, bundled_projects, load_project
from studio.hit import Scene
from studio.nodeviews import Color, Point

MAX_LINE = 150  # letters of a card's description


@dataclass(frozen=True)
class Recent:
    """A project that was opened before. `changed_at`: when its file was, None if it is gone."""

    path: Path
    changed_at: float | None

    @property
    def there(self) -> bool:
        return self.changed_at is not None


@dataclass(frozen=True)
class Card:
    """A shipped example, and its drawing as rectangles and lines between 0 and 1, `shape` wide for its height."""

    name: str
    title: str
    line: str
    nodes: int
    boxes: tuple[tuple[Point, Point, Color], ...]
    lines: tuple[tuple[Point, Point, Color], ...]
    shape: float


@dataclass(frozen=True)
class Found:
    """All of it."""

    recent: tuple[Recent, ...]
    cards: tuple[Card, ...]


def look(recent: Iterable[str]) -> Found:
    """May take long where drives are slow. Examples that cannot be read are left out."""
    return Found(tuple(_recent(Path(name)) for name in recent), tuple(_cards()))


def _recent(path: Path) -> Recent:
    try:
        return Recent(path, path.stat().st_mtime if path.is_file() else None)
    except OSError:
        return Recent(path, None)


def _cards() -> Iterable[Card]:
    for name in bundled_projects():
        path = bundled_project(name)
        try:
            if path is not None:
                yield card(name, load_project(path))
        except MunetError:
            continue


@cache
def examples_of() -> Mapping[str, tuple[str, ...]]:
    """Shipped examples by the operators that they use: a node's help names them."""
    found: dict[str, list[str]] = {}
    for name in bundled_projects():
        path = bundled_project(name)
        with suppress(MunetError):
            graph = load_project(path) if path is not None else Graph()
            nodes = [node for part in (graph, *graph.subgraphs.values()) for node in part.nodes.values()]
            for operator in dict.fromkeys(node.operator for node in nodes):
                found.setdefault(operator, []).append(name)
    return {operator: tuple(names) for operator, names in found.items()}


def card(name: str, graph: Graph) -> Card:
    """The card of an example."""
    scene = Scene()
    scene.update(graph, graph)
    left, top, right, bottom = scene.bounds or (0.0, 0.0, 1.0, 1.0)
    width, height = max(1.0, right - left), max(1.0, bottom - top)

    def at(x: float, y: float) -> Point:
        return (x - left) / width, (y - top) / height

    boxes = tuple((at(*view.rect[:2]), at(*view.rect[2:]), view.color) for view in scene.views.values())
    lines: list[tuple[Point, Point, Color]] = []
    for edge, wire in scene.wires.items():
        spot = scene.views[edge.source].socket("out", edge.source_socket)
        if spot is not None:
            lines.append((at(*wire.control[0]), at(*wire.control[3]), spot.color))
    nodes = len(graph.nodes) + sum(len(part.nodes) for part in graph.subgraphs.values())
    return Card(name, graph.name or name.replace("_", " "), _line(graph.note), nodes, boxes, tuple(lines), width / height)


def _line(note: str) -> str:
    """The note in one line, or as much of it as fits on a card."""
    words = " ".join(note.split())
    return words if len(words) <= MAX_LINE else words[: MAX_LINE - 1].rsplit(" ", 1)[0] + "…"
