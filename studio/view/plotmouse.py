"""The mouse over a plot that is zoomed and panned by its own means: where it is, whether it clicked, and a tip beside it."""

from __future__ import annotations

from collections.abc import Sequence

from studio.view import theme
from studio.view.gui import FLOATING, Tag, dpg

CLICK_PX = 4.0  # a press that moves farther is a drag


class PlotMouse:
    """Call `look` once a frame while the plot is seen, then `tell`."""

    def __init__(self, plot: Tag):
        self._plot = plot
        self.inside = False
        self.at = (0.0, 0.0)  # in the plot's units
        self.clicked = False
        self._pressed: tuple[float, float] | None = None
        self._told: tuple[str, ...] = ()
        with dpg.window(
            show=False, no_title_bar=True, no_resize=True, no_move=True, autosize=True, no_focus_on_appearing=True,
            min_size=(20, 20), **FLOATING,
        ) as self._tip:  # fmt: skip
            self._lines: Tag = dpg.add_group()

    def look(self) -> None:
        self.inside = bool(dpg.is_item_hovered(self._plot))
        self.clicked = False
        if not self.inside:
            self._pressed = None
            return
        self.at = tuple(dpg.get_plot_mouse_pos())
        x, y = dpg.get_mouse_pos(local=False)
        if dpg.is_mouse_button_clicked(dpg.mvMouseButton_Left):
            self._pressed = x, y
        elif dpg.is_mouse_button_released(dpg.mvMouseButton_Left) and self._pressed is not None:
            self.clicked = abs(x - self._pressed[0]) + abs(y - self._pressed[1]) < CLICK_PX
            self._pressed = None

    def tell(self, lines: Sequence[str]) -> None:
        """Show these lines beside the mouse, the first as a head; none: hide the tip."""
        told = tuple(lines) if self.inside else ()
        if told != self._told:
            self._told = told
            dpg.delete_item(self._lines, children_only=True)
            for words, color in ((told[0], theme.TEXT), ("\n".join(told[1:]), theme.DIM)) if told else ():
                theme.dress(dpg.add_text(words, parent=self._lines, color=color, wrap=theme.px(460)), words)
            dpg.configure_item(self._tip, show=bool(told))
        if told:
            x, y = dpg.get_mouse_pos(local=False)
            width, height = dpg.get_item_rect_size(self._tip)
            left = min(x + 16, dpg.get_viewport_client_width() - width - 8)
            top = y + 18 if y + 18 + height < dpg.get_viewport_client_height() else y - height - 10
            dpg.configure_item(self._tip, pos=[max(0, left), max(0, top)])

    @property
    def told(self) -> tuple[str, ...]:
        """What the tip says now."""
        return self._told
