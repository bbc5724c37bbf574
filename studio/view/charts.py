"""Parts of the preview panel, one for each kind of thing that there is to see: pictures, histograms, planes, confusion, facts."""

from __future__ import annotations

from typing import Any

import numpy as np

from munet.inspect import Histogram
from studio import toning
from studio.previews import DEEP, PLANE, Bars, Confusion, Facts, Picture, Plane, marks
from studio.texts import text
from studio.view import theme
from studio.view.gui import Tag, clear, dpg
from studio.view.textures import Texture

NUMBER = 40  # height of a single number, at scale 1
SIDE = 256  # pixels of the texture for pictures
CAPTION_FROM = 26  # pixels of a cell, below which there is no room for its caption
LABELED = 12  # classes of a confusion matrix, up to which cells hold numbers
BARE: dict[str, Any] = {"no_menus": True, "no_title": True, "no_box_select": True, "width": -1}


class PictureBox:
    """A picture as large as there is room, with captions over its cells."""

    def __init__(self, parent: Tag):
        self._list: Tag = dpg.add_drawlist(100, 100, parent=parent, show=False)
        self._texture: Texture | None = None
        self.scale = 0.0

    def show(self, shown: bool) -> None:
        dpg.configure_item(self._list, show=shown)

    def draw(self, picture: Picture, width: int, height: int) -> None:
        if self._texture is None:
            self._texture = Texture(SIDE)
        rgba, used = toning.fitted(picture.rgba, SIDE)
        self._texture.put(rgba, used)
        width, height = max(16, width), max(16, height)
        dpg.configure_item(self._list, width=width, height=height)
        clear(self._list)
        tall, wide = picture.rgba.shape[:2]
        self.scale = scale = min(width / wide, height / tall)
        left = (width - wide * scale) / 2
        end = (left + wide * scale, tall * scale)
        dpg.draw_image(self._texture.tag, (left, 0), end, uv_max=self._texture.uv_max, parent=self._list)
        step_y, step_x = picture.cell[0] * scale, picture.cell[1] * scale
        if step_y < CAPTION_FROM:
            return
        for place, caption in enumerate(picture.captions):
            x, y = left + place % picture.columns * step_x, place // picture.columns * step_y
            right = picture.right[place]
            color = theme.GOOD if right else theme.ERROR
            if not right:
                end = (x + step_x - 2 * scale, y + step_y - 2 * scale)
                dpg.draw_rectangle((x + 1, y + 1), end, color=theme.ERROR, thickness=2, parent=self._list)
            size = 13
            back = (x + 7 * len(caption) + 7, y + size + 4)
            dpg.draw_rectangle((x + 2, y + 2), back, color=(0, 0, 0, 0), fill=(*theme.BAR, 220), rounding=3, parent=self._list)
            dpg.draw_text((x + 5, y + 2), caption, size=size, color=color, parent=self._list)


