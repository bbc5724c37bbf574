"""One plot of curves: lines, points of evaluations, dimmed lines of earlier runs. Follows the newest step until it is zoomed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from studio.colors import Rgb
from studio.plotlines import EARLIER, HELD_OUT, Curve, drawn
from studio.view import theme
from studio.view.gui import Tag, dpg

DRAG_PX = 5.0
DIMMED = 110
LEGEND_FROM = (240, 110)  # width and height of a plot that has room for one, at scale 1


class Chart:
    """`zoomed` is called when the person zooms or pans, `fitted` when he double clicks, which shows everything again.

    `rises`: what it shows ends high more often than low, and the legend lies below it.
    """

    def __init__(self, parent: Tag, zoomed: Callable[[], None], fitted: Callable[[], None], *, rises: bool = False):
        self._zoomed, self._fitted = zoomed, fitted
        self.plot: Tag = dpg.add_plot(
            parent=parent, width=-1, height=-1, no_title=True, no_menus=True, no_mouse_pos=False, crosshairs=False,
        )  # fmt: skip
        place = dpg.mvPlot_Location_SouthEast if rises else dpg.mvPlot_Location_NorthEast
        self._legend: Tag = dpg.add_plot_legend(parent=self.plot, location=place)
        self._x: Tag = dpg.add_plot_axis(dpg.mvXAxis, parent=self.plot, no_menus=True, tick_format="%g")
        self._y: Tag = dpg.add_plot_axis(dpg.mvYAxis, parent=self.plot, no_menus=True, tick_format="%.3g")
        dpg.bind_item_theme(self.plot, _plot_theme())
        self._lines: dict[str, tuple[Tag, str, object]] = {}
        self._themes: dict[tuple[str, Rgb, bool], Tag] = {}
        self._order: tuple[str, ...] = ()
        self._log, self._roomy = False, True

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
            self._order = order
            theme.dress(self.plot, "".join(curve.name for curve in curves))  # runs may be named in any letters
        for curve in curves:
            self._show(curve, log)
        if follow and curves:
            self.fit()

    def _show(self, curve: Curve, log: bool) -> None:
        made = self._lines.get(curve.key)
        mark = (len(curve.steps), curve.steps[-1] if curve.steps else 0, id(curve.values), log)
        if made is not None and made[2] == mark and made[1] == curve.name and curve.kind == EARLIER:
            return
        data = drawn(curve, log)
        if made is not None:
            dpg.set_value(made[0], list(data))
            self._dress(made[0], curve, len(data[0]))
            self._lines[curve.key] = (made[0], curve.name, mark)
            return
        add = dpg.add_scatter_series if curve.kind == HELD_OUT else dpg.add_line_series
        tag = add(*data, label=curve.name, parent=self._y)
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
        """The legend is left out where it would hide the curves."""
        dpg.configure_item(self.plot, width=width)
        roomy = width > theme.px(LEGEND_FROM[0]) and height > theme.px(LEGEND_FROM[1])
        if roomy != self._roomy:
            self._roomy = roomy
            dpg.configure_item(self._legend, show=roomy)

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
        return _ring_theme(color)
    earlier = kind == EARLIER
    with dpg.theme() as made, dpg.theme_component(dpg.mvLineSeries):
        shade = (*color, DIMMED if earlier else 255)
        dpg.add_theme_color(dpg.mvPlotCol_Line, shade, category=dpg.mvThemeCat_Plots)
        dpg.add_theme_style(dpg.mvPlotStyleVar_LineWeight, 1.2 if earlier else 2.0, category=dpg.mvThemeCat_Plots)
    return made


def _ring_theme(color: Rgb) -> Tag:
    """Points with a light middle, which stand out on a line of their colour.

    The legend's mark has the colour of the outline, so that must be the curve's.
    """
    with dpg.theme() as made:
        for kind in (dpg.mvScatterSeries, dpg.mvLineSeries):
            with dpg.theme_component(kind):
                dpg.add_theme_color(dpg.mvPlotCol_Line, color, category=dpg.mvThemeCat_Plots)
                dpg.add_theme_color(dpg.mvPlotCol_MarkerFill, theme.TEXT, category=dpg.mvThemeCat_Plots)
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
