"""Which node is which, whatever it is called: ids and paths change by renaming, by making subgraphs and by taking them apart.

A node is known by the path that it had at first. States of the document carry a `Lineage`, so that undo and redo bring the
right one back, and any two states of one document can be compared: `renamed` is what the session is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from munet import Graph
from studio.edits import SUBGRAPH

Chain = tuple[str, ...]  # ids of subgraphs' nodes, outermost first, and of the node in the innermost

DEPTH = 32  # subgraphs in each other that are looked into, as many as the engine allows


@dataclass(frozen=True, eq=False)
class Lineage:
    """`firsts`: by path, who the node is, of those with another path; paths that begin with NUL are of nodes that are gone."""

    firsts: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _taken(self) -> frozenset[str]:
        return frozenset(self.firsts.values())

    def who(self, path: str) -> str:
        """A name of the node at a path that stays the same; another than that of a node that had the path before."""
        if path in self.firsts:
            return self.firsts[path]
        while path in self._taken:
            path += "\0"
        return path

    def moved(self, paths: Mapping[str, str]) -> Lineage:
        """After nodes have got new paths, given by their old ones, all at once."""
        if not paths:
            return self
        firsts = {path: who for path, who in self.firsts.items() if path not in paths}
        for number, path in enumerate(set(paths.values()) & firsts.keys()):  # that node is gone, and nobody takes its name
            firsts[f"\0{len(firsts)}.{number}"] = firsts.pop(path)
        return Lineage(firsts | {new: self.who(old) for old, new in paths.items()})


UNMOVED = Lineage()


def after_moves(lineage: Lineage, graph: Graph, owner: str, moves: Mapping[Chain, Chain]) -> Lineage:
    """After nodes of a drawing, that of the subgraph `owner` or the project's own, have got other places.

    `graph` is the project before. `moves` are chains that begin in that drawing; those of subgraphs' nodes stand for all inside.
    """
    starts = [()] if not owner else [chain for chain, name in _walk(graph, graph, (), 0) if name == owner]
    found: dict[str, str] = {}
    for chain, name in _walk(graph, graph, (), 0):
        for start in () if name else starts:
            inside = chain[len(start) :]
            old = next((old for old in moves if inside[: len(old)] == old), None)
            if chain[: len(start)] == start and old is not None:
                found["/".join(chain)] = "/".join((*start, *moves[old], *inside[len(old) :]))
    return lineage.moved({old: new for old, new in found.items() if old != new})


def renamed(before: Graph, lineage_before: Lineage, now: Graph, lineage: Lineage) -> dict[str, str]:
    """Paths of now by those of before, of the nodes that are in both and have another path."""
    if lineage_before is lineage or not (lineage_before.firsts or lineage.firsts):
        return {}
    old = {lineage_before.who(path): path for path in paths_of(before)}
    both = {old[who]: path for path in paths_of(now) if (who := lineage.who(path)) in old}
    moved = {was for was, path in both.items() if was != path}
    # A path of another node may begin with one that has moved, as ids may hold "/": such a node is said to stay.
    return {was: path for was, path in both.items() if was in moved or any(was.startswith(f"{other}/") for other in moved)}


def paths_of(graph: Graph) -> Iterator[str]:
    """Paths of all nodes that run, those inside subgraphs included."""
    yield from ("/".join(chain) for chain, name in _walk(graph, graph, (), 0) if not name)


def _walk(root: Graph, part: Graph, start: Chain, depth: int) -> Iterator[tuple[Chain, str]]:
    """Each node with the name of its subgraph, "" for a node that is none."""
    for id_, node in part.nodes.items():
        name = str(node.params.get("graph", "")) if node.operator == SUBGRAPH else ""
        yield (*start, id_), name
        if name in root.subgraphs and depth < DEPTH:
            yield from _walk(root, root.subgraphs[name], (*start, id_), depth + 1)
