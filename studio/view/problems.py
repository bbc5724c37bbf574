"""What is wrong with the drawing, worst first, then remarks. A click shows the node, the mouse over a row tells rule and cure."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from munet import Problem
from studio.icons import icon
from studio.keys import shortcuts
from studio.texts import label, text
from studio.view import theme
from studio.view.core import Core
from studio.view.gui import Tag, clear, dpg
from studio.view.machine import show_node


class Problems:
    """The status line has their number, a button that brings the panel to the front by `show`.

    The tab keeps its title: a docked window of Dear PyGui leaves its dock when its label changes.
    """

    def __init__(self, core: Core, parent: Tag, status: Tag, show: Callable[[], None]):
        self._core = core
        self._seen: object = None
        self._next = 0
        self.rows: list[Tag] = []
        self._box: Tag = dpg.add_child_window(parent=parent, border=False)
        dpg.bind_item_theme(self._box, theme.list_theme())
        self.badge: Tag = dpg.add_button(show=False, parent=status, callback=show)
        theme.tip(self.badge, text("view.badge_tip", press=(shortcuts(core.preferences.keys).get("next_problem") or ("-",))[0]))
        self._red, self._amber = theme.text_theme(theme.ERROR, (5, 0)), theme.text_theme(theme.HOT, (5, 0))

    @property
    def all(self) -> tuple[Problem, ...]:
        found = self._core.findings
        return (*self._core.trainer.problems, *found.problems, *found.remarks)

    def sync(self) -> None:
        now = (self._core.findings_version, self._core.trainer.problems)
        if now == self._seen:
            return
        self._seen = now
        clear(self._box)
        self.rows.clear()
        wrong = len(self._core.trainer.problems) + len(self._core.findings.problems)
        number, kind = (wrong, "error") if wrong else (len(self._core.findings.remarks), "warning")
        dpg.configure_item(self.badge, label=f"{icon(kind)} {number}", show=number > 0)
        dpg.bind_item_theme(self.badge, self._red if wrong else self._amber)
        if not self.all:
            with dpg.group(parent=self._box, horizontal=True):
                dpg.add_text(icon("good"), color=theme.GOOD)
                dpg.add_text(text("view.all_fine"), color=theme.DIM)
            return
        with dpg.table(
            parent=self._box, header_row=False, row_background=True, borders_innerH=True, policy=dpg.mvTable_SizingStretchProp,
            no_pad_outerX=True,
        ):  # fmt: skip
            dpg.add_table_column(width_fixed=True, init_width_or_weight=theme.px(20))
            for weight in (1.1, 2.6, 2.2):
                dpg.add_table_column(init_width_or_weight=weight)
            for place, problem in enumerate(self.all):
                self._add_row(problem, place < wrong)

    def _add_row(self, problem: Problem, is_error: bool) -> None:
        with dpg.table_row():
            dpg.add_text(icon("error" if is_error else "warning"), color=theme.ERROR if is_error else theme.HOT)
            where = f"{problem.node}.{problem.socket}" if problem.node and problem.socket else problem.node or problem.file
            row = dpg.add_selectable(label=label(where or "-"), span_columns=True, callback=partial(self._go, problem.node))
            theme.dress(row, where or "")
            self.rows.append(row)
            with dpg.tooltip(row, delay=0.15):
                _tell(problem, is_error)
            theme.dress(dpg.add_text(problem.found), problem.found)
            cure = text("problems.cure", cure=problem.cure) if problem.cure else problem.rule
            theme.dress(dpg.add_text(cure, color=theme.DIM), cure)

    def next(self) -> None:
        """Show the next problem's node."""
        named = [problem for problem in self.all if problem.node]
        if named:
            self._go(named[self._next % len(named)].node)
            self._next += 1

    def _go(self, path: str) -> None:
        for row, problem in zip(self.rows, self.all, strict=False):
            dpg.set_value(row, bool(path) and problem.node == path)
        show_node(self._core, path)


def _tell(problem: Problem, is_error: bool) -> None:
    """Into the open tooltip."""
    with dpg.group(horizontal=True):
        color = theme.ERROR if is_error else theme.HOT
        dpg.add_text(icon("error" if is_error else "warning"), color=color)
        head = problem.node or text("problems.error" if is_error else "problems.remark")
        theme.dress(dpg.add_text(head, color=color), head)
    theme.dress(dpg.add_text(problem.found, wrap=theme.px(460)), problem.found)
    if problem.rule:
        dpg.add_text(text("problems.rule", rule=problem.rule), wrap=theme.px(460), color=theme.DIM)
    if problem.cure:
        dpg.add_text(text("problems.cure", cure=problem.cure), wrap=theme.px(460), color=theme.GOOD)
