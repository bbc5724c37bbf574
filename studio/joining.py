"""Wires without a mouse: selected nodes are wired one to the next, from left to right, by the sockets that fit."""

from __future__ import annotations

from itertools import pairwise

from munet import Edge
from studio.commands import Connect, Several
from studio.document import Command, State
from studio.edits import EditRefused
from studio.hit import Hit
from studio.nodeviews import NodeView
from studio.requests import Loose, Outcome, Refused
from studio.texts import text
from studio.tools import Tool


def join(tool: Tool) -> list[Outcome]:
    """One step of undo; else the first wire that does not fit. Raises EditRefused if fewer than two nodes are selected."""
    chosen = tool.document.selection.nodes
    views = sorted((view for id_, view in tool.scene.views.items() if id_ in chosen), key=lambda view: (view.x, view.y))
    if len(views) < 2:
        raise EditRefused("fewer than two nodes are selected", cure="select those to be wired, from left to right")
    made: list[Command] = []
    state = tool.document.state
    for left, right in pairwise(views):
        found = _between(tool, state, left, right)
        if isinstance(found, Refused):
            return [found]
        if found is not None:
            made.append(found)
            state = found.apply(state)
    return [Several(tuple(made), text("join", count=len(made)))] if made else []


def _between(tool: Tool, state: State, left: NodeView, right: NodeView) -> Connect | Refused | None:
    """The wire from one node to the next, None if there is one already."""
    if any((edge.source, edge.target) == (left.id, right.id) for edge in state.part.edges):
        return None
    refused: Refused | None = None
    for spot in left.outputs:
        loose = Loose(Hit("socket", left.id, "out", spot.name), left.place_of(spot))
        over = tool.best_socket(loose, right.id, state)
        if over.kind != "socket":
            continue
        edge = Edge(left.id, spot.name, right.id, over.socket)
        reason = tool.why_not(state, edge)
        if reason is None:
            return Connect(edge, tool.is_variadic(edge))
        refused = refused or Refused(edge, reason, right.place_of(right.inputs[0]))
    if refused is None:
        raise EditRefused(f'"{left.id}" and "{right.id}" have no sockets for a wire between them')
    return refused
