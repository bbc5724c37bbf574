"""What a step would be without fusion, beside what it is: figures, ops of the selected nodes, the passes they went into."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from munet import Session
from munet.inspect import PassView, Unfused, UnfusedOp
from studio.figures import bytes_text
from studio.fusion import Figure, Group, figures, groups, went
from studio.texts import label, text
from studio.view import theme
from studio.view.gui import Tag, clear, dpg
from studio.view.machine import Machine

FIGURES_SHARE, OPS_SHARE = 0.32, 0.41  # of the panel's width; the passes take the rest
LEAST, LEAST_OPS, LEAST_RIGHT = 240, 312, 190  # pixels at scale 1; a panel that is narrower is scrolled across
MOST_ROWS = 400  # of ops; a selection of more than that is cut off, and said so
LIST: dict[str, Any] = {
    "header_row": False, "row_background": True, "borders_innerH": True, "no_pad_outerX": True,
    "policy": dpg.mvTable_SizingStretchProp,
}  # fmt: skip


class Fusion:
    """The unfused program is compiled on the worker's thread, once a session and only when somebody looks."""

    def __init__(self, machine: Machine, parent: Tag):
        self._machine = machine
        self.found: Unfused | None = None
        self._passes: tuple[PassView, ...] = ()
        self._asked_for = -1
        self._figures_seen: tuple[object, ...] | None = None
        self._lists_seen: object = None
        self._room = 0.0
        self.ops: list[tuple[UnfusedOp, Tag]] = []
        self.nodes: list[tuple[Group, Tag]] = []
        self.passes: dict[int, Tag] = {}
        self._hint: Tag = dpg.add_text(text("fusion.none"), parent=parent, color=theme.DIM)
        box: Tag = dpg.add_child_window(parent=parent, border=False, horizontal_scrollbar=True)
        self._columns: Tag = dpg.add_group(parent=box, horizontal=True, show=False)
        self._figures: Tag = dpg.add_child_window(parent=self._columns, border=False)
        self._ops: Tag = dpg.add_child_window(parent=self._columns, border=True)
        self._right: Tag = dpg.add_child_window(parent=self._columns, border=True)
        self._forward, self._backward = theme.text_theme(theme.TEXT), theme.text_theme((226, 158, 112))
        for box in (self._ops, self._right):
            dpg.bind_item_theme(box, theme.list_theme())

    def sync(self, now: float) -> None:
        trainer = self._machine.core.trainer
        if self._asked_for != trainer.session_version:
            self.found = None
            if trainer.ask("unfused", _read, self._take):
                self._asked_for = trainer.session_version
        if self.found is not None:
            self._machine.ask_limits()
        figures_ = (self.found, self._machine.limits, trainer.timings)
        if figures_ != self._figures_seen:
            if self._figures_seen is None or self.found is not self._figures_seen[0]:
                self._lists_seen = None
            self._figures_seen = figures_
            self._show_figures()
        lists = self._machine.state
        if lists != self._lists_seen:
            self._lists_seen = lists
            self._show_lists()
        room = dpg.get_item_rect_size(dpg.get_item_parent(self._columns))[0]
        if room != self._room:
            self._room = room
            figures_, ops = max(room * FIGURES_SHARE, theme.px(LEAST)), max(room * OPS_SHARE, theme.px(LEAST_OPS))
            dpg.configure_item(self._figures, width=int(figures_))
            dpg.configure_item(self._ops, width=int(ops))
            dpg.configure_item(self._right, width=int(max(room - figures_ - ops - theme.px(14), theme.px(LEAST_RIGHT))))

    def _take(self, found: tuple[Unfused, tuple[PassView, ...]]) -> None:
        self.found, self._passes = found

    # -- figures -------------------------------------------------------------------------------------------------------

    def _show_figures(self) -> None:
        clear(self._figures)
        dpg.configure_item(self._columns, show=self.found is not None)
        dpg.configure_item(self._hint, show=self.found is None)
        if self.found is None:
            return
        lines = figures(self.found, self._passes, self._machine.limits, self._machine.core.trainer.timings)
        with dpg.table(
            parent=self._figures, policy=dpg.mvTable_SizingStretchProp, borders_innerH=True, no_pad_outerX=True, header_row=False,
        ):  # fmt: skip
            for weight in (1.35, 0.95, 0.95, 0.65):
                dpg.add_table_column(init_width_or_weight=weight)
            with dpg.table_row():
                for words in ("", text("fusion.without"), text("fusion.fused"), text("fusion.less")):
                    dpg.add_text(words, color=theme.DIM)
            for line in lines:
                self._add_figure(line)

    def _add_figure(self, line: Figure) -> None:
        with dpg.table_row():
            name = dpg.add_text(line.name, color=theme.DIM)
            if line.name == text("fusion.time"):
                theme.tip(name, text("fusion.tip_time"))
            dpg.add_text(line.without)
            dpg.add_text(line.fused, color=theme.HEADING)
            dpg.add_text(line.gain, color=theme.GOOD if line.is_less else theme.HOT)

    # -- lists ---------------------------------------------------------------------------------------------------------

    def _show_lists(self) -> None:
        clear(self._ops)
        clear(self._right)
        self.ops, self.nodes, self.passes = [], [], {}
        if self.found is None:
            return
        paths, chosen = self._machine.paths, self._machine.pass_
        if chosen is not None:
            self._list_ops(self.found.of_pass(chosen), text("fusion.one_pass", index=chosen))
            self._list_passes((chosen,))
        elif paths and (shown := groups(self.found, paths)):
            whose = next(iter(paths)) if len(paths) == 1 else text("fusion.selection", count=len(paths))
            self._list_ops([op for group in shown for op in group.ops], whose)
            self._list_passes({index for group in shown for index in group.passes}, whose)
        else:
            self._list_nodes(groups(self.found))
            self._list_passes(())

    def _list_nodes(self, shown: tuple[Group, ...]) -> None:
        dpg.add_text(text("fusion.ops", count=self._op_count), parent=self._ops, color=theme.DIM)
        with dpg.table(parent=self._ops, **LIST):
            for weight in (1.6, 0.5, 0.8, 1.1):
                dpg.add_table_column(init_width_or_weight=weight)
            for group in shown:
                with dpg.table_row():
                    show = partial(self._machine.show, (group.node,))
                    words = group.node or text("fusion.no_node")
                    row = dpg.add_selectable(label=label(words), span_columns=True, callback=show)
                    self.nodes.append((group, theme.dress(row, words)))
                    dpg.add_text(f"{len(group.ops)}", color=theme.DIM)
                    dpg.add_text(bytes_text(group.bytes_moved), color=theme.DIM)
                    dpg.add_text(_passes(group.passes), color=theme.DIM)

    @property
    def _op_count(self) -> int:
        return sum(len(group.ops) for group in groups(self.found)) if self.found is not None else 0

    def _list_ops(self, ops: Iterable[UnfusedOp], whose: str) -> None:
        ops = list(ops)
        words = text("fusion.ops_of", name=whose, count=len(ops), total=self._op_count)
        theme.dress(dpg.add_text(words, parent=self._ops, color=theme.DIM, wrap=0), words)
        with dpg.table(parent=self._ops, **LIST):
            dpg.add_table_column(init_width_or_weight=1.0)
            for _ in range(3):  # as wide as what is in them: a shape that is cut off tells nothing
                dpg.add_table_column(width_fixed=True)
            for op in ops[:MOST_ROWS]:
                with dpg.table_row():
                    row = dpg.add_selectable(label=op.operator, span_columns=True, callback=partial(self._follow, op))
                    dpg.bind_item_theme(row, self._backward if op.backward else self._forward)
                    self.ops.append((op, row))
                    dpg.add_text("×".join(map(str, op.shape)) or "1", color=theme.DIM)
                    dpg.add_text(bytes_text(op.bytes_moved), color=theme.DIM)
                    dpg.add_text(went(op), color=theme.TEXT if op.passes else (104, 112, 126))
                    with dpg.tooltip(row, delay=0.3):
                        whose = op.node or text("fusion.no_node")
                        dpg.add_text(f"{op.operator}  ·  {text('fusion.backward', node=whose) if op.backward else whose}")
                        dpg.add_text(f"{op.dtype} [{', '.join(map(str, op.shape))}]", color=theme.DIM)
                        dpg.add_text(went(op) if op.passes else text("fusion.tip_gone"), color=theme.DIM)
        if len(ops) > MOST_ROWS:
            dpg.add_text(text("memory.more", count=len(ops) - MOST_ROWS), parent=self._ops, color=theme.DIM)

    def _list_passes(self, marked: Iterable[int], whose: str = "") -> None:
        marked = frozenset(marked)
        words = text("fusion.into_of" if whose else "fusion.into", name=whose, count=len(self._passes), marked=len(marked))
        theme.dress(dpg.add_text(words, parent=self._right, color=theme.DIM, wrap=0), words)
        with dpg.table(parent=self._right, **LIST):
            dpg.add_table_column(width_fixed=True)
            dpg.add_table_column(init_width_or_weight=1.0)
            dpg.add_table_column(width_fixed=True)
            for view in sorted(self._passes, key=lambda p: (p.index not in marked, p.index)):
                with dpg.table_row():
                    choose = partial(self._machine.choose, view.index, view.nodes)
                    row = dpg.add_selectable(label=str(view.index), span_columns=True, callback=choose)
                    dpg.set_value(row, view.index in marked)
                    self.passes[view.index] = row
                    names = ", ".join(view.nodes) or view.name
                    theme.dress(dpg.add_text(names, color=theme.TEXT if view.index in marked or not marked else theme.DIM), names)
                    dpg.add_text(bytes_text(view.bytes_read + view.bytes_written), color=theme.DIM)
                with dpg.tooltip(row, delay=0.3):
                    theme.dress(dpg.add_text(names, wrap=theme.px(420)), names)
                    dpg.add_text(view.name, wrap=theme.px(420), color=theme.DIM)

    def _follow(self, op: UnfusedOp) -> None:
        """Mark where an op went."""
        for other, row in self.ops:
            dpg.set_value(row, other is op)
        for index, row in self.passes.items():
            dpg.set_value(row, index in op.passes)


def _passes(indices: tuple[int, ...]) -> str:
    """Numbers of passes, short: "3", "3, 5", "3, 5, … 9"."""
    if len(indices) <= 3:
        return ", ".join(map(str, indices))
    return f"{indices[0]}, {indices[1]}, … {indices[-1]}"


def _read(session: Session) -> tuple[Unfused, tuple[PassView, ...]]:
    return session.unfused(), session.passes
