"""A drawing whose nodes have got other paths: which state and which live value of the one before belongs to which of now.

`renamed` gives new paths by old ones, "linear 1" -> "dense", "conv" -> "block/conv". A path of a subgraph's node stands for all
that is inside; the longest path that is named counts. What is not named keeps its path.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from munet.engine.ir.module import Source
from munet.engine.states import owner_of


@dataclass(frozen=True)
class Renaming:
    """`origins` are old paths by new ones."""

    renamed: Mapping[str, str]
    origins: Mapping[str, str]

    def path_before(self, path: str) -> str | None:
        """The path that a node of now had before; None for a node that is new, though another may have had its path."""
        old = _through(self.origins, path)
        return old if _through(self.renamed, old) == path else None

    def states_before(self, states: Iterable[Source], nodes: Collection[str]) -> dict[str, str]:
        """Old names by new ones, of states that may have been there; `nodes` are the paths of now."""
        found = {state.name: self._name_before(state, nodes) for state in states}
        return {name: old for name, old in found.items() if old is not None}

    def _name_before(self, state: Source, nodes: Collection[str]) -> str | None:
        if not self.renamed:
            return state.name
        optimiser = state.group.rpartition(".")[0]  # "learn/one/weight/m" is of "learn" and of "one"
        if not optimiser:
            return self._moved(state.name, nodes)
        learner, rest = self.path_before(optimiser), self._moved(state.name[len(optimiser) + 1 :], nodes)
        return None if learner is None or rest is None else f"{learner}/{rest}"

    def _moved(self, name: str, nodes: Collection[str]) -> str | None:
        owner = owner_of(name, nodes)
        old = self.path_before(owner) if owner else ""
        return None if old is None else old + name[len(owner) :]

    def live_now(self, values: Mapping[str, float], keys: Iterable[str]) -> dict[str, float]:
        """Values by "node.param" of before under the keys of now, of those keys that were there."""
        found: dict[str, float] = {}
        for key in keys:
            node, _, param = key.rpartition(".")
            old = f"{self.path_before(node)}.{param}"
            if old in values:
                found[key] = values[old]
        return found


def renaming(renamed: Mapping[str, str] | None) -> Renaming:
    """Raises ValueError when two paths would become the same."""
    moved = dict(renamed or {})
    origins = {new: old for old, new in moved.items()}
    if len(origins) != len(moved):
        raise ValueError("two nodes cannot be renamed to the same path")
    return Renaming(moved, origins)


def _through(paths: Mapping[str, str], path: str) -> str:
    """A path with the longest part of it that is named put in place of what it stands for."""
    parts = path.split("/") if paths else ()
    for length in range(len(parts), 0, -1):
        start = "/".join(parts[:length])
        if start in paths:
            return paths[start] + path[len(start) :]
    return path
