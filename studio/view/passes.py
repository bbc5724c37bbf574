"""The pass list: what the device runs in a step, as a table that sorts by any column. Linked with the canvas both ways.

Rows are made once a program; new times only change their words, and sorting only their order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from studio.cycle import after
from studio.figures import bytes_text, three, us_text
from studio.icons import labelled
from studio.passrows import BY_NAME, COLUMNS, PassRow, passes_of_nodes, rows_of, sorted_rows
from studio.texts import text
from studio.view import theme
from studio.view.gui import Tag, clear, dpg
from studio.view.machine import Machine

BAR_HEIGHT, SCROLLBAR = 15, 12  # pixels at scale 1
WIDTH_OF_FIGURES = {"us": 6, "gb_s": 6, "gflop_s": 6, "read": 7, "written": 7, "grid": 5, "level": 3}


@dataclass
class _Row:
    """The items of a row."""

    tag: Tag
    selectable: Tag
    cells: dict[str, Tag] = field(default_factory=dict)


class Passes:
    """Rows of the selected nodes are marked, the first of them is scrolled into sight; a click selects a row's nodes."""

    def __init__(self, machine: Machine, parent: Tag):
        self._machine, self._core = machine, machine.core
        self._passes_seen: object = None
        self._times_seen: object = None
        self._selection_seen: object = None
        self._sort = ("index", False)
        self._rows: dict[int, _Row] = {}
        self._shown: tuple[PassRow, ...] = ()
        self._table: Tag = 0
        self._columns: dict[Tag, str] = {}
        self._clicked = False
        self._share, self._limit = theme.bar_theme(theme.BLUE), theme.bar_theme((46, 125, 90))
        with dpg.group(parent=parent, horizontal=True):
            self.measure: Tag = dpg.add_button(label=labelled("clock", text("view.measure")), callback=self._measure)
            theme.tip(self.measure, text("passes.tip_measure"))
            self._total: Tag = dpg.add_text("")
            self._rest: Tag = dpg.add_text("", color=theme.DIM)
            with dpg.tooltip(self._rest, delay=0.4):
                self._limits_tip: Tag = dpg.add_text(text("passes.tip_limit"), wrap=theme.px(340))
        self._box: Tag = dpg.add_child_window(parent=parent, border=False)
        dpg.bind_item_theme(self._box, theme.list_theme())

    # -- for tests -----------------------------------------------------------------------------------------------------

    def row(self, index: int) -> Tag:
        """What is clicked for a pass."""
        return self._rows[index].selectable

    def cell_at(self, index: int, column: str) -> tuple[float, float]:
        x, y = dpg.get_item_rect_min(self._rows[index].cells[column])
        return x, y

    @property
    def scrolled(self) -> float:
        return float(dpg.get_y_scroll(self._table))

    @property
    def order(self) -> tuple[int, ...]:
        """The passes from the top down."""
        return tuple(row.view.index for row in self._shown)

    @property
    def marked(self) -> frozenset[int]:
        return frozenset(index for index, row in self._rows.items() if dpg.get_value(row.selectable))

    # -- drawing -------------------------------------------------------------------------------------------------------

    def sync(self, now: float) -> None:
        trainer = self._core.trainer
        passes = trainer.passes
        if passes is not self._passes_seen:
            self._passes_seen, self._times_seen, self._selection_seen = passes, None, None
            self._build()
        if trainer.timings is not None and passes:
            self._machine.ask_limits()
        if self._table and self._inner_width != dpg.get_item_configuration(self._table)["inner_width"]:
            dpg.configure_item(self._table, inner_width=self._inner_width)
        times = (trainer.timings, self._machine.limits)
        if times != self._times_seen:
            self._times_seen = times
            self._fill()
        selection = (self._machine.state, len(self._rows))
        if selection != self._selection_seen:
            self._selection_seen = selection
            self._mark()

    @property
    def _inner_width(self) -> int:
        """As wide as the panel; where that is too narrow to read, the table is scrolled across."""
        room = int(dpg.get_item_rect_size(self._box)[0]) - theme.px(SCROLLBAR)
        return max(room, theme.px(sum(column.weight for column in COLUMNS)))

    def _build(self) -> None:
        clear(self._box)
        self._table = 0
        self._rows.clear()
        self._columns.clear()
        self._shown = ()
        passes = self._core.trainer.passes
        if not passes:
            return
        with dpg.table(
            parent=self._box, header_row=True, row_background=True, borders_innerH=True, resizable=True, sortable=True,
            policy=dpg.mvTable_SizingStretchProp, scrollY=True, scrollX=True, freeze_rows=1, inner_width=self._inner_width,
            callback=self._sorted, no_pad_outerX=True,
            no_saved_settings=True,
        ) as self._table:  # fmt: skip
            for column in COLUMNS:
                tag = dpg.add_table_column(
                    label=text(f"passes.{column.name}"), init_width_or_weight=column.weight, no_reorder=True,
                    prefer_sort_descending=column.numeric and column.name not in ("index", "level"),
                    default_sort=column.name == "index", prefer_sort_ascending=column.name in ("index", "level"),
                )  # fmt: skip
                self._columns[tag] = column.name
            for row in rows_of(passes, None, None):
                self._rows[row.view.index] = self._add(row)

    def _add(self, row: PassRow) -> _Row:
        mono = theme.load_mono()
        with dpg.table_row() as tag:
            choose = partial(self._choose, row)
            made = _Row(tag, dpg.add_selectable(label=f"{row.view.index:>3}", span_columns=True, callback=choose))
            if mono is not None:
                dpg.bind_item_font(made.selectable, mono)
            for column in COLUMNS[1:]:
                if column.bar:
                    cell = dpg.add_progress_bar(width=-1, height=BAR_HEIGHT, show=False)
                    dpg.bind_item_theme(cell, self._share if column.name == "share" else self._limit)
                else:
                    cell = dpg.add_text("", color=theme.TEXT if column.name in ("nodes", "us") else theme.DIM)
                    if column.numeric and mono is not None:
                        dpg.bind_item_font(cell, mono)
                made.cells[column.name] = cell
        with dpg.tooltip(made.selectable, delay=0.5):
            dpg.add_text(row.view.name, wrap=theme.px(420))
            dpg.add_text(row.view.reason, wrap=theme.px(420), color=theme.DIM)
        return made

    def _fill(self) -> None:
        trainer, limits = self._core.trainer, self._machine.limits
        self._shown = rows_of(trainer.passes, trainer.timings, limits)
        for row in self._shown:
            made = self._rows[row.view.index]
            for name, cell in made.cells.items():
                column, words = BY_NAME[name], BY_NAME[name].words(row)
                if column.bar:
                    share = row.share if name == "share" else row.limit or 0.0
                    dpg.set_value(cell, min(share, 1.0))
                    dpg.configure_item(cell, overlay=words, show=bool(words))
                else:
                    dpg.set_value(cell, words.rjust(WIDTH_OF_FIGURES.get(name, 0)) if column.numeric else words)
                    if not column.numeric:
                        theme.dress(cell, words)
        self._arrange()
        if not trainer.passes:
            dpg.set_value(self._total, text("view.no_passes"))
            dpg.set_value(self._rest, "")
            return
        levels = 1 + max(p.level for p in trainer.passes)
        parts = [text("passes.total", passes=len(trainer.passes), levels=levels)]
        timings = trainer.timings
        if timings is not None:
            parts.append(text("passes.serialised", time=us_text(timings.serialised_us)))
            step = timings.step_us or timings.levels_us
            if step:
                parts.append(text("passes.as_run", time=us_text(step)))
        dpg.set_value(self._total, "   ".join(parts))
        rest = [text("passes.moved", bytes=bytes_text(sum(row.bytes_moved for row in self._shown)))]
        if limits is not None:
            rest.append(text("passes.device", copy=three(limits.copy_gb_s), compute=three(limits.gflop_s)))
            tip = text("passes.tip_device", start=us_text(limits.pass_us))
            dpg.set_value(self._limits_tip, f"{tip}\n\n{text('passes.tip_limit')}")
        dpg.set_value(self._rest, "   ".join(rest))

    # -- order ---------------------------------------------------------------------------------------------------------

    def _sorted(self, sender: Tag, specs: Any) -> None:
        """A header was clicked; `specs`: pairs of a column and 1 or -1, None for no order."""
        column, way = specs[0] if specs else (next(iter(self._columns)), 1)
        self._sort = (self._columns.get(column, "index"), way < 0)
        self._arrange()

    def sort_next(self) -> None:
        """By time, by the share of the limit, in running order."""
        ways = (("index", False), ("us", True), ("limit", True))
        self._sort = after(self._sort, ways)
        self._arrange()

    def step(self, by: int) -> None:
        """Choose the next pass of the list as it is sorted."""
        order = self.order or tuple(view.index for view in self._core.trainer.passes)
        chosen = self._machine.pass_
        index = after(-1 if chosen is None else chosen, order, by)
        self._machine.choose(index, self._core.trainer.passes[index].nodes)

    def _arrange(self) -> None:
        if not self._shown:
            return
        self._shown = sorted_rows(self._shown, *self._sort)
        dpg.reorder_items(self._table, 1, [self._rows[row.view.index].tag for row in self._shown])

    # -- links with the canvas -----------------------------------------------------------------------------------------

    def _measure(self) -> None:
        self._core.trainer.measure()

    def _choose(self, row: PassRow) -> None:
        self._clicked = True
        self._machine.choose(row.view.index, row.view.nodes)

    def _mark(self) -> None:
        chosen = self._machine.pass_
        found = passes_of_nodes(self._core.trainer.passes, self._machine.paths)
        for index, made in self._rows.items():
            dpg.set_value(made.selectable, index == chosen if chosen is not None else index in found)
        clicked, self._clicked = self._clicked, False
        if (found or chosen is not None) and not clicked:
            looked_for = found if chosen is None else {chosen}
            first = next((place for place, row in enumerate(self._shown) if row.view.index in looked_for), 0)
            dpg.set_y_scroll(self._table, first * self._row_height)

    @property
    def _row_height(self) -> float:
        tags = [self._rows[row.view.index].selectable for row in self._shown[:2]]
        tops = [dpg.get_item_rect_min(tag)[1] for tag in tags]
        return tops[1] - tops[0] if len(tops) > 1 and tops[1] > tops[0] else 22.0
