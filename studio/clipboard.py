"""Copy and paste: the clipboard holds the text of a project with what was selected, wires among it, its subgraphs.

So a piece of a drawing can go to another window, into a file or a mail; and any project's text can be pasted. What is pasted is
read as strictly as a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from munet import Graph, Node, ProjectError, dump_project, parse_project
from studio import edits
from studio.document import Selection, State, selected
from studio.edits import PARAMETER, SUBGRAPH, EditRefused

OFFSET = 40.0  # of a paste without a place, and of duplicates, so that they are seen


def copy(state: State) -> str:
    """The selected nodes and frames as text; "" if nothing is selected."""
    piece = fragment(state)
    return dump_project(piece) if piece.nodes or piece.frames else ""


def fragment(state: State) -> Graph:
    """The selected nodes and frames, with the wires among them, as a project."""
    part, chosen = state.part, state.selection
    nodes = {id_: node for id_, node in part.nodes.items() if id_ in chosen.nodes}
    edges = tuple(edge for edge in part.edges if edge.source in nodes and edge.target in nodes)
    frames = tuple(frame for index, frame in enumerate(part.frames) if index in chosen.frames)
    needed: set[str] = set()
    for node in nodes.values():
        if node.operator == SUBGRAPH and node.params.get("graph") not in needed:
            needed |= edits.uses(state.graph, str(node.params.get("graph")))
    parts = {name: definition for name, definition in state.graph.subgraphs.items() if name in needed}
    return Graph("", nodes, edges, parts, frames)


def paste(state: State, content: str, at: tuple[float, float] | None = None) -> State:
    """See `commands.Paste`. Raises EditRefused for text that holds no nodes."""
    if not content.strip():
        raise EditRefused("the clipboard holds no text", cure="copy some nodes first")
    try:
        piece = parse_project(content)
    except ProjectError as error:
        raise EditRefused("the clipboard holds no nodes", error.problems[0].found, "copy some nodes first") from None
    return paste_graph(state, piece, at)


def paste_graph(state: State, piece: Graph, at: tuple[float, float] | None = None) -> State:
    """The nodes, wires, frames and subgraphs of a project added to the drawing that is shown; they are then selected."""
    if not piece.nodes and not piece.frames:
        raise EditRefused("the clipboard holds no nodes", cure="copy some nodes first")
    names = _names_of_definitions(state.graph, piece)
    parts = {names[name]: _renamed_uses(replace(part, name=names[name]), names) for name, part in piece.subgraphs.items()}
    graph = replace(state.graph, subgraphs={**state.graph.subgraphs, **parts})
    state = replace(state, graph=graph)
    piece = _renamed_uses(piece, names)
    edits.check_recursion(graph, state.owner, piece.nodes.values())
    dx, dy = _distance(piece, at)
    ids = _new_ids(state.part, piece)
    nodes = [_moved(node, ids, dx, dy) for node in piece.nodes.values()]
    edges = [replace(edge, source=ids[edge.source], target=ids[edge.target]) for edge in piece.edges]
    frames = [replace(frame, position=(frame.position[0] + dx, frame.position[1] + dy)) for frame in piece.frames]
    first = len(state.part.frames)
    part = edits.add(state.part, nodes, edges, frames)
    return state.with_part(part, selected(ids.values(), (), range(first, first + len(frames))))


def duplicate(state: State, *, keep_inputs: bool = False) -> State:
    """See `commands.Duplicate`."""
    piece = fragment(state)
    if not piece.nodes and not piece.frames:
        raise EditRefused("nothing is selected", cure="select some nodes first")
    ids = _new_ids(state.part, piece)
    part = paste_graph(state, piece).part
    if keep_inputs:
        outer = [edge for edge in state.part.edges if edge.target in ids and edge.source not in ids]
        part = edits.add(part, edges=[replace(edge, target=ids[edge.target]) for edge in outer])
    frames = range(len(state.part.frames), len(part.frames))
    return state.with_part(part, Selection(frozenset(ids.values()), frozenset(), frozenset(frames)))


def _new_ids(part: Graph, piece: Graph) -> dict[str, str]:
    taken = set(part.nodes)
    ids: dict[str, str] = {}
    for id_ in piece.nodes:
        ids[id_] = edits.fresh_id(taken, id_)
        taken.add(ids[id_])
    return ids


def _moved(node: Node, ids: Mapping[str, str], dx: float, dy: float) -> Node:
    params = node.params
    if node.operator == PARAMETER and params.get("node") in ids:
        params = {**params, "node": ids[str(params["node"])]}
    x, y = node.position
    return replace(node, id=ids[node.id], params=params, position=(x + dx, y + dy))


def _distance(piece: Graph, at: tuple[float, float] | None) -> tuple[float, float]:
    if at is None:
        return OFFSET, OFFSET
    corners = [node.position for node in piece.nodes.values()] + [frame.position for frame in piece.frames]
    return at[0] - min(x for x, _ in corners), at[1] - min(y for _, y in corners)


def _names_of_definitions(graph: Graph, piece: Graph) -> dict[str, str]:
    """What each definition is called here: its name if that is free or means the same, else a new one."""
    names: dict[str, str] = {}
    taken = set(graph.subgraphs)
    others = {name for name, part in piece.subgraphs.items() if graph.subgraphs.get(name) != part}
    others = edits.users(piece, others)
    for name in piece.subgraphs:
        same = name not in others
        names[name] = name if same or name not in taken else edits.fresh_id(taken | set(piece.subgraphs), name)
        taken.add(names[name])
    return names


def _renamed_uses(part: Graph, names: Mapping[str, str]) -> Graph:
    changed = {
        node.id: replace(node, params={**node.params, "graph": names[str(node.params["graph"])]})
        for node in part.nodes.values()
        if node.operator == SUBGRAPH and node.params.get("graph") in names
    }
    return edits.with_nodes(part, changed)
