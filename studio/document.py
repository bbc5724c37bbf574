"""The document: the one truth of what is edited. Immutable states, versions to watch, undo; files are `storage.py`'s business.

A `State` is the whole project, the path of subgraph instances that was entered (breadcrumbs), and the selection. Commands turn
one into the next; the document keeps the present one and all before it. Who shows it compares `version` and
`selection_version` with what he last saw.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from munet import Edge, Graph, too_large
from studio.edits import SUBGRAPH, EditRefused
from studio.lineage import UNMOVED, Chain, Lineage, after_moves
from studio.texts import shown


@dataclass(frozen=True)
class Selection:
    """What is selected in the drawing that is shown; frames by index."""

    nodes: frozenset[str] = frozenset()
    edges: frozenset[Edge] = frozenset()
    frames: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.nodes or self.edges or self.frames)


def selected(nodes: Collection[str] = (), edges: Collection[Edge] = (), frames: Collection[int] = ()) -> Selection:
    return Selection(frozenset(nodes), frozenset(edges), frozenset(frames))


@dataclass(frozen=True)
class State:
    """`inside`: ids of the subgraph nodes that were entered, outermost first; () is the project's own drawing.

    `lineage` says which nodes have had other paths.
    """

    graph: Graph = field(default_factory=Graph)
    inside: tuple[str, ...] = ()
    selection: Selection = Selection()
    lineage: Lineage = field(default=UNMOVED, compare=False)

    @property
    def owner(self) -> str:
        """Name of the subgraph that is shown; "" for the project's own drawing."""
        name, part = "", self.graph
        for id_ in self.inside:
            node = part.nodes.get(id_)
            name = str(node.params.get("graph", "")) if node is not None and node.operator == SUBGRAPH else ""
            if name not in self.graph.subgraphs:
                raise EditRefused(f'there is no subgraph "{id_}" any more')
            part = self.graph.subgraphs[name]
        return name

    @property
    def part(self) -> Graph:
        """The drawing that is shown."""
        owner = self.owner
        return self.graph.subgraphs[owner] if owner else self.graph

    def with_part(self, part: Graph, selection: Selection | None = None) -> State:
        """With another drawing in place of the one shown; the selection shrinks to what is still there."""
        owner = self.owner
        if owner:
            part = replace(part, name=owner, subgraphs={}, run=type(part.run)())
            graph = replace(self.graph, subgraphs={**self.graph.subgraphs, owner: part})
        else:
            graph = part
        chosen = self.selection if selection is None else selection
        return replace(self, graph=graph, selection=_still_there(chosen, part))

    def with_moves(self, before: State, moves: Mapping[Chain, Chain]) -> State:
        """With nodes of the drawing that is shown known in other places: chains of ids that begin there, by those of before."""
        return replace(self, lineage=after_moves(before.lineage, before.graph, before.owner, moves))

    def path_of(self, node: str) -> str:
        """The node's path as problems and states name it: instances and id."""
        return "/".join((*self.inside, node))


def _still_there(chosen: Selection, part: Graph) -> Selection:
    if not chosen:
        return chosen
    edges = chosen.edges & set(part.edges) if chosen.edges else chosen.edges
    return Selection(chosen.nodes & part.nodes.keys(), edges, frozenset(i for i in chosen.frames if i < len(part.frames)))


class Command(Protocol):
    """An undoable edit. Commands with the same `merge` that follow each other are one step of undo; "" is never merged."""

    @property
    def label(self) -> str: ...

    @property
    def merge(self) -> str: ...

    def apply(self, state: State) -> State:
        """The state after the edit. Raises EditRefused."""
        ...


@dataclass(frozen=True)
class Step:
    """One entry of the history."""

    label: str
    before: State
    after: State
    merge: str = ""


SMALL = 500  # nodes, wires and frames: as many are looked through at each edit, more where they become more


def _size(graph: Graph) -> int:
    return sum(len(part.nodes) + len(part.edges) + len(part.frames) for part in (graph, *graph.subgraphs.values()))


