"""Small previews below nodes on the canvas, and the gradient norms that it can be coloured by; both live, from the run.

Which nodes show one is switched for each and remembered for each project in the preferences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from munet import MunetError, Session
from studio.nodeviews import NodeView
from studio.previews import thumbnail
from studio.texts import text
from studio.view import theme
from studio.view.canvas import Canvas
from studio.view.core import Core
from studio.view.drawing import CLEAR
from studio.view.gui import dpg
from studio.view.looks import Looks
from studio.view.textures import Pool

Array = np.ndarray[Any, Any]
Thumbnail = tuple[Array, tuple[int, int]] | str  # a picture, or a single number

SIDE = 128  # pixels of a texture
MOST = 16  # previews that are seen at once
SAMPLES = 16
LEAST_ZOOM = 0.25  # smaller ones show nothing
GAP = 8.0  # canvas units between a node and its preview
PAD = 5.0
SIZE, NUMBER = 12, 26  # of words, and of a single number


class Live:
    """`sync` is called in every frame."""

    def __init__(self, core: Core, canvas: Canvas, looks: Looks):
        self._core, self._looks = core, looks
        self._layer, self._pen = canvas.layer("previews"), canvas.pen
        self.pool = Pool(MOST, SIDE)
        self._drawn: object = None
        self._version = 0  # counts new contents of textures and numbers
        self._numbers: dict[str, str] = {}  # of nodes whose value is a single one, by path

    def sync(self, now: float) -> None:
        self._sync_gradients(now)
        if not self._core.trainer.has_session:
            self.pool.keep(set())  # what they show is of a session that has gone
            self._numbers.clear()
        shown = self._shown() if self._core.previews else {}
        if shown:
            paths = self._asked(shown)
            self._looks.want("live previews", paths, lambda session: thumbnails(session, paths), self._hear, now)
        elif self._drawn is None:
            return
        self._draw(shown)

    def toggle(self) -> None:
        """Show previews below all selected nodes, or, if they have them, below none of these."""
        document = self._core.document
        chosen = frozenset(map(document.state.path_of, document.selection.nodes))
        shown = self._core.previews
        self._core.show_previews(shown - chosen if chosen <= shown else shown | chosen)

    def _shown(self) -> dict[str, NodeView]:
        """Nodes in sight that have a preview, by path."""
        core = self._core
        if core.camera.zoom < LEAST_ZOOM:
            return {}
        left, top, right, bottom = core.camera.seen
        inside = core.document.state
        near = core.scene.nodes_in((left, top - 260, right, bottom))
        found = {path: core.scene.views[id_] for id_ in near if (path := inside.path_of(id_)) in core.previews}
        return dict(sorted(found.items())[:MOST])

    def _asked(self, shown: Mapping[str, NodeView]) -> tuple[str, ...]:
        """Nodes that the session is asked for: all, if there are textures for all; then moving the canvas needs no other look."""
        every = self._core.previews
        return tuple(sorted(every if len(every) <= MOST else shown))

    def _hear(self, found: dict[str, Thumbnail]) -> None:
        shown = self._shown()
        self.pool.keep(set(self._asked(shown)) & {path for path, made in found.items() if not isinstance(made, str)})
        self._numbers = {path: made for path, made in found.items() if isinstance(made, str)}
        self._version += 1
        for path, made in found.items():
            if not isinstance(made, str) and (texture := self.pool.take(path)) is not None:
                texture.put(*made)
        self._draw(shown)

    def _draw(self, shown: dict[str, NodeView]) -> None:
        """Draw anew if something moved, appeared or has new contents."""
        selected = self._core.document.selection.nodes
        places = tuple((path, view.x, view.y, view.width, view.height, view.id in selected) for path, view in shown.items())
        now = (places, self._version, self._core.trainer.has_session) if places else None
        if now == self._drawn:
            return
        self._drawn = now
        dpg.delete_item(self._layer, children_only=True)
        self.pool.keep(set(self._asked(shown)))
        for path, view in shown.items():
            self._draw_one(path, view, view.id in selected)

    def _draw_one(self, path: str, view: NodeView, selected: bool) -> None:
        texture = self.pool.get(path)
        left, top = view.x, view.y + view.height + GAP
        height, width = texture.used if texture is not None else (1, 4)
        room = view.width - 2 * PAD
        scale = min(room / width, room / height)
        wide, tall = width * scale, height * scale
        number = self._numbers.get(path, "")
        if number:
            tall = 1.4 * NUMBER
        frame: dict[str, Any] = {"parent": self._layer, "rounding": 5, "color": theme.ACCENT if selected else theme.LINE}
        dpg.draw_line((left + 14, top - GAP), (left + 14, top), parent=self._layer, color=theme.LINE, thickness=2)
        dpg.draw_rectangle((left, top), (left + view.width, top + tall + 2 * PAD), fill=(*theme.BAR, 235), **frame)
        if texture is None or number:
            words = number or text("preview.pending" if self._core.trainer.has_session else "preview.not_there")
            size, color = (NUMBER, theme.TEXT) if number else (SIZE, theme.DIM)
            words = self._pen.fitted(words, room, size)
            at = (left + (view.width - self._pen.width(words, size)) / 2, top + PAD + (tall - size) / 2)
            self._pen.text(at, words, self._layer, size, color)
            return
        x, y = left + (view.width - wide) / 2, top + PAD
        dpg.draw_image(texture.tag, (x, y), (x + wide, y + tall), uv_max=texture.uv_max, parent=self._layer)
        dpg.draw_rectangle((x, y), (x + wide, y + tall), parent=self._layer, color=CLEAR)

    def _sync_gradients(self, now: float) -> None:
        core = self._core
        if core.preferences.color_mode == "gradient":
            self._looks.want("gradient norms", "norms", norms, self._hear_norms, now)
        elif core.gradient_norms:
            self._looks.forget("gradient norms")
            self._hear_norms({})

    def _hear_norms(self, found: dict[str, float]) -> None:
        self._core.gradient_norms = found
        self._core.gradient_version += 1


def norms(session: Session) -> dict[str, float]:
    """Of the gradients of each node's parameters; {} where there are none."""
    try:
        return session.gradients().by_node()
    except MunetError:
        return {}


def thumbnails(session: Session, paths: Sequence[str]) -> dict[str, Thumbnail]:
    """Of the first output of each of these nodes; nodes that the session does not have are left out."""
    outputs = {path: [t for t in session.tensors(path) if t.kind == "output"] for path in paths}
    sockets = {path: found[0].name for path, found in outputs.items() if found}
    try:
        values = session.look(list(sockets.values()), SAMPLES)
    except MunetError:
        return {}
    return {path: _thumbnail(values[socket]) for path, socket in sockets.items()}


def _thumbnail(values: Array) -> Thumbnail:
    return f"{values.reshape(-1)[0]:.4g}" if values.size == 1 else thumbnail(values, SIDE)
