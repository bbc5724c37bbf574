"""Subgraphs by name: renaming and deleting definitions, keeping them as blocks; menus of the palette's rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from studio import blocks
from studio.camera import Rect
from studio.edits import SUBGRAPH
from studio.nodeviews import HEAD, Point
from studio.search import Entry
from studio.subgraph_commands import DeleteSubgraph, DeleteUnused, RenameSubgraph
from studio.texts import text
from studio.view.actions import Actions
from studio.view.core import Core
from studio.view.dialogs import Dialogs
from studio.view.inplace import InPlace
from studio.view.popup import Popup, Row


class Subgraphs:
    """`crumb` tells where the name of the drawing that is shown stands in the window; `place` adds an entry of the palette."""

    def __init__(
        self, core: Core, actions: Actions, inplace: InPlace, popup: Popup, dialogs: Dialogs, crumb: Callable[[], Rect],
        place: Callable[[Entry], object],
    ):  # fmt: skip
        self._core, self._inplace, self._popup, self._dialogs = core, inplace, popup, dialogs
        self._crumb, self._place = crumb, place
        actions.provide(
            rename_subgraph=self.rename, delete_unused=lambda: core.edit(DeleteUnused()), save_block=self._save_selected
        )

    def _selected(self) -> tuple[str, str]:
        """The one selected instance and its definition's name; two empty strings if there is none."""
        document = self._core.document
        nodes = [document.part.nodes[id_] for id_ in document.selection.nodes]
        if len(nodes) != 1 or nodes[0].operator != SUBGRAPH:
            return "", ""
        name = str(nodes[0].params.get("graph"))
        return (nodes[0].id, name) if name in document.graph.subgraphs else ("", "")

    # -- renaming ------------------------------------------------------------------------------------------------------

    def rename(self) -> None:
        """The definition of the selected instance, or the one that is shown."""
        id_, name = self._selected()
        if id_:
            view = self._core.scene.views[id_]
            self._core.camera.show(view.rect)
            self._inplace.over((view.x, view.y), view.width, HEAD, name, partial(self._renamed, name))
        elif self._core.document.state.inside:
            self.rename_shown()
        else:
            self._core.say(text("subgraph.pick"), error=True)

    def rename_shown(self) -> None:
        name = self._core.document.state.owner
        if name:
            self._rename_at(name, self._crumb())

    def _rename_at(self, name: str, rect: Rect) -> None:
        self._inplace.in_window(rect, name, partial(self._renamed, name))

    def _renamed(self, old: str, new: str) -> None:
        if new.strip() and new.strip() != old:
            self._core.edit(RenameSubgraph(old, new.strip()))

    # -- the palette's menu --------------------------------------------------------------------------------------------

    def menu(self, entry: Entry, rect: Rect) -> None:
        """What a row of the palette offers besides being placed."""
        rows: list[Row | None] = [Row(text("menu.place"), partial(self._place, entry))]
        if entry.block is not None:
            rows += [None, Row(text("menu.delete_block"), partial(self._ask_delete, entry.graph))]
        elif entry.graph:
            rows += [
                Row(text("action.rename_subgraph"), partial(self._rename_at, entry.graph, rect)),
                Row(text("action.save_block"), partial(self._save, entry.graph)),
                None,
                Row(text("menu.delete_subgraph"), lambda: self._core.edit(DeleteSubgraph(entry.graph))),
            ]
        corner: Point = (rect[0] + 24, rect[3])
        self._popup.open(corner, rows)

    def _ask_delete(self, name: str) -> None:
        question = text("block.ask_delete", name=name)
        choices = ((text("menu.delete_block"), lambda: self._delete_block(name)), (text("view.cancel"), lambda: None))
        self._dialogs.ask(question, choices, careful=True)

    def _delete_block(self, name: str) -> None:
        block = next((block for block in self._core.shelf.blocks if block.name == name), None)
        if block is not None:
            blocks.delete(block)
            self._core.shelf.look(blocks.folder_of(self._core.preferences))
            self._core.say(text("block.deleted", name=name))

    # -- blocks --------------------------------------------------------------------------------------------------------

    def _save_selected(self) -> None:
        _, name = self._selected()
        if name:
            self._save(name)
        else:
            self._core.say(text("block.pick"), error=True)

    def _save(self, name: str) -> None:
        folder = blocks.folder_of(self._core.preferences)
        blocks.save(self._core.document.graph, name, folder)
        self._core.shelf.look(folder)
        self._core.say(text("block.saved", name=name))
