"""A plot that holds a drawing instead of series: the wheel zooms, the mouse pans, a double click shows all of it."""

from __future__ import annotations

from collections.abc import Sequence

from studio.view import theme
from studio.view.gui import Tag, dpg

HELD_FRAMES = 2  # fixed limits forbid zooming: they are let go once a frame has taken them


class PlotBox:
    """Draw into `layer` in the plot's units; call `sync` once a frame while it is seen. `invert`: y grows downwards."""

    def __init__(self, parent: Tag, invert: bool = False):
        self._size = (1.0, 1.0)
        self._held = 0
        self.plot: Tag = dpg.add_plot(
            parent=parent, width=-1, height=-1, no_title=True, no_menus=True, no_mouse_pos=True, no_box_select=True,
            no_frame=True,
        )  # fmt: skip
        self.x: Tag = dpg.add_plot_axis(dpg.mvXAxis, parent=self.plot, no_menus=True, no_highlight=True)
        self.y: Tag = dpg.add_plot_axis(dpg.mvYAxis, parent=self.plot, no_menus=True, no_highlight=True, invert=invert)
        self.layer: Tag = dpg.add_draw_layer(parent=self.plot)
        dpg.bind_item_theme(self.plot, _theme())

    def fit(self, width: float, height: float, ticks: Sequence[tuple[str, float]] = ()) -> None:
        """Show from (0, 0) to there, and never more. `ticks` of the y axis."""
        self._size = (max(width, 1e-9), max(height, 1e-9))
        if ticks:
            dpg.set_axis_ticks(self.y, tuple(ticks))
        dpg.set_axis_limits(self.x, 0, self._size[0])
        dpg.set_axis_limits(self.y, 0, self._size[1])
        self._held = HELD_FRAMES

    def resize(self, width: float) -> None:
        """Another width of all there is; who has zoomed in keeps what is seen."""
        (left, right), _ = self.seen
        if left <= 0 and right >= 0.999 * self._size[0]:
            self.fit(width, self._size[1])
        else:
            self._size = (max(width, 1e-9), self._size[1])
            dpg.set_axis_limits_constraints(self.x, 0, self._size[0])

    def sync(self) -> None:
        if self._held:
            self._held -= 1
            if not self._held:
                for axis, end in zip((self.x, self.y), self._size, strict=True):
                    dpg.set_axis_limits_auto(axis)
                    dpg.set_axis_limits_constraints(axis, 0, end)
        elif dpg.is_item_hovered(self.plot) and dpg.is_mouse_button_double_clicked(dpg.mvMouseButton_Left):
            self.fit(*self._size)

    @property
    def seen(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Limits of x and y now."""
        return tuple(dpg.get_axis_limits(self.x)), tuple(dpg.get_axis_limits(self.y))

    def units(self, pixels: float) -> tuple[float, float]:
        """How much of x and of y lies under so many pixels; near enough, axes' labels counted in."""
        (left, right), (low, high) = self.seen
        width, height = dpg.get_item_rect_size(self.plot)
        return pixels * (right - left) / max(width, 1.0), pixels * (high - low) / max(height, 1.0)


def _theme() -> Tag:
    with dpg.theme() as made, dpg.theme_component(dpg.mvPlot):
        colors = {
            "PlotBg": theme.BAR, "PlotBorder": theme.LINE, "FrameBg": (0, 0, 0, 0), "AxisGrid": theme.GRID, "AxisText": theme.DIM,
        }  # fmt: skip
        for name, color in colors.items():
            dpg.add_theme_color(getattr(dpg, f"mvPlotCol_{name}"), color, category=dpg.mvThemeCat_Plots)
        for name, value in {"PlotPadding": (2, 4), "LabelPadding": (6, 3), "PlotBorderSize": (1,)}.items():
            dpg.add_theme_style(getattr(dpg, f"mvPlotStyleVar_{name}"), *value, category=dpg.mvThemeCat_Plots)
    return made
