"""A text field over what it edits on the canvas: a node's name, a parameter, the title or the note of a frame or a node.

Enter takes what was typed (with Ctrl in a note, where Enter begins a line), as does a press elsewhere; Escape takes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from munet.inspect import ParamView
from studio.camera import Rect
from studio.commands import EditFrame, Rename, SetField
from studio.hit import FRAME_HEAD, Hit, frame_rect
from studio.nodeviews import HEAD, ROW, NodeView, Point, declaration_of
from studio.texts import text
from studio.values import parsed, typed
from studio.view import theme
from studio.view.canvas import Canvas
from studio.view.core import Core
from studio.view.gui import FLOATING, Tag, clear, dpg
from studio.view.popup import Popup, Row

LEAST_WIDTH, FIELD_HEIGHT, NOTE_WIDTH, NOTE_HEIGHT = 120.0, 26.0, 300.0, 110.0  # pixels at scale 1
SETTLED = 3  # frames until the field has the keyboard


class InPlace:
    """One field at a time. `sync` once a frame: it notices that the person has gone elsewhere."""

    def __init__(self, core: Core, canvas: Canvas, popup: Popup):
        self._core, self._canvas, self._popup = core, canvas, popup
        self._then: Callable[[str], None] | None = None
        self._frames = 0
        self.field: Tag = 0
        with dpg.window(
            show=False, no_title_bar=True, no_resize=True, no_move=True, autosize=True, min_size=(20, 20), no_scrollbar=True,
            **FLOATING,
        ) as window:  # fmt: skip
            self._window: Tag = window
        dpg.bind_item_theme(window, theme.padded_theme(1, 1))

    @property
    def is_open(self) -> bool:
        return self._then is not None

    def edit(self, hit: Hit, at: Point) -> None:
        """What lies there: a parameter's line, or the name of the node; the title of the frame."""
        if hit.kind == "node":
            view = self._core.scene.views[hit.node]
            row = next((row for row in view.params if 0 <= at[1] - view.y - row.y < ROW), None)
            if row is not None:
                self._param(view, row.name, row.y)
            else:
                self.name(hit.node)
        elif hit.kind in ("frame", "corner"):
            self.title(hit.frame)

    def name(self, node: str) -> None:
        view = self._core.scene.views[node]
        if view.is_reroute:
            return
        self.over((view.x, view.y), view.width, HEAD, node, partial(self._rename, node))

    def _rename(self, old: str, new: str) -> None:
        if new.strip() and new.strip() != old:
            self._core.edit(Rename(old, new.strip()))

    def title(self, index: int) -> None:
        frame = self._core.document.part.frames[index]
        left, top, right, _ = frame_rect(frame)

        def done(given: str) -> None:
            if given != frame.title:
                self._core.edit(EditFrame(index, {"title": given}))

        self.over((left, top), right - left, FRAME_HEAD, frame.title, done)

    def frame_note(self, index: int) -> None:
        frame = self._core.document.part.frames[index]

        def done(given: str) -> None:
            if given != frame.note:
                self._core.edit(EditFrame(index, {"note": given}))

        self._open(self._on_screen((frame.position[0], frame.position[1] + FRAME_HEAD)), frame.note, done)

    def note(self, node: str) -> None:
        """What a person says about a node."""
        view = self._core.scene.views[node]
        known = self._core.document.part.nodes[node].note

        def done(given: str) -> None:
            if given != known:
                self._core.edit(SetField((node,), "note", given))

        self._open(self._on_screen((view.x, view.y + HEAD)), known, done)

    def _param(self, view: NodeView, name: str, y: float) -> None:
        document = self._core.document
        node = document.part.nodes[view.id]
        declared = declaration_of(document.graph, node)
        param = next((p for p in declared.params if p.name == name), None) if declared is not None else None
        if param is None:
            return
        value = node.params.get(name, param.default)
        place = (view.x + view.width * 0.4, view.y + y)
        if param.type == "bool":
            self._core.set_param(view.id, name, not value)
        elif param.choices:
            x, top = self._on_screen((place[0], place[1] + ROW))
            chosen = [Row(str(c), partial(self._core.set_param, view.id, name, c)) for c in param.choices]
            self._popup.open((x, top), chosen, name)
        else:
            self.over(place, view.width * 0.6, ROW, typed(value), partial(self._set, view.id, param, typed(value)))

    def _set(self, node: str, param: ParamView, before: str, given: str) -> None:
        if given == before:
            return
        try:
            value = parsed(param, given)
        except ValueError:
            self._core.say(text("view.not_a_value", value=given, name=param.name), error=True)
            return
        self._core.set_param(node, param.name, value)

    # -- the field -----------------------------------------------------------------------------------------------------

    def _on_screen(self, at: Point) -> Point:
        x, y = self._core.camera.to_screen(at)
        left, top = self._canvas.origin
        return x + left, y + top

    def over(self, at: Point, width: float, height: float, words: str, then: Callable[[str], None]) -> None:
        """Over the canvas at a place."""
        x, y = self._on_screen(at)
        zoom = self._core.camera.zoom
        self.in_window((x, y, x + width * zoom, y + height * zoom), words, then)

    def in_window(self, rect: Rect, words: str, then: Callable[[str], None]) -> None:
        """Over a part of the window."""
        left, top, right, bottom = rect
        width = max(theme.px(LEAST_WIDTH), right - left) - 2
        self._open((left, (top + bottom - theme.px(FIELD_HEIGHT)) / 2), words, then, width)

    def _open(self, at: Point, words: str, then: Callable[[str], None], width: float = 0.0) -> None:
        """At a place of the window; without a width it is a field of several lines."""
        self.close()
        clear(self._window)
        x, y = at
        common = {"parent": self._window, "default_value": words, "on_enter": True, "callback": lambda: self.close(take=True)}
        if width:
            self.field = dpg.add_input_text(width=round(width), auto_select_all=True, **common)
        else:
            self.field = dpg.add_input_text(width=theme.px(NOTE_WIDTH), height=theme.px(NOTE_HEIGHT), multiline=True, **common)
            dpg.add_text(text("view.note_hint"), parent=self._window, color=theme.DIM)
        theme.dress(self.field, words)
        dpg.configure_item(self._window, show=True, pos=[round(x), round(y)])
        dpg.focus_item(self._window)
        dpg.focus_item(self.field)
        self._then, self._frames = then, 0

    def close(self, *, take: bool = False) -> bool:
        """Whether a field was open."""
        then, self._then = self._then, None
        if then is None:
            return False
        given = dpg.get_value(self.field)
        dpg.hide_item(self._window)
        if take:
            then(given)
        return True

    def sync(self) -> None:
        if self._then is None:
            return
        self._frames += 1
        theme.redress(self.field, dpg.get_value(self.field))  # other letters may have been typed or pasted
        if self._frames > SETTLED and not dpg.is_item_focused(self.field):
            self.close(take=True)
