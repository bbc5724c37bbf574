"""Commands about subgraphs: made from a selection, taken apart, renamed, placed; parameters given out."""

from __future__ import annotations

from dataclasses import dataclass, replace

from munet import Graph, Node
from studio import clipboard, edits, grouping
from studio.document import State
from studio.edits import EditRefused
from studio.texts import text

Point = tuple[float, float]


@dataclass(frozen=True)
class Collapse:
    """Nodes of the drawing become a subgraph, with an instance of it in their place."""

    nodes: frozenset[str]
    name: str
    merge: str = ""

    @property
    def label(self) -> str:
        return text("collapse", name=self.name)

    def apply(self, state: State) -> State:
        return grouping.collapse(state, self.nodes, self.name)


@dataclass(frozen=True)
class Expand:
    """What a subgraph holds in place of its instance."""

    node: str
    merge: str = ""

    @property
    def label(self) -> str:
        return text("expand", name=self.node)

    def apply(self, state: State) -> State:
        return grouping.expand(state, self.node)


@dataclass(frozen=True)
class Promote:
    """Give a parameter of a node in a subgraph out, under `name`; parameters of one name are set together."""

    node: str
    param: str
    name: str
    merge: str = ""

    @property
    def label(self) -> str:
        return text("promote", name=self.name)

    def apply(self, state: State) -> State:
        return grouping.promote(state, self.node, self.param, self.name)


@dataclass(frozen=True)
class TakeBack:
    """A parameter that was given out is the node's own again; instances that set it keep to the definition's value."""

    node: str
    param: str
    merge: str = ""

    @property
    def label(self) -> str:
        return text("take_back", name=self.param)

    def apply(self, state: State) -> State:
        return grouping.take_back(state, self.node, self.param)


@dataclass(frozen=True)
class RenameSubgraph:
    old: str
    new: str
    merge: str = ""

    @property
    def label(self) -> str:
        return text("rename", name=self.new)

    def apply(self, state: State) -> State:
        return replace(state, graph=edits.rename_subgraph(state.graph, self.old, self.new))


@dataclass(frozen=True)
class AddSubgraph:
    """A definition from elsewhere (a saved block), with those it needs; an instance of it at a place."""

    graph: Graph  # holds the definitions as its subgraphs
    name: str
    at: Point = (0.0, 0.0)
    merge: str = ""

    @property
    def label(self) -> str:
        return text("add_node", name=self.name)

    def apply(self, state: State) -> State:
        instance = Node(self.name, edits.SUBGRAPH, {"graph": self.name}, self.at)
        return clipboard.paste_graph(state, Graph(nodes={self.name: instance}, subgraphs=self.graph.subgraphs), self.at)


@dataclass(frozen=True)
class DeleteUnused:
    """All definitions that the project's own drawing does not use, directly or through others."""

    merge: str = ""

    @property
    def label(self) -> str:
        return text("delete_unused")

    def apply(self, state: State) -> State:
        instances = [n for n in state.graph.nodes.values() if n.operator == edits.SUBGRAPH]
        used = set[str]().union(*(edits.uses(state.graph, str(node.params.get("graph"))) for node in instances))
        parts = {name: part for name, part in state.graph.subgraphs.items() if name in used}
        if len(parts) == len(state.graph.subgraphs):
            raise EditRefused("every subgraph is used")
        return replace(state, graph=replace(state.graph, subgraphs=parts))


@dataclass(frozen=True)
class DeleteSubgraph:
    """A definition that no node uses."""

    name: str
    merge: str = ""

    @property
    def label(self) -> str:
        return text("delete_subgraph", name=self.name)

    def apply(self, state: State) -> State:
        users = [
            node.id
            for part in (state.graph, *state.graph.subgraphs.values())
            for node in part.nodes.values()
            if node.operator == edits.SUBGRAPH and node.params.get("graph") == self.name
        ]
        if users:
            raise EditRefused(f'"{self.name}" is used by "{users[0]}"', cure="delete or expand its nodes first")
        parts = {name: part for name, part in state.graph.subgraphs.items() if name != self.name}
        return replace(state, graph=replace(state.graph, subgraphs=parts))
