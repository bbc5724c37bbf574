"""The canvas: the scene drawn into a plot, whose axis limits are the camera. Only what changed is drawn anew.

The plot scales texts, roundings and line widths by itself, so that panning and zooming are two calls however large the drawing.
"""

from __future__ import annotations

from munet import Edge
from studio import messages
from studio.camera import MARGIN, Rect
from studio.hit import bezier, frame_rect
from studio.nodeviews import Point
from studio.texts import text
from studio.view import theme
from studio.view.core import Core
from studio.view.drawing import CLEAR, TITLE_SIZE, Look, Pen, draw_node, draw_wire
from studio.view.gui import Tag, dpg

TEXT_ZOOM = 0.4  # below it texts are too small to read and are left out
OPEN_ZOOM = 0.7  # a project is not opened smaller
LEAST_WIDTH = 120  # of the plot once the window has been laid out, pixels
MAP_WIDTH, MAP_HEIGHT = 160.0, 100.0  # of the minimap, pixels


class Canvas:
    """Makes the plot in `parent`; `sync` brings it to the core's scene."""

    def __init__(self, core: Core, parent: Tag, font: Tag | None):
        self.core, self.pen = core, Pen(font)
        self.plot: Tag = dpg.add_plot(
            parent=parent, width=-1, height=-1, no_title=True, no_menus=True, no_box_select=True, no_mouse_pos=True,
            no_frame=True, no_inputs=True,
        )  # fmt: skip
        dpg.bind_item_theme(self.plot, theme.canvas_theme())
        usual = {
            "parent": self.plot, "no_label": True, "no_tick_marks": True, "no_tick_labels": True, "no_menus": True,
            "no_highlight": True, "no_initial_fit": True, "no_side_switch": True,
        }  # fmt: skip
        self._axes = dpg.add_plot_axis(dpg.mvXAxis, **usual), dpg.add_plot_axis(dpg.mvYAxis, invert=True, **usual)
        names = ("frames", "wires", "nodes", "raised", "tool", "map")
        self._layers: dict[str, Tag] = {name: dpg.add_draw_layer(parent=self.plot) for name in names}
        self._nodes: dict[str, tuple[Tag, Tag]] = {}
        self._looks: dict[str, Look] = {}
        self._hidden: set[str] = set()
        self._wires: dict[Edge, tuple[Tag, Tag]] = {}
        self._selected_wires: frozenset[Edge] = frozenset()
        self._camera_seen: object = None
        self._frames_seen: object = None
        self._tool_seen: object = None
        self._map_seen: object = None
        self._texts_shown = True
        self._fit_wanted = False
        self._size: tuple[float, float] = (0.0, 0.0)
        self.version = 0  # counts redraws

    @property
    def origin(self) -> Point:
        """Upper left corner in the window."""
        x, y = dpg.get_item_rect_min(self.plot)
        return float(x), float(y)

    def at_mouse(self) -> Point:
        """The mouse in pixels from the canvas' corner."""
        x, y = dpg.get_mouse_pos(local=False)
        left, top = self.origin
        return x - left, y - top

    @property
    def is_hovered(self) -> bool:
        return bool(dpg.is_item_hovered(self.plot))

    def fit(self) -> None:
        """Show the drawing from its beginning, as soon as the size is known."""
        self._fit_wanted = True

    def fonts_changed(self) -> None:
        """Draw everything anew: widths of texts are known now."""
        self.core.stale_nodes |= self._nodes.keys()
        self.core.stale_wires |= self._wires.keys()

    # -- once a frame --------------------------------------------------------------------------------------------------

    def sync(self) -> None:
        self._sync_size()
        self._sync_nodes()
        self._sync_wires()
        self._sync_frames()
        self._sync_camera()
        self._sync_tool()
        self._sync_map()

    def _sync_size(self) -> None:
        width, height = dpg.get_item_rect_size(self.plot)
        self.core.camera.resize(width, height)
        settled, self._size = (width, height) == self._size, (width, height)
        if self._fit_wanted and settled and width > LEAST_WIDTH:
            self._fit_wanted = False
            self._fit()

    def _fit(self) -> None:
        """Everything, unless that made texts unreadable: then the left end of the drawing, where it begins."""
        camera, whole = self.core.camera, self.core.scene.bounds
        camera.fit(whole)
        if whole is not None and camera.zoom < OPEN_ZOOM:
            camera.zoom = OPEN_ZOOM
            camera.center(whole[0] + (camera.width / 2 - MARGIN) / OPEN_ZOOM, (whole[1] + whole[3]) / 2)

    def _look(self, id_: str) -> Look:
        core = self.core
        timings = core.trainer.timings
        path = core.document.state.path_of(id_)
        spent = timings.node(path).us if timings is not None else 0.0
        badge = (f"{spent:.0f} µs" if spent < 1000 else f"{spent / 1000:.2f} ms") if spent >= 0.5 else ""
        hot = timings is not None and spent > 0.2 * max(1e-9, timings.serialised_us)
        return Look(id_ in core.document.selection.nodes, id_ in core.problems, badge, hot)

    def _sync_nodes(self) -> None:
        core = self.core
        for id_ in self._nodes.keys() - core.scene.views.keys():
            dpg.delete_item(self._nodes.pop(id_)[0])
            self._looks.pop(id_, None)
            self._hidden.discard(id_)
            self.version += 1
        for id_, view in core.scene.views.items():
            look = self._look(id_)
            if id_ in core.stale_nodes or look != self._looks.get(id_):
                if id_ in self._nodes:
                    dpg.delete_item(self._nodes[id_][0])
                layer = self._layers["raised" if look.selected else "nodes"]
                item, texts = self._nodes[id_] = draw_node(view, look, layer, self.pen)
                dpg.apply_transform(item, dpg.create_translation_matrix([view.x, view.y, 0]))
                if not self._texts_shown:
                    dpg.configure_item(texts, show=False)
                self._looks[id_] = look
                self._hidden.discard(id_)
                self.version += 1
        core.stale_nodes.clear()

    def _sync_wires(self) -> None:
        core = self.core
        loose = core.tool.loose
        hidden = {loose.taken, *loose.others} if loose is not None else set[Edge | None]()
        chosen = core.document.selection.edges
        stale = core.stale_wires | (chosen ^ self._selected_wires) | {e for e in self._wires if e in hidden}
        self._selected_wires = chosen
        for edge in (self._wires.keys() - core.scene.wires.keys()) | (stale & self._wires.keys()):
            dpg.delete_item(self._wires.pop(edge)[0])
            self.version += 1
        for edge, wire in core.scene.wires.items():
            if edge in self._wires or edge in hidden:
                continue
            source = core.scene.views.get(edge.source)
            spot = source.socket("out", edge.source_socket) if source is not None else None
            color = spot.color if spot is not None else theme.ERROR
            known = core.tool.wires.get((edge.source, edge.source_socket))
            item, texts = draw_wire(wire, color, edge in chosen, known, self._layers["wires"], self.pen)
            dpg.configure_item(texts, show=self._texts_shown and core.preferences.show_shapes)
            self._wires[edge] = item, texts
            self.version += 1
        core.stale_wires.clear()

    def _sync_frames(self) -> None:
        chosen = self.core.document.selection.frames
        now = (self.core.scene.frames, chosen)
        if now == self._frames_seen:
            return
        self._frames_seen = now
        layer = self._layers["frames"]
        dpg.delete_item(layer, children_only=True)
        for index, frame in enumerate(self.core.scene.frames):
            left, top, right, bottom = frame_rect(frame)
            edge = theme.ACCENT if index in chosen else theme.LINE
            dpg.draw_rectangle((left, top), (right, bottom), parent=layer, color=edge, fill=(59, 110, 180, 22), rounding=6)
            self.pen.text((left + 10, top + 5), frame.title, layer, TITLE_SIZE, theme.DIM)
        self.version += 1

    def _sync_camera(self) -> None:
        core, camera = self.core, self.core.camera
        now = (camera.version, camera.width, camera.height, core.document.version, len(self._nodes))
        if now == self._camera_seen:
            return
        self._camera_seen = now
        left, top, right, bottom = camera.seen
        dpg.set_axis_limits(self._axes[0], left, right)
        dpg.set_axis_limits(self._axes[1], top, bottom)
        readable = camera.zoom >= TEXT_ZOOM
        if readable != self._texts_shown:
            self._texts_shown = readable
            for _, texts in self._nodes.values():
                dpg.configure_item(texts, show=readable)
            for _, texts in self._wires.values():
                dpg.configure_item(texts, show=readable and core.preferences.show_shapes)
        unseen = self._nodes.keys() - core.scene.nodes_in((left - 30, top - 30, right + 30, bottom + 30))
        for id_ in unseen ^ self._hidden:
            dpg.configure_item(self._nodes[id_][0], show=id_ not in unseen)
        self._hidden = unseen
        self.version += 1

    def _sync_tool(self) -> None:
        """What a gesture shows: the loose wire, the box, the cut, the wire that a node would go into; a hint when it is empty."""
        core, tool = self.core, self.core.tool
        empty = not core.scene.views
        shown_at = core.camera.version if empty else 0
        now = (tool.loose, tool.box, len(tool.path), tool.insert, empty, shown_at)
        if now == self._tool_seen:
            return
        self._tool_seen = now
        layer = self._layers["tool"]
        dpg.delete_item(layer, children_only=True)
        self.version += 1
        if tool.box is not None:
            left, top, right, bottom = tool.box
            fill = (*theme.ACCENT, 24)
            dpg.draw_rectangle((left, top), (right, bottom), parent=layer, color=theme.ACCENT, fill=fill)
        if tool.loose is not None:
            self._loose_wire(layer)
        if tool.path:
            dpg.draw_polyline(tool.path, parent=layer, color=theme.ERROR, thickness=2)
        if tool.insert is not None and tool.insert in core.scene.wires:
            control = core.scene.wires[tool.insert].control
            dpg.draw_bezier_cubic(*control, parent=layer, color=theme.ACCENT, thickness=5, segments=24)
        if empty:
            self._hint(layer)

    def _loose_wire(self, layer: Tag) -> None:
        loose = self.core.tool.loose
        if loose is None:
            return
        fixed = self.core.scene.socket_at(loose.fixed.node, loose.fixed.side, loose.fixed.socket)
        over = loose.over
        end = self.core.scene.socket_at(over.node, over.side, over.socket) if over.kind == "socket" else loose.end
        refused = loose.refusal is not None
        color = theme.ERROR if refused else theme.GOOD if over.kind == "socket" else (255, 255, 255, 210)
        control = bezier(fixed, end) if loose.fixed.side == "out" else bezier(end, fixed)
        dpg.draw_bezier_cubic(*control, parent=layer, color=color, thickness=2.5, segments=24)
        if over.kind == "socket":
            dpg.draw_circle(end, 9, parent=layer, color=color, thickness=2)
        if loose.refusal is not None:
            width = self.pen.width(loose.refusal.reason)
            x, y = loose.end[0] + 16, loose.end[1] + 12
            fill: dict[str, object] = {"color": CLEAR, "fill": theme.ERROR_BACK, "rounding": 4}
            dpg.draw_rectangle((x - 6, y - 4), (x + width + 6, y + 18), parent=layer, **fill)
            self.pen.text((x, y), loose.refusal.reason, layer, color=(254, 226, 226))

    def _hint(self, layer: Tag) -> None:
        camera = self.core.camera
        for row, key in enumerate(("view.hint_add", "view.hint_wire", "view.hint_examples")):
            words = text(key)
            x, y = camera.to_canvas((camera.width / 2, camera.height / 2 + 24 * row - 24))
            self.pen.text((x - self.pen.width(words, TITLE_SIZE) / 2, y), words, layer, TITLE_SIZE, theme.DIM)

    def _sync_map(self) -> None:
        """The minimap, as long as some of the drawing is out of sight."""
        core, camera = self.core, self.core.camera
        whole = core.scene.bounds
        seen = camera.seen
        wanted = (
            core.preferences.show_minimap and whole is not None and not _within(whole, seen) and camera.width > 3 * MAP_WIDTH
        )  # fmt: skip
        now = (camera.version, core.document.version, core.document.state.inside, wanted)
        if now == self._map_seen:
            return
        self._map_seen = now
        layer = self._layers["map"]
        dpg.delete_item(layer, children_only=True)
        if not wanted or whole is None:
            return
        pixel = 1 / camera.zoom
        right, bottom = seen[2] - 12 * pixel, seen[3] - 12 * pixel
        left, top = right - MAP_WIDTH * pixel, bottom - MAP_HEIGHT * pixel
        area = (min(whole[0], seen[0]), min(whole[1], seen[1]), max(whole[2], seen[2]), max(whole[3], seen[3]))
        scale = min((right - left) / (area[2] - area[0]), (bottom - top) / (area[3] - area[1]))

        def put(rect: Rect) -> tuple[Point, Point]:
            corners = [(left + (x - area[0]) * scale, top + (y - area[1]) * scale) for x, y in (rect[:2], rect[2:])]
            return corners[0], corners[1]

        dpg.draw_rectangle((left, top), (right, bottom), parent=layer, color=theme.LINE, fill=(17, 19, 23, 220))
        for view in core.scene.views.values():
            dpg.draw_rectangle(*put(view.rect), parent=layer, color=CLEAR, fill=view.color)
        dpg.draw_rectangle(*put(seen), parent=layer, color=theme.ACCENT)


def _within(inner: Rect, outer: Rect) -> bool:
    return inner[0] >= outer[0] and inner[1] >= outer[1] and inner[2] <= outer[2] and inner[3] <= outer[3]


def status_color(phase: str, is_error: bool) -> tuple[int, int, int]:
    """Of the status line's message."""
    if is_error or phase == messages.FAILED:
        return theme.ERROR
    return theme.GOOD if phase == messages.RUNNING else theme.TEXT
