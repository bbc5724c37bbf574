"""What keys, menus and buttons start, by the names of the keyboard map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from munet import Frame, Graph, MunetError, bundled_project
from studio import clipboard, commands, files, storage
from studio.commands import AddFrame, Delete, Duplicate, Paste, SetField
from studio.document import Command, Document
from studio.edits import EditRefused, fresh_id
from studio.subgraph_commands import Collapse, Expand
from studio.texts import text
from studio.view import copying
from studio.view.canvas import Canvas
from studio.view.core import Core
from studio.view.dialogs import Dialogs
from studio.view.gui import dpg
from studio.view.problems import Problems

FRAME_MARGIN = 24.0


class Actions:
    """`run` does what a name stands for."""

    def __init__(
        self, core: Core, canvas: Canvas, dialogs: Dialogs, problems: Problems, cancel: Callable[[], None],
    ):  # fmt: skip
        self.core, self._canvas, self._dialogs = core, canvas, dialogs
        document, camera = core.document, core.camera
        self._table: dict[str, Callable[[], object]] = {
            "new": lambda: self.unless_unsaved(self._new), "open": lambda: self.unless_unsaved(self._open),
            "save": self.save, "save_as": self._save_as, "quit": lambda: self.unless_unsaved(dpg.stop_dearpygui),
            "undo": lambda: self._history("view.undone", document.undo()),
            "redo": lambda: self._history("view.redone", document.redo()),
            "copy": self._copy, "cut": self._cut, "paste": self._paste, "duplicate": lambda: core.edit(Duplicate()),
            "duplicate_wired": lambda: core.edit(Duplicate(keep_inputs=True)),
            "delete": lambda: self._on_selection(Delete(document.selection)),
            "delete_bridged": lambda: self._on_selection(Delete(document.selection, bridge=True)),
            "select_all": document.select_all, "cancel": cancel,
            "mute": lambda: self._on_selection(commands.toggle_mute(document.state)), "freeze": self._freeze,
            "frame": self._frame, "collapse": self._collapse, "expand": self._expand, "enter": self._enter,
            "leave": lambda: self.leave(),
            "fit_all": lambda: camera.fit(core.scene.bounds), "fit_selection": self._fit_selection,
            "zoom_in": lambda: camera.zoom_at(self._middle, 1), "zoom_out": lambda: camera.zoom_at(self._middle, -1),
            "zoom_reset": lambda: camera.zoom_to(self._middle, 1.0), "minimap": self._minimap,
            "next_problem": problems.next, "run": core.trainer.run, "pause": core.trainer.pause, "step": core.trainer.step,
            "stop": core.trainer.stop, "reset": core.trainer.reset,
        }  # fmt: skip

    def provide(self, **more: Callable[[], object]) -> None:
        """Actions of other parts of the window, before menus are made."""
        self._table |= more

    @property
    def names(self) -> frozenset[str]:
        """Actions that there are; the keyboard map knows more."""
        return frozenset(self._table)

    def run(self, name: str) -> None:
        action = self._table.get(name)
        if action is None:
            self.core.say(text("view.not_yet", name=text(f"action.{name}")))
            return
        try:
            action()
        except (EditRefused, MunetError) as error:
            self.core.say(str(error), error=True)
        self.core.refresh()

    # -- files ---------------------------------------------------------------------------------------------------------

    def unless_unsaved(self, then: Callable[[], None]) -> None:
        """Go on at once, or once it is known what becomes of unsaved changes."""
        document = self.core.document
        if not document.dirty:
            then()
            return
        question = text("view.unsaved", name=document.name or text("view.untitled"))
        choices = (
            (text("view.yes_save"), lambda: self.save(then)), (text("view.no_save"), then), (text("view.cancel"), lambda: None),
        )  # fmt: skip
        self._dialogs.ask(question, choices)

    def _new(self) -> None:
        self.core.open(Graph(), None)
        self._canvas.fit()

    def _open(self) -> None:
        self._dialogs.file(text("action.open"), self.open_path, folder=self._folder)

    def open_path(self, path: Path) -> None:
        if self.core.open_file(path):
            self._canvas.fit()

    def open_example(self, name: str) -> None:
        """A shipped project, as an untitled copy: saving asks for a file."""
        path = bundled_project(name)
        if path is None:
            return
        try:
            graph, _ = storage.read(path)
        except MunetError as error:
            self.core.say(str(error), error=True)
        else:
            self.core.open(graph, None)
            self.core.say(text("view.opened", name=path.name))
            self._canvas.fit()

    @property
    def _folder(self) -> Path:
        path = self.core.document.path
        return path.parent if path is not None else Path.cwd()

    def save(self, then: Callable[[], None] | None = None) -> None:
        path = self.core.document.path
        if path is None:
            self._save_as(then)
        elif self.core.stamp is not None and storage.changed_outside(path, self.core.stamp) == "changed":
            question = text("view.changed_outside", name=path.name)
            choices = ((text("view.overwrite"), lambda: self._write(path, then)), (text("view.cancel"), lambda: None))
            self._dialogs.ask(question, choices, careful=True)
        else:
            self._write(path, then)

    def _save_as(self, then: Callable[[], None] | None = None) -> None:
        path, name = self.core.document.path, self.core.document.name
        name = path.name if path is not None else f"{files.slug(name) or files.slug(text('view.untitled'))}.json"
        self._dialogs.file(
            text("action.save_as"), lambda path: self._write(path, then), folder=self._folder, name=name, saving=True
        )

    def _write(self, path: Path, then: Callable[[], None] | None) -> None:
        if self.core.save(path) and then is not None:
            then()

    # -- editing -------------------------------------------------------------------------------------------------------

    @property
    def _document(self) -> Document:
        return self.core.document

    def _history(self, key: str, label: str) -> None:
        if label:
            self.core.say(text(key, label=label))

    def _on_selection(self, command: Command) -> None:
        if self._document.selection:
            self.core.edit(command)

    def _copy(self) -> None:
        if self._document.selection:
            copying.copy(clipboard.copy(self._document.state))

    def _cut(self) -> None:
        if self._document.selection:
            content, command = commands.cut(self._document.state)
            copying.copy(content)
            self.core.edit(command)

    def _paste(self) -> None:
        at = self.core.camera.to_canvas(self._canvas.at_mouse()) if self._canvas.is_hovered else None
        self.core.edit(Paste(copying.copied(), at))

    def _freeze(self) -> None:
        part, nodes = self._document.part, tuple(sorted(self._document.selection.nodes))
        if nodes:
            self.core.edit(SetField(nodes, "frozen", not all(part.nodes[id_].frozen for id_ in nodes)))

    def _frame(self) -> None:
        rect = self.core.scene.bounds_of(self._document.selection.nodes)
        if rect is not None:
            left, top, right, bottom = rect
            at = (left - FRAME_MARGIN, top - FRAME_MARGIN - 20)
            size = (right - at[0] + FRAME_MARGIN, bottom - at[1] + FRAME_MARGIN)
            self.core.edit(AddFrame(Frame(text("menu.new_frame"), at, size)))

    def _collapse(self) -> None:
        if self._document.selection.nodes:
            name = fresh_id(self._document.graph.subgraphs, text("view.new_subgraph"))
            self.core.edit(Collapse(self._document.selection.nodes, name))

    def _expand(self) -> None:
        for id_ in self._document.selection.nodes:
            self.core.edit(Expand(id_))

    def _enter(self) -> None:
        chosen = self._document.selection.nodes
        if len(chosen) == 1:
            self._document.enter(next(iter(chosen)))

    def leave(self, levels: int = 1) -> None:
        """Out of a subgraph, by so many breadcrumbs."""
        if self._document.state.inside:
            self._document.leave(levels)
            self.core.refresh()

    # -- view ----------------------------------------------------------------------------------------------------------

    @property
    def _middle(self) -> tuple[float, float]:
        return (self.core.camera.width / 2, self.core.camera.height / 2)

    def _fit_selection(self) -> None:
        chosen = self._document.selection
        self.core.camera.fit(self.core.scene.bounds_of(chosen.nodes, chosen.frames) or self.core.scene.bounds)

    def _minimap(self) -> None:
        self.core.preferences = replace(self.core.preferences, show_minimap=not self.core.preferences.show_minimap)