class Document:
    """See the module's head. Only `do`, `undo` and `redo` change the graph."""

    def __init__(self, graph: Graph | None = None, path: Path | None = None):
        self.path = path
        self.version = 0  # counts changes of the graph
        self.selection_version = 0  # counts changes of selection and breadcrumbs
        self._state = State(graph or Graph())
        self._saved: Graph | None = self._state.graph
        self._done: list[Step] = []
        self._undone: list[Step] = []
        self._groups: list[tuple[str, State]] = []

    @property
    def state(self) -> State:
        return self._state

    @property
    def graph(self) -> Graph:
        return self._state.graph

    @property
    def part(self) -> Graph:
        return self._state.part

    @property
    def selection(self) -> Selection:
        return self._state.selection

    @property
    def dirty(self) -> bool:
        """Whether the graph differs from the one in the file."""
        return self._saved is not self.graph and self._saved != self.graph

    @property
    def name(self) -> str:
        return self.graph.name or (shown(self.path.stem) if self.path else "")

    def replace_all(self, graph: Graph, path: Path | None, *, saved: bool = True) -> None:
        """Another project: nothing of the former can be undone."""
        self.path, self._saved = path, graph if saved else None
        self._done.clear()
        self._undone.clear()
        self._become(State(graph))

    def mark_saved(self, graph: Graph, path: Path) -> None:
        """The graph that is now in the file; perhaps not the newest, if it was written meanwhile."""
        self.path, self._saved = path, graph
        self.selection_version += 1

    # -- editing -------------------------------------------------------------------------------------------------------

    def do(self, command: Command) -> bool:
        """Apply a command; whether it changed anything. Raises EditRefused, nothing has changed then."""
        before = self._state
        after = command.apply(before)
        if after.graph is before.graph or after.graph == before.graph:
            if after != before:
                self._become(replace(after, graph=before.graph))
            return False
        if _size(after.graph) > max(_size(before.graph), SMALL) or _size(after.graph) <= SMALL:
            why = too_large(after.graph)
            if why:
                raise EditRefused("the drawing would be too large to be saved", why, "take something away first")
        self._undone.clear()
        self._record(Step(command.label, before, after, command.merge))
        self._become(after)
        return True

    def _record(self, step: Step) -> None:
        if self._groups:
            return
        last = self._done[-1] if self._done else None
        if last is not None and step.merge and last.merge == step.merge:
            self._done[-1] = replace(last, after=step.after)
        else:
            self._done.append(step)

    @contextmanager
    def group(self, label: str) -> Iterator[None]:
        """What is done within is one step of undo; if it fails, nothing of it stays."""
        start = self._state
        self._groups.append((label, start))
        try:
            yield
        except BaseException:
            self._groups.pop()
            self._become(start)
            raise
        self._groups.pop()
        if self._state.graph is not start.graph:
            self._record(Step(label, start, self._state))

    def seal(self) -> None:
        """The next command is not merged with the last one: a drag or a text edit has ended."""
        if self._done:
            self._done[-1] = replace(self._done[-1], merge="")

    def undo(self) -> str:
        """Take the last step back; its label, "" if there is none."""
        if not self._done or self._groups:
            return ""
        step = self._done.pop()
        self._undone.append(replace(step, merge=""))
        self._become(step.before)
        return step.label

    def redo(self) -> str:
        if not self._undone or self._groups:
            return ""
        step = self._undone.pop()
        self._done.append(step)
        self._become(step.after)
        return step.label

    @property
    def undo_labels(self) -> tuple[str, ...]:
        """Steps that can be taken back, the last one first."""
        return tuple(step.label for step in reversed(self._done))

    # -- looking around: no step of undo -------------------------------------------------------------------------------

    def select(self, selection: Selection) -> None:
        chosen = _still_there(selection, self.part)
        if chosen != self.selection:
            self._become(replace(self._state, selection=chosen))

    def select_all(self) -> None:
        part = self.part
        self.select(selected(part.nodes, (), range(len(part.frames))))

    def enter(self, node: str) -> None:
        """Show the subgraph of an instance. Raises EditRefused if the node is none."""
        found = self.part.nodes.get(node)
        if found is None or found.operator != SUBGRAPH:
            raise EditRefused(f'"{node}" is no subgraph')
        entered = replace(self._state, inside=(*self._state.inside, node), selection=Selection())
        if not entered.owner:
            raise EditRefused(f'"{node}" is no subgraph')
        self._become(entered)

    def leave(self, levels: int = 1) -> None:
        """Back out by so many breadcrumbs; the instance that was left is selected."""
        depth = max(0, len(self._state.inside) - levels)
        left = self._state.inside[depth:][:1]
        self._become(replace(self._state, inside=self._state.inside[:depth], selection=selected(left)))

    def go_to(self, path: str) -> str:
        """Show and select the node that a problem names; its id, "" if it is not there. Ids may hold "/"."""
        found = locate(self.graph, path)
        if found is None:
            return ""
        inside, node = found
        self._become(replace(self._state, inside=inside, selection=selected([node])))
        return node

    def _become(self, state: State) -> None:
        if state.graph is not self._state.graph:
            self.version += 1
        self._state = state
        self.selection_version += 1


def locate(graph: Graph, path: str) -> tuple[tuple[str, ...], str] | None:
    """Instances and id of the node at a path such as "block 1/conv"; None if there is none."""

    def search(part: Graph, rest: str, inside: tuple[str, ...]) -> tuple[tuple[str, ...], str] | None:
        if rest in part.nodes:
            return inside, rest
        for id_, node in part.nodes.items():
            if node.operator == SUBGRAPH and rest.startswith(f"{id_}/") and len(inside) < 32:
                definition = graph.subgraphs.get(str(node.params.get("graph")))
                found = search(definition, rest[len(id_) + 1 :], (*inside, id_)) if definition is not None else None
                if found is not None:
                    return found
        return None

    return search(graph, path, ())