class Histograms:
    """Up to DEEP histograms below each other."""

    def __init__(self, parent: Tag):
        self._plots: list[tuple[Tag, Tag, Tag, Tag]] = []
        self._group: Tag = dpg.add_group(parent=parent, show=False)
        for _ in range(DEEP):
            name = dpg.add_text("", parent=self._group)
            plot = dpg.add_plot(parent=self._group, height=theme.px(100), no_mouse_pos=True, **BARE)
            x = dpg.add_plot_axis(dpg.mvXAxis, parent=plot)
            y = dpg.add_plot_axis(dpg.mvYAxis, parent=plot, no_tick_labels=True, no_tick_marks=True)
            self._plots.append((name, plot, x, y))

    def show(self, shown: bool) -> None:
        dpg.configure_item(self._group, show=shown)

    def draw(self, bars: Bars, height: int, log: bool) -> None:
        count = max(1, len(bars.lines))
        room = max(70, height // count - 32)
        for place, (name, plot, x, y) in enumerate(self._plots):
            shown = place < len(bars.lines)
            dpg.configure_item(name, show=shown)
            dpg.configure_item(plot, show=shown, height=room)
            if shown:
                title, histogram = bars.lines[place]
                strange = f"   {text('preview.strange')}: {histogram.strange:,}" if histogram.strange else ""
                dpg.set_value(name, title + strange)
                dpg.configure_item(name, color=theme.ERROR if histogram.strange else theme.DIM)
                _fill(x, y, histogram, log)


def _fill(x: Tag, y: Tag, histogram: Histogram, log: bool) -> None:
    """The bars of a histogram as a filled line; with `log`, heights are those of log10(1 + count)."""
    counts = histogram.counts.astype(np.float64)
    tall = np.log10(1 + counts) if log else counts
    across = np.repeat(histogram.edges, 2)[1:-1].tolist()
    up = np.repeat(tall, 2).tolist()
    children = dpg.get_item_children(y, 1)
    if children:
        dpg.set_value(children[0], [across, up, [0.0] * len(up), [], []])
        dpg.set_value(children[1], [across, up])
    else:
        dpg.add_shade_series(across, up, y2=[0.0] * len(up), parent=y)
        dpg.add_line_series(across, up, parent=y)
        for series in dpg.get_item_children(y, 1):
            dpg.bind_item_theme(series, theme.area_theme(toning.CLASSES[0]))
    low, high = float(histogram.edges[0]), float(histogram.edges[-1])
    dpg.set_axis_limits(x, low, max(high, low + 1e-30))
    dpg.set_axis_ticks(x, tuple((f"{mark:.4g}", mark) for mark in marks(low, high)))
    dpg.set_axis_limits(y, 0.0, max(float(tall.max(initial=0.0)) * 1.05, 1e-9))


class PlaneChart:
    """What the network says in the plane, with the points that it is asked about."""

    def __init__(self, parent: Tag):
        self._plot: Tag = dpg.add_plot(parent=parent, height=-1, equal_aspects=True, show=False, no_mouse_pos=False, **BARE)
        self._x: Tag = dpg.add_plot_axis(dpg.mvXAxis, parent=self._plot, no_gridlines=True)
        self._y: Tag = dpg.add_plot_axis(dpg.mvYAxis, parent=self._plot, no_gridlines=True)
        self._texture: Texture | None = None
        self._image: Tag = 0
        self._points: dict[int, Tag] = {}
        self._bounds: object = None

    def show(self, shown: bool) -> None:
        dpg.configure_item(self._plot, show=shown)

    def draw(self, plane: Plane) -> None:
        if self._texture is None:
            self._texture = Texture(PLANE)
        self._texture.put(np.ascontiguousarray(plane.rgba))
        left, bottom, right, top = plane.bounds
        if not self._image:
            self._image = dpg.add_image_series(self._texture.tag, (left, bottom), (right, top), parent=self._y)
        else:
            dpg.configure_item(self._image, bounds_min=(left, bottom), bounds_max=(right, top))
        known = dict(plane.points)
        for kind in self._points.keys() - known.keys():
            dpg.delete_item(self._points.pop(kind))
        for kind, points in known.items():
            data = [points[:, 0].tolist(), points[:, 1].tolist()]
            if kind in self._points:
                dpg.set_value(self._points[kind], data)
            else:
                self._points[kind] = dpg.add_scatter_series(*data, parent=self._y)
                dpg.bind_item_theme(self._points[kind], theme.marker_theme(toning.CLASSES[kind % len(toning.CLASSES)]))
        if (plane.bounds, plane.down) != self._bounds:
            self._bounds = plane.bounds, plane.down
            dpg.configure_item(self._y, invert=plane.down)
            dpg.fit_axis_data(self._x)
            dpg.fit_axis_data(self._y)


class ConfusionChart:
    """Shares of each true class by what is predicted; counts under the mouse."""

    def __init__(self, parent: Tag):
        self._box: Tag = dpg.add_group(parent=parent, show=False)
        self._plot: Tag = dpg.add_plot(parent=self._box, height=-28, no_mouse_pos=True, **BARE)
        dpg.bind_colormap(self._plot, dpg.mvPlotColormap_Viridis)
        usual = {"parent": self._plot, "no_gridlines": True, "no_tick_marks": True}
        self._x: Tag = dpg.add_plot_axis(dpg.mvXAxis, label=text("preview.predicted"), **usual)
        self._y: Tag = dpg.add_plot_axis(dpg.mvYAxis, label=text("preview.true"), **usual)
        self.told: Tag = dpg.add_text("", parent=self._box, color=theme.DIM)
        self._shown: Confusion | None = None
        self._classes = 0
        with dpg.item_handler_registry() as handlers:
            dpg.add_item_hover_handler(callback=self._hovered)
        dpg.bind_item_handler_registry(self._plot, handlers)

    def show(self, shown: bool) -> None:
        dpg.configure_item(self._box, show=shown)

    def draw(self, confusion: Confusion) -> None:
        self._shown = confusion
        counts = confusion.counts
        size = len(counts)
        shares = 100 * counts / np.maximum(1, counts.sum(axis=1, keepdims=True))
        clear(self._y)
        dpg.add_heat_series(
            shares.reshape(-1).tolist(), size, size, parent=self._y, scale_min=0.0, scale_max=100.0,
            bounds_min=(0, 0), bounds_max=(size, size), format="%.0f" if size <= LABELED else "",
        )  # fmt: skip
        if size != self._classes:
            self._classes = size
            every = max(1, size // LABELED)
            dpg.set_axis_limits(self._x, 0, size)
            dpg.set_axis_limits(self._y, 0, size)
            dpg.set_axis_ticks(self._x, tuple((str(kind), kind + 0.5) for kind in range(0, size, every)))
            dpg.set_axis_ticks(self._y, tuple((str(kind), size - kind - 0.5) for kind in range(0, size, every)))
        worst = min(range(size), key=confusion.share_right)
        dpg.set_value(self.told, text("preview.class", label=worst, right=100 * confusion.share_right(worst)))

    def _hovered(self) -> None:
        if self._shown is None:
            return
        x, y = dpg.get_plot_mouse_pos()
        size = len(self._shown.counts)
        said, label = int(x), size - 1 - int(y)
        if 0 <= said < size and 0 <= label < size:
            dpg.set_value(self.told, self._shown.told(label, said))


class FactsTable:
    """Names and values, one below the other."""

    def __init__(self, parent: Tag):
        self._box: Tag = dpg.add_group(parent=parent, show=False)

    def show(self, shown: bool) -> None:
        dpg.configure_item(self._box, show=shown)

    def draw(self, facts: Facts) -> None:
        clear(self._box)
        if facts.number:
            size = theme.px(NUMBER)
            with dpg.drawlist(parent=self._box, width=size * len(facts.number), height=round(1.3 * size)):
                dpg.draw_text((0, 0), facts.number, size=size, color=theme.ERROR if facts.strange else theme.TEXT)
        with dpg.table(parent=self._box, header_row=False, policy=dpg.mvTable_SizingFixedFit, no_pad_outerX=True):
            dpg.add_table_column(width_fixed=True, init_width_or_weight=theme.px(92))
            dpg.add_table_column(width_stretch=True)
            for place, (name, value) in enumerate(facts.rows):
                bad = facts.strange > 0 and not facts.number and place == len(facts.rows) - 1
                with dpg.table_row():
                    dpg.add_text(name, color=theme.ERROR if bad else theme.DIM)
                    dpg.add_text(value, color=theme.ERROR if bad else theme.TEXT)
