"""Commands: every way in which the document changes, each with its label and one pure `apply`.

They act on the drawing that is shown, and raise EditRefused where an edit cannot be made. Those about subgraphs stand in
`subgraph_commands.py`, copying in `clipboard.py`, the functions that they all share in `edits.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from munet import Edge, Frame, Node, Run
from studio import clipboard, edits
from studio.document import Command, Selection, State, selected
from studio.edits import EditRefused
from studio.texts import text

Point = tuple[float, float]


@dataclass(frozen=True)
class AddNode:
    """A new node, its id made free; `wires` may name it by `node.id` and are added as `Connect` would."""

    node: Node
    wires: tuple[Edge, ...] = ()
    variadic: frozenset[str] = frozenset()  # of the new node's inputs and of the wires' targets "node.socket"
    merge: str = ""

    @property
    def label(self) -> str:
        return text("add_node", name=self.node.operator)

    def apply(self, state: State) -> State:
        part = state.part
        id_ = edits.fresh_id(part.nodes, self.node.id)
        part = edits.add(part, [replace(self.node, id=id_)])
        for edge in self.wires:
            edge = replace(
                edge,
                source=id_ if edge.source == self.node.id else edge.source,
                target=id_ if edge.target == self.node.id else edge.target,
            )
            variadic = f"{edge.target}.{edge.target_socket}" in self.variadic or edge.target_socket in self.variadic
            part = edits.connect(part, edge, variadic=variadic)
        return state.with_part(part, selected([id_]))


@dataclass(frozen=True)
class Delete:
    """Nodes, wires and frames; `bridge` joins what was before a removed node with what was behind it."""

    what: Selection
    bridge: bool = False
    merge: str = ""

    @property
    def label(self) -> str:
        return _counted("delete", self.what)

    def apply(self, state: State) -> State:
        what = self.what
        part = edits.remove(state.part, what.nodes, what.edges, what.frames, bridge=self.bridge)
        return state.with_part(part, Selection())


@dataclass(frozen=True)
class Move:
    """Nodes and frames by a distance; drags give `merge`."""

    what: Selection
    dx: float
    dy: float
    merge: str = ""

    @property
    def label(self) -> str:
        return _counted("move", self.what)

    def apply(self, state: State) -> State:
        return state.with_part(edits.move(state.part, self.what.nodes, self.what.frames, self.dx, self.dy))


@dataclass(frozen=True)
class Place:
    """Nodes at positions: aligning, distributing, snapping, layout; `name` is the label's key."""

    positions: Mapping[str, Point]
    name: str = "place"
    merge: str = ""

    @property
    def label(self) -> str:
        return text(self.name)

    def apply(self, state: State) -> State:
        return state.with_part(edits.place(state.part, self.positions))


@dataclass(frozen=True)
class Rename:
    old: str
    new: str
    merge: str = ""

    @property
    def label(self) -> str:
        return text("rename", name=self.new)

    def apply(self, state: State) -> State:
        part = edits.rename(state.part, self.old, self.new)
        nodes = frozenset(self.new if id_ == self.old else id_ for id_ in state.selection.nodes)
        after = state.with_part(part, replace(state.selection, nodes=nodes, edges=frozenset()))
        return after.with_moves(state, {(self.old,): (self.new,)})


@dataclass(frozen=True)
class Connect:
    """A wire; `replaces` is the wire that was taken off and dragged here, from either of its ends."""

    edge: Edge
    variadic: bool = False
    replaces: Edge | None = None
    merge: str = ""

    @property
    def label(self) -> str:
        return text("connect", source=self.edge.source, target=self.edge.target)

    def apply(self, state: State) -> State:
        return state.with_part(edits.connect(state.part, self.edge, variadic=self.variadic, replaces=self.replaces))


@dataclass(frozen=True)
class Disconnect:
    edges: frozenset[Edge]
    merge: str = ""

    @property
    def label(self) -> str:
        return text("disconnect", count=len(self.edges))

    def apply(self, state: State) -> State:
        return state.with_part(edits.remove(state.part, (), self.edges))


@dataclass(frozen=True)
class SetParam:
    """A parameter of nodes; None takes it back to its default. Sliders and text fields give `merge`."""

    nodes: tuple[str, ...]
    name: str
    value: Any
    merge: str = ""

    @property
    def label(self) -> str:
        return text("set_param", name=self.name, node=self.nodes[0] if len(self.nodes) == 1 else f"{len(self.nodes)}")

    def apply(self, state: State) -> State:
        part = edits.set_param(state.part, self.nodes, self.name, self.value)
        named = [part.nodes[id_] for id_ in self.nodes if id_ in part.nodes]
        edits.check_recursion(state.graph, state.owner, named)
        return state.with_part(part)


@dataclass(frozen=True)
class SetField:
    """`field` is "muted", "frozen" or "note" of nodes."""

    nodes: tuple[str, ...]
    field: str
    value: Any
    merge: str = ""

    @property
    def label(self) -> str:
        return text(f"set_{self.field}")

    def apply(self, state: State) -> State:
        if self.field not in ("muted", "frozen", "note"):
            raise EditRefused(f"a node has no {self.field}")
        return state.with_part(edits.change(state.part, self.nodes, **{self.field: self.value}))


