"""One plot of curves: lines, points of evaluations, dimmed lines of earlier runs. Follows the newest step until it is zoomed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from studio.colors import Rgb
from studio.plotlines import EARLIER, HELD_OUT, Curve, drawn, mixed, span
from studio.texts import label
from studio.view import theme
from studio.view.gui import Tag, dpg

DRAG_PX = 5.0
DIMMED = 110
LEGEND_FROM, ROW_FROM = (
    (240, 110),
    80,
)  # width and height of a plot that has room for a legend in it, at scale 1; or for one above
ENTRY = 34  # of a legend's width, beside each name
EDGE = 0.03, 0.07  # of what is seen, around the curves: points at the edges would be cut off


class Chart:
    """`zoomed` is called when the person zooms or pans, `fitted` when he double clicks, which shows everything again.

    The legend is a row above the plot; where that is too long, it lies in a corner: `rises` says that curves end high more often
    than low, and the corner is the lower one.
    """

    def __init__(self, parent: Tag, zoomed: Callable[[], None], fitted: Callable[[], None], *, rises: bool = False):
        self._zoomed, self._fitted = zoomed, fitted
        self.plot: Tag = dpg.add_plot(
            parent=parent, width=-1, height=-1, no_title=True, no_menus=True, no_mouse_pos=False, crosshairs=False,
        )  # fmt: skip
        self._corner = dpg.mvPlot_Location_SouthEast if rises else dpg.mvPlot_Location_NorthEast
        self._legend: Tag = dpg.add_plot_legend(parent=self.plot, location=self._corner)
        self._x: Tag = dpg.add_plot_axis(dpg.mvXAxis, parent=self.plot, no_menus=True, tick_format="%g")
        self._y: Tag = dpg.add_plot_axis(dpg.mvYAxis, parent=self.plot, no_menus=True, tick_format="%.3g")
        dpg.bind_item_theme(self.plot, _plot_theme())
        self._lines: dict[str, tuple[Tag, str, object]] = {}
        self._themes: dict[tuple[str, Rgb, bool], Tag] = {}
        self._order: tuple[str, ...] = ()
        self._ends: dict[
            str, tuple[float, float, float, float]
        ] = {}  # of each curve: first and last step, least and largest value
        self._edge: Tag = dpg.add_line_series([], [], parent=self._y)  # is not seen, and keeps room around the others
        with dpg.theme() as unseen, dpg.theme_component(dpg.mvLineSeries):
            dpg.add_theme_color(dpg.mvPlotCol_Line, (0, 0, 0, 0), category=dpg.mvThemeCat_Plots)
        dpg.bind_item_theme(self._edge, unseen)
        self._log, self._size, self._legend_seen = False, (0, 0), (True, False)

    @property
    def shown(self) -> tuple[str, ...]:
        """Keys of the curves in it."""
        return tuple(self._lines)

    @property
    def is_log(self) -> bool:
        return dpg.get_item_configuration(self._y)["scale"] == dpg.mvPlotScale_Log10

    @property
    def limits(self) -> tuple[tuple[float, float], tuple[float, float]]:
        return tuple(dpg.get_axis_limits(self._x)), tuple(dpg.get_axis_limits(self._y))

    def show(self, curves: Sequence[Curve], *, log: bool, follow: bool) -> None:
        if log != self._log:
            self._log = log
            dpg.configure_item(self._y, scale=dpg.mvPlotScale_Log10 if log else dpg.mvPlotScale_Linear)
        order = tuple(curve.key for curve in curves)
        if order != self._order:  # series are drawn and named in the order in which they were made
            for tag, _, _ in self._lines.values():
                dpg.delete_item(tag)
            self._lines.clear()
            self._ends.clear()
            self._order = order
            theme.dress(self.plot, "".join(curve.name for curve in curves))  # runs may be named in any letters
        for curve in curves:
            self._show(curve, log)
        self._keep_edge()
        self._place_legend()
        if follow and curves:
            self.fit()

    def _keep_edge(self) -> None:
        if not self._ends:
            dpg.set_value(self._edge, [[], []])
            return
        firsts, lasts, lows, highs = zip(*self._ends.values(), strict=True)
        lower, upper = min(lows), max(highs)
        left, right = span((min(firsts), max(lasts)))
        low, high = span((math.log10(lower), math.log10(upper)) if self._log else (lower, upper))
        across, up = EDGE[0] * (right - left), EDGE[1] * (high - low)
        ends = (low - up, high + up)
        dpg.set_value(self._edge, [[left - across, right + across], [10.0**end if self._log else end for end in ends]])

    def _show(self, curve: Curve, log: bool) -> None:
        made = self._lines.get(curve.key)
        mark = (len(curve.steps), curve.steps[-1] if curve.steps else 0, id(curve.values), log)
        if made is not None and made[2] == mark and made[1] == curve.name and curve.kind == EARLIER:
            return
        data = drawn(curve, log)
        if data[0]:
            self._ends[curve.key] = data[0][0], data[0][-1], min(data[1]), max(data[1])
        else:
            self._ends.pop(curve.key, None)
        if made is not None:
            dpg.set_value(made[0], list(data))
            self._dress(made[0], curve, len(data[0]))
            self._lines[curve.key] = (made[0], curve.name, mark)
            return
        add = dpg.add_scatter_series if curve.kind == HELD_OUT else dpg.add_line_series
        tag = add(*data, label=label(curve.name), parent=self._y)
        self._dress(tag, curve, len(data[0]))
        self._lines[curve.key] = (tag, curve.name, mark)

    def _dress(self, tag: Tag, curve: Curve, points: int) -> None:
        """A line of one point, after the first step, would not be seen: that is a ring."""
        look = (curve.kind, curve.color, points < 2)
        if dpg.get_item_user_data(tag) == look:
            return
        if look not in self._themes:
            self._themes[look] = _series_theme(*look)
        dpg.bind_item_theme(tag, self._themes[look])
        dpg.set_item_user_data(tag, look)

    def resize(self, width: int, height: int) -> None:
        dpg.configure_item(self.plot, width=width)
        self._size = width, height
        self._place_legend()

    def _place_legend(self) -> None:
        """In a row above the plot, or in a corner; it is left out where it would hide the curves."""
        width, height = self._size
        scale = theme.scale()
        sizes = [dpg.get_text_size(name) or (0.0, 0.0) for _, name, _ in self._lines.values()]  # which know nothing of the scale
        above = sum(size[0] * scale + theme.px(ENTRY) for size in sizes) < width - theme.px(50)
        roomy = height > theme.px(ROW_FROM) if above else width > theme.px(LEGEND_FROM[0]) and height > theme.px(LEGEND_FROM[1])
        if (roomy, above) != self._legend_seen:
            self._legend_seen = roomy, above
            place = dpg.mvPlot_Location_North if above else self._corner
            dpg.configure_item(self._legend, show=roomy, location=place, outside=above, horizontal=above)

    def fit(self) -> None:
        dpg.fit_axis_data(self._x)
        dpg.fit_axis_data(self._y)

    def wheel(self) -> None:
        """The wheel was turned somewhere."""
        if self._is_hovered():
            self._zoomed()

    def look(self) -> None:
        """Once a frame while it is seen: dragging pans or draws a box, a double click fits."""
        if not self._is_hovered():
            return
        if dpg.is_mouse_button_double_clicked(dpg.mvMouseButton_Left):
            self._fitted()
        elif any(dpg.is_mouse_button_dragging(button, DRAG_PX) for button in (dpg.mvMouseButton_Left, dpg.mvMouseButton_Right)):
            self._zoomed()

    def _is_hovered(self) -> bool:
        return bool(self._lines) and bool(dpg.is_item_visible(self.plot)) and bool(dpg.is_item_hovered(self.plot))


def _series_theme(kind: str, color: Rgb, single: bool) -> Tag:
    if kind == HELD_OUT or single:
        return _ring_theme(mixed(color, theme.TEXT) if kind == HELD_OUT else color)
    earlier = kind == EARLIER
    with dpg.theme() as made, dpg.theme_component(dpg.mvLineSeries):
        shade = (*color, DIMMED if earlier else 255)
        dpg.add_theme_color(dpg.mvPlotCol_Line, shade, category=dpg.mvThemeCat_Plots)
        dpg.add_theme_style(dpg.mvPlotStyleVar_LineWeight, 1.2 if earlier else 2.0, category=dpg.mvThemeCat_Plots)
    return made


def _ring_theme(color: Rgb) -> Tag:
    """Rings, which stand out on a line. The legend's mark has the colour of the outline."""
    with dpg.theme() as made:
        for kind in (dpg.mvScatterSeries, dpg.mvLineSeries):
            with dpg.theme_component(kind):
                dpg.add_theme_color(dpg.mvPlotCol_Line, color, category=dpg.mvThemeCat_Plots)
                dpg.add_theme_color(dpg.mvPlotCol_MarkerFill, theme.BAR, category=dpg.mvThemeCat_Plots)
                dpg.add_theme_color(dpg.mvPlotCol_MarkerOutline, color, category=dpg.mvThemeCat_Plots)
                dpg.add_theme_style(dpg.mvPlotStyleVar_MarkerSize, 4.0, category=dpg.mvThemeCat_Plots)
                dpg.add_theme_style(dpg.mvPlotStyleVar_MarkerWeight, 1.8, category=dpg.mvThemeCat_Plots)
                dpg.add_theme_style(dpg.mvPlotStyleVar_Marker, dpg.mvPlotMarker_Circle, category=dpg.mvThemeCat_Plots)
    return made


def _plot_theme() -> Tag:
    with dpg.theme() as made, dpg.theme_component(dpg.mvPlot):
        colors = {
            "PlotBg": theme.BAR, "PlotBorder": theme.LINE, "FrameBg": (0, 0, 0, 0), "AxisGrid": theme.GRID, "AxisText": theme.DIM,
            "LegendBg": (*theme.PANEL, 200), "LegendBorder": theme.LINE, "LegendText": theme.TEXT, "InlayText": theme.DIM,
        }  # fmt: skip
        for name, color in colors.items():
            dpg.add_theme_color(getattr(dpg, f"mvPlotCol_{name}"), color, category=dpg.mvThemeCat_Plots)
        for name, value in {
            "PlotPadding": (4, 4), "LabelPadding": (5, 3), "PlotBorderSize": (1,), "LegendPadding": (6, 4),
            "LegendInnerPadding": (4, 2), "MousePosPadding": (6, 4),
        }.items():  # fmt: skip
            dpg.add_theme_style(getattr(dpg, f"mvPlotStyleVar_{name}"), *value, category=dpg.mvThemeCat_Plots)
    return made
