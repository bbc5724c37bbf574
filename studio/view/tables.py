"""The lists below the canvas: problems, and the passes that the device runs. Rows jump to their nodes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from munet import Problem
from munet.inspect import PassView
from studio.document import selected
from studio.texts import text
from studio.view import theme
from studio.view.core import Core
from studio.view.gui import Tag, clear, dpg

COLUMNS = ("pass", "level", "nodes", "kernel", "grid", "µs", "GB/s", "GFLOP/s")


class Problems:
    """What is wrong, then remarks; a click shows the node."""

    def __init__(self, core: Core, parent: Tag, retitle: Callable[[str], None]):
        self._core, self._retitle = core, retitle
        self._seen: object = None
        self._next = 0
        self.rows: list[Tag] = []
        self._box: Tag = dpg.add_child_window(parent=parent, border=False)
        dpg.bind_item_theme(self._box, theme.list_theme())

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
        self._retitle(text("view.problems", count=wrong) if wrong else text("panel.problems"))
        if not self.all:
            dpg.add_text(text("view.all_fine"), parent=self._box, color=theme.GOOD)
        for place, problem in enumerate(self.all):
            with dpg.group(parent=self._box, horizontal=True):
                color = theme.ERROR if place < wrong else theme.HOT
                dpg.add_text("●", color=color)
                where = f"{problem.node}: " if problem.node else ""
                self.rows.append(dpg.add_selectable(label=f"{where}{problem.found}", callback=partial(self._go, problem.node)))
                with dpg.tooltip(self.rows[-1], delay=0.2):
                    dpg.add_text(str(problem), wrap=460)

    def next(self) -> None:
        """Show the next problem's node."""
        named = [problem for problem in self.all if problem.node]
        if named:
            self._go(named[self._next % len(named)].node)
            self._next += 1

    def _go(self, path: str) -> None:
        show_node(self._core, path)


class Passes:
    """The pass list; rows of the selected nodes are marked, a click selects the nodes of a row."""

    def __init__(self, core: Core, parent: Tag):
        self._core = core
        self._seen = -1
        self._marked: object = None
        self._rows: dict[int, tuple[Tag, PassView]] = {}
        with dpg.group(parent=parent, horizontal=True):
            dpg.add_button(label=text("view.measure"), callback=lambda: core.trainer.measure())
            self._total: Tag = dpg.add_text("", color=theme.DIM)
        self._box: Tag = dpg.add_child_window(parent=parent, border=False)
        dpg.bind_item_theme(self._box, theme.list_theme())

    def sync(self, now: float) -> None:
        if self._core.trainer.passes_version != self._seen:
            self._seen = self._core.trainer.passes_version
            self._rebuild()
            self._marked = None
        chosen = frozenset(map(self._core.document.state.path_of, self._core.document.selection.nodes))
        if chosen != self._marked:
            self._marked = chosen
            for row, view in self._rows.values():
                dpg.set_value(row, bool(chosen & set(view.nodes)))

    def _rebuild(self) -> None:
        clear(self._box)
        self._rows.clear()
        core = self._core
        timed = {p.index: p for p in core.trainer.timings.passes} if core.trainer.timings is not None else {}
        total = text("view.passes_total", count=len(core.trainer.passes)) if core.trainer.passes else text("view.no_passes")
        if core.trainer.timings is not None:
            total += f", {core.trainer.timings.serialised_us / 1000:.3g} ms"
        dpg.set_value(self._total, total)
        if not core.trainer.passes:
            return
        with dpg.table(
            parent=self._box, header_row=True, row_background=True, borders_innerH=True, resizable=True,
            policy=dpg.mvTable_SizingStretchProp, scrollY=True, freeze_rows=1,
        ):  # fmt: skip
            for name, weight in zip(COLUMNS, (0.4, 0.4, 2.2, 1.6, 0.8, 0.6, 0.6, 0.7), strict=True):
                dpg.add_table_column(label=name, init_width_or_weight=weight)
            for view in core.trainer.passes:
                found = timed.get(view.index)
                us = found.us if found is not None else 0.0
                with dpg.table_row():
                    row = dpg.add_selectable(label=str(view.index), span_columns=True, callback=partial(self._select, view))
                    self._rows[view.index] = row, view
                    dpg.add_text(str(view.level))
                    dpg.add_text(", ".join(view.nodes) or "-")
                    variant = "" if view.variant == "generated" else f" / {view.variant}"
                    dpg.add_text(f"{view.kernel}{variant}", color=theme.DIM)
                    dpg.add_text("×".join(map(str, view.grid)), color=theme.DIM)
                    moved = view.bytes_read + view.bytes_written
                    for words in (f"{us:.1f}", f"{moved / us / 1e3:.2f}", f"{view.flops / us / 1e3:.2f}") if us else ("", "", ""):
                        dpg.add_text(words)

    def _select(self, view: PassView) -> None:
        document = self._core.document
        inside = [node for node in document.part.nodes if document.state.path_of(node) in view.nodes]
        if inside:
            document.select(selected(inside))
            rect = self._core.scene.bounds_of(inside)
            if rect is not None:
                self._core.camera.show(rect)
        elif view.nodes:
            show_node(self._core, view.nodes[0])


def show_node(core: Core, path: str) -> None:
    """Select the node at a path and bring it into sight."""
    id_ = core.document.go_to(path) if path else ""
    core.refresh()
    rect = core.scene.bounds_of([id_]) if id_ else None
    if rect is not None:
        core.camera.show(rect)