def toggle_mute(state: State) -> SetField:
    """Mute the selected nodes, or unmute them if all are muted."""
    nodes = tuple(id_ for id_ in state.part.nodes if id_ in state.selection.nodes)
    return SetField(nodes, "muted", not all(state.part.nodes[id_].muted for id_ in nodes))


@dataclass(frozen=True)
class SetProject:
    """Name, note or run settings of the project; note of a subgraph while it is shown."""

    name: str | None = None
    note: str | None = None
    run: Run | None = None
    merge: str = ""

    @property
    def label(self) -> str:
        return text("set_project")

    def apply(self, state: State) -> State:
        if self.note is not None:
            state = state.with_part(replace(state.part, note=self.note))
        fields: dict[str, Any] = {"name": self.name, "run": self.run}
        return replace(state, graph=replace(state.graph, **{k: v for k, v in fields.items() if v is not None}))


@dataclass(frozen=True)
class AddFrame:
    frame: Frame
    merge: str = ""

    @property
    def label(self) -> str:
        return text("add_frame")

    def apply(self, state: State) -> State:
        part = edits.add(state.part, frames=[self.frame])
        return state.with_part(part, selected(frames=[len(part.frames) - 1]))


@dataclass(frozen=True)
class EditFrame:
    """Title, position, size or color of a frame, those that are given."""

    index: int
    fields: Mapping[str, Any] = field(default_factory=dict)
    merge: str = ""

    @property
    def label(self) -> str:
        return text("edit_frame")

    def apply(self, state: State) -> State:
        if not 0 <= self.index < len(state.part.frames):
            raise EditRefused("there is no such frame any more")
        return state.with_part(edits.edit_frame(state.part, self.index, **self.fields))


@dataclass(frozen=True)
class Paste:
    """What `clipboard.copy` gave, with its upper left corner `at` a place, else a little off; new ids where they are taken."""

    content: str
    at: Point | None = None
    merge: str = ""

    @property
    def label(self) -> str:
        return text("paste")

    def apply(self, state: State) -> State:
        return clipboard.paste(state, self.content, self.at)


@dataclass(frozen=True)
class Duplicate:
    """The selection once more; `keep_inputs`: with the wires that lead into it from outside."""

    keep_inputs: bool = False
    merge: str = ""

    @property
    def label(self) -> str:
        return text("duplicate")

    def apply(self, state: State) -> State:
        return clipboard.duplicate(state, keep_inputs=self.keep_inputs)


@dataclass(frozen=True)
class InsertOnWire:
    """A node of the drawing, or a new one, put into a wire."""

    node: str | Node
    edge: Edge
    into: str
    out: str
    merge: str = ""

    @property
    def label(self) -> str:
        return text("insert", name=self.node.operator if isinstance(self.node, Node) else self.node)

    def apply(self, state: State) -> State:
        part = state.part
        if isinstance(self.node, Node):
            id_ = edits.fresh_id(part.nodes, self.node.id)
            part = edits.add(part, [replace(self.node, id=id_)])
        else:
            id_ = self.node
        return state.with_part(edits.insert_on_wire(part, id_, self.edge, self.into, self.out), selected([id_]))


@dataclass(frozen=True)
class Adapter:
    """A node to put into a wire; `into` and `out` are its sockets."""

    operator: str
    params: Mapping[str, Any] = field(default_factory=dict)
    into: str = "x"
    out: str = "y"


@dataclass(frozen=True)
class Adapt:
    """A wire that does not fit, drawn through nodes that make it fit; they lie to the left of `at`."""

    edge: Edge
    chain: tuple[Adapter, ...]
    at: Point = (0.0, 0.0)
    variadic: bool = False
    merge: str = ""

    @property
    def label(self) -> str:
        return text("adapt", name=", ".join(adapter.operator for adapter in self.chain))

    def apply(self, state: State) -> State:
        part, added = state.part, list[str]()
        source, socket = self.edge.source, self.edge.source_socket
        for place, adapter in enumerate(self.chain):
            id_ = edits.fresh_id(part.nodes, adapter.operator)
            at = (self.at[0] - 200.0 * (len(self.chain) - place), self.at[1])
            part = edits.add(part, [Node(id_, adapter.operator, adapter.params, at)])
            part = edits.connect(part, Edge(source, socket, id_, adapter.into))
            source, socket = id_, adapter.out
            added.append(id_)
        last = Edge(source, socket, self.edge.target, self.edge.target_socket)
        return state.with_part(edits.connect(part, last, variadic=self.variadic), selected(added))


def add_reroute(edge: Edge, at: Point) -> InsertOnWire:
    """A bend in a wire."""
    return InsertOnWire(Node(edits.REROUTE, edits.REROUTE, {}, at), edge, "x", "y")


@dataclass(frozen=True)
class Several:
    """Commands as one: undone together, refused together."""

    commands: tuple[Command, ...]
    name: str
    merge: str = ""

    @property
    def label(self) -> str:
        return self.name

    def apply(self, state: State) -> State:
        for command in self.commands:
            state = command.apply(state)
        return state


def cut(state: State) -> tuple[str, Delete]:
    """The text for the clipboard, and the command that takes the selection away."""
    return clipboard.copy(state), Delete(state.selection)


def _counted(key: str, what: Selection) -> str:
    names: Collection[str] = what.nodes
    if len(names) == 1 and not what.frames:
        return text(f"{key}_one", name=next(iter(names)))
    return text(f"{key}_many", count=len(what.nodes) + len(what.frames) + (0 if names else len(what.edges)))
