"""What the sockets and parameters of a subgraph's instances are, from what its borders lead to, through subgraphs in subgraphs.

Definitions in, declarations out. Each definition's interface is read once and each border followed once, however many instances
there are and however deep they lie: what is found is kept with the very definitions that it was found for, which never change.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import cache
from typing import Any

from munet import Graph, inspect, interface
from munet.inspect import DeclarationView, ParamView, SocketView
from studio.edits import SUBGRAPH

KEPT = 4  # projects, or states of one

Key = tuple[str, str, str]  # definition; "inputs", "outputs" or "params"; name there
View = SocketView | ParamView
Definitions = Mapping[str, Graph]


@cache
def declarations() -> Mapping[str, DeclarationView]:
    """All declarations by name."""
    return {declared.name: declared for declared in inspect.registry()}


class _Face:
    """A definition's interface, by names."""

    def __init__(self, definition: Graph):
        face = interface(definition)
        self.definition = definition
        self.borders = {"inputs": {b.name: b for b in face.inputs}, "outputs": {b.name: b for b in face.outputs}}
        self.params = {promoted.name: promoted for promoted in face.params}

    def end(self, kind: str, name: str) -> tuple[str, str] | None:
        """The node and its socket or parameter that a border leads to first."""
        if kind == "params":
            promoted = self.params.get(name)
            return promoted.targets[0] if promoted is not None else None
        border = self.borders[kind].get(name)
        return border.ends[0] if border is not None and border.ends else None


class Instances:
    """Of the definitions of one project. `before`: of an earlier state of it, whose unchanged definitions are not read again."""

    def __init__(self, definitions: Definitions, before: Instances | None = None):
        self.definitions = definitions
        self._faces: dict[str, _Face] = dict(before._faces) if before is not None else {}
        self._found: dict[Key, View | None] = {}
        self._declared: dict[str, DeclarationView] = {}

    def declaration(self, name: str) -> DeclarationView | None:
        """Of the instances of a definition; None if there is none of that name."""
        face, base = self._face(name), declarations().get(SUBGRAPH)
        if face is None or base is None:
            return None
        if name not in self._declared:
            inputs, outputs = ([self._view((name, kind, b)) for b in face.borders[kind]] for kind in ("inputs", "outputs"))
            params = [self._view((name, "params", given)) for given in face.params]
            self._declared[name] = DeclarationView(
                name=face.definition.name, kind="subgraph", category=base.category, role="", version=1,
                doc=face.definition.note or base.doc,
                inputs=tuple(s for s in inputs if isinstance(s, SocketView)),
                outputs=tuple(s for s in outputs if isinstance(s, SocketView)),
                params=tuple(p for p in params if isinstance(p, ParamView)),
            )  # fmt: skip
        return self._declared[name]

    def _face(self, name: str) -> _Face | None:
        definition, known = self.definitions.get(name), self._faces.get(name)
        if definition is not None and (known is None or known.definition is not definition):
            known = self._faces[name] = _Face(definition)
        return known if definition is not None else None

    def _view(self, key: Key) -> View | None:
        """Inwards until something is known, then outwards again: chains may be longer than Python's stack."""
        way = dict[Key, None]()
        view: View | None = None
        at: Key | None = key
        while at is not None and at not in way:  # in a definition that holds itself a border may lead back to itself
            if at in self._found:
                view = self._found[at]
                break
            way[at] = None
            at, view = self._inwards(at)
        for passed in reversed(way):
            view = self._found[passed] = self._outwards(passed, view)
        return view

    def _inwards(self, key: Key) -> tuple[Key | None, View | None]:
        """Where a border leads: to one of another definition, or to what is declared."""
        name, kind, socket = key
        face = self._face(name)
        end = face.end(kind, socket) if face is not None else None
        node = face.definition.nodes.get(end[0]) if face is not None and end is not None else None
        if node is None or end is None:
            return None, None
        if node.operator == SUBGRAPH:
            return (str(node.params.get("graph")), kind, end[1]), None
        declared = declarations().get(node.operator)
        among: tuple[View, ...] = getattr(declared, kind) if declared is not None else ()
        return None, next((view for view in among if view.name == end[1]), None)

    def _outwards(self, key: Key, like: View | None) -> View | None:
        """What a border is, from what it leads to."""
        name, kind, socket = key
        face = self._face(name)
        if face is None:
            return None
        if kind == "params":
            end = face.end(kind, socket)
            if not isinstance(like, ParamView) or end is None:
                return None
            default: Any = face.definition.nodes[end[0]].params.get(end[1], like.default)
            return ParamView(**{**vars(like), "name": socket, "default": default})
        border = face.borders[kind].get(socket)
        if border is None:
            return None
        pattern, dtype, doc = (like.pattern, like.dtype, like.doc) if isinstance(like, SocketView) else ("", "T:any", "")
        return SocketView(border.name, pattern, dtype, border.optional, False, border.doc or doc)


_kept: dict[int, Instances] = {}  # by identity of the definitions, which each of them holds
_lock = threading.Lock()  # the drawing is checked on another thread


def instances(definitions: Definitions) -> Instances:
    """Of these definitions, the very same ones as last time or others."""
    with _lock:
        found = _kept.get(id(definitions))
        if found is None:
            before = next(reversed(_kept.values()), None)
            found = _kept[id(definitions)] = Instances(definitions, before)
            while len(_kept) > KEPT:
                del _kept[next(iter(_kept))]
        return found
