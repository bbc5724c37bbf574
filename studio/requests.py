"""What the canvas asks for: where the mouse is, and requests that a tool makes besides commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from munet import Edge
from studio.advice import Refusal
from studio.document import Command, Document, Selection
from studio.edits import EditRefused
from studio.hit import NOTHING, Hit
from studio.nodeviews import Point

LEFT, RIGHT, MIDDLE = "left", "right", "middle"  # buttons


@dataclass(frozen=True)
class Pointer:
    """Where the mouse is, on the screen and on the canvas, and which modifiers are held."""

    screen: Point
    canvas: Point
    zoom: float = 1.0
    modifiers: frozenset[str] = frozenset()  # "Ctrl", "Shift", "Alt", "Space"


@dataclass(frozen=True)
class Select:
    selection: Selection


@dataclass(frozen=True)
class Seal:
    """A drag has ended: the next command is a step of undo of its own."""


@dataclass(frozen=True)
class OpenSearch:
    """Search for a node to add `at`; with a socket, for what fits it. `taken` is a wire that was pulled off it meanwhile."""

    at: Point
    socket: Hit | None = None
    taken: Edge | None = None


@dataclass(frozen=True)
class OpenMenu:
    at: Point
    hit: Hit


@dataclass(frozen=True)
class Enter:
    """Show the subgraph of a node."""

    node: str


@dataclass(frozen=True)
class Edit:
    """A node or a frame was double clicked: edit in place what lies `at` that point, its name or a parameter."""

    hit: Hit
    at: Point = (0.0, 0.0)


@dataclass(frozen=True)
class Pan:
    dx: float
    dy: float


@dataclass(frozen=True)
class Zoom:
    at: Point  # on the screen
    notches: float


@dataclass(frozen=True)
class Refused:
    """A wire that does not fit, and why; `advice.cures` finds what would make it fit."""

    edge: Edge
    refusal: Refusal
    at: Point


Outcome = Command | Select | Seal | OpenSearch | OpenMenu | Enter | Edit | Pan | Zoom | Refused


@dataclass(frozen=True)
class Loose:
    """A wire being dragged from the `fixed` socket; `taken` is the wire it was, hidden meanwhile; `others` come along."""

    fixed: Hit
    end: Point
    taken: Edge | None = None
    others: tuple[Edge, ...] = ()
    over: Hit = NOTHING
    refusal: Refusal | None = None

    @property
    def ends(self) -> tuple[Hit, ...]:
        """The sockets that stay where they are, of all wires that come along."""
        return (self.fixed, *(Hit("socket", edge.target, "in", edge.target_socket) for edge in self.others))


def perform(document: Document, outcomes: Sequence[Outcome]) -> tuple[list[Outcome], list[EditRefused]]:
    """Carry out what concerns the document; gives back the requests for the window, and edits that were refused."""
    rest: list[Outcome] = []
    refused: list[EditRefused] = []
    for outcome in outcomes:
        try:
            match outcome:
                case Select():
                    document.select(outcome.selection)
                case Seal():
                    document.seal()
                case Enter():
                    document.enter(outcome.node)
                case OpenSearch() | OpenMenu() | Edit() | Pan() | Zoom() | Refused():
                    rest.append(outcome)
                case _:
                    document.do(outcome)
        except EditRefused as refusal_:
            refused.append(refusal_)
    return rest, refused
