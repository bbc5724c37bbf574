"""Where the time of a step goes, along real time: levels as they really run, below them each pass as timed alone, by phase."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from munet import MunetError
from munet.inspect import Timings
from studio.figures import bytes_text, percent_text, us_text
from studio.icons import labelled
from studio.texts import text
from studio.timeline import LANES, Bar, Timeline, timeline_of
from studio.view import theme
from studio.view.gui import Tag, clear, dpg
from studio.view.machine import Machine
from studio.view.plotbox import PlotBox
from studio.view.plotmouse import PlotMouse

COLORS: dict[str, tuple[theme.Rgb, theme.Rgb]] = {  # neighbours differ a little, so that narrow bars can be told apart
    "levels": ((86, 94, 112), (70, 77, 93)),
    "forward": ((59, 110, 180), (48, 92, 154)),
    "backward": ((176, 104, 58), (150, 88, 48)),
    "update": ((46, 125, 90), (38, 106, 76)),
}
LIT: theme.Rgb = (200, 134, 48)
DIMMED = 130  # opacity of what the selected nodes have no part in
BAR_HALF = 0.38  # of a lane
SLACK_PX = 3.0
LABEL_PX = 46.0  # a bar that is wider carries its nodes' names
LETTER_PX = 7.0


class TimelinePanel:
    """`ask_file(then)` asks where to write the trace."""

    def __init__(self, machine: Machine, parent: Tag, ask_file: Callable[[Callable[[Path], None]], None]):
        self._machine, self._ask_file = machine, ask_file
        self.timeline = Timeline((), 0.0)
        self._timings: Timings | None = None
        self._unit = 1.0  # µs of the x axis's unit
        self._drawn: object = None
        self._seen: object = None
        self._labelled: object = None
        self._items: list[Tag] = []
        self._colors: list[theme.Rgb] = []
        self._labels: list[Tag] = []
        self._lit: frozenset[int] = frozenset()
        with dpg.group(parent=parent, horizontal=True):
            measure: Tag = dpg.add_button(label=labelled("clock", text("view.measure")), callback=self._measure)
            theme.tip(measure, text("passes.tip_measure"))
            label = labelled("download", text("timeline.export"))
            self.export: Tag = dpg.add_button(label=label, callback=self.ask_export, show=False)
            theme.tip(self.export, text("timeline.tip_export"))
            self._total: Tag = dpg.add_text(text("timeline.none"), color=theme.DIM)
        self.box = PlotBox(parent, invert=True)
        dpg.configure_item(self.box.plot, show=False)
        self.mouse = PlotMouse(self.box.plot)

    def sync(self, now: float) -> None:
        timings = self._machine.core.trainer.timings
        if timings is not self._drawn:
            self._drawn, self._seen = timings, None
            self._draw(timings)
        self.box.sync()
        if self._machine.state != self._seen:
            self._seen = self._machine.state
            self._light()
        if (self.box.seen, self._drawn) != self._labelled:
            self._labelled = self.box.seen, self._drawn
            self._label()
        self.mouse.look()
        bar = self._under_mouse() if self.mouse.inside else None
        self.mouse.tell(self._told(bar) if bar is not None else ())
        if self.mouse.clicked and bar is not None:
            self._machine.choose(None if bar.lane == "levels" else bar.index, bar.nodes)

    # -- drawing -------------------------------------------------------------------------------------------------------

    def _draw(self, timings: Timings | None) -> None:
        """Of other times; what was zoomed to stays where the passes are the same."""
        before, self._timings = self.timeline, timings
        clear(self.box.layer)
        self._items, self._colors, self._labels, self._lit = [], [], [], frozenset()
        self.timeline = timeline_of(timings) if timings is not None else Timeline((), 0.0)
        dpg.configure_item(self.box.plot, show=timings is not None)
        dpg.configure_item(self.export, show=timings is not None)
        if timings is None:
            dpg.set_value(self._total, text("timeline.none"))
            return
        levels, passes = us_text(timings.levels_us), us_text(timings.serialised_us)
        dpg.set_value(self._total, text("timeline.total", levels=levels, passes=passes))
        same = len(before.bars) == len(self.timeline.bars)  # another measurement of what one is looking at
        if not same:
            self._unit = 1000.0 if self.timeline.end > 5000.0 else 1.0
        dpg.configure_item(self.box.x, tick_format="%g ms" if self._unit > 1.0 else "%g µs")
        seen: dict[str, int] = {}
        for bar in self.timeline.bars:
            seen[bar.lane] = seen.get(bar.lane, 0) + 1
            y = LANES.index(bar.lane) + 0.5
            color = COLORS[bar.lane][seen[bar.lane] % 2]
            corners = (bar.start / self._unit, y - BAR_HALF), (bar.end / self._unit, y + BAR_HALF)
            self._colors.append(color)
            self._items.append(dpg.draw_rectangle(*corners, color=(0, 0, 0, 0), fill=color, parent=self.box.layer))
        if same:
            self.box.resize(self.end)
        else:
            ticks = [(text(f"timeline.{lane}"), place + 0.5) for place, lane in enumerate(LANES)]
            self.box.fit(self.end, len(LANES), ticks)

    def _label(self) -> None:
        """Names of nodes upon the bars that are wide enough for them now."""
        for label in self._labels:
            dpg.delete_item(label)
        self._labels.clear()
        (left, right), _ = self.box.seen
        unit, height = self.box.units(1.0)
        if unit <= 0 or height <= 0:  # not drawn yet
            return
        size = 14.5 * dpg.get_global_font_scale()
        for bar in self.timeline.bars:
            start, end = max(bar.start / self._unit, left), min(bar.end / self._unit, right)
            room = (end - start) / unit
            if room < LABEL_PX:
                continue
            words = bar.name if bar.lane == "levels" else ", ".join(bar.nodes) or bar.name
            words = words[: int((room - 10) / LETTER_PX)]
            at = (start + 5 * unit, LANES.index(bar.lane) + 0.5 - 0.5 * size * height)
            label = dpg.draw_text(at, words, size=size * unit, color=theme.HEADING, parent=self.box.layer)
            theme.dress(label, words)
            self._labels.append(label)

    def _light(self) -> None:
        """What the selected nodes take part in stands out."""
        paths, chosen = self._machine.paths, self._machine.pass_
        inside = tuple(f"{path}/" for path in paths)

        def is_lit(bar: Bar) -> bool:
            if chosen is not None and bar.lane != "levels":
                return bar.index == chosen
            return any(node in paths or node.startswith(inside) for node in bar.nodes)

        lit = frozenset(number for number, bar in enumerate(self.timeline.bars) if bar.lane != "levels" and is_lit(bar))
        changed = frozenset(range(len(self._items))) if bool(lit) != bool(self._lit) else lit ^ self._lit
        for number in changed:
            fill = LIT if number in lit else (*self._colors[number], DIMMED if lit else 255)
            dpg.configure_item(self._items[number], fill=fill)
        self._lit = lit

    @property
    def end(self) -> float:
        """Of the longest lane, in units of the x axis."""
        return self.timeline.end / self._unit

    def middle(self, bar: Bar) -> tuple[float, float]:
        """Of a bar, in the plot's units."""
        return (bar.start + bar.end) / 2 / self._unit, LANES.index(bar.lane) + 0.5

    @property
    def lit(self) -> frozenset[int]:
        """The passes that are lit."""
        return frozenset(self.timeline.bars[number].index for number in self._lit)

    # -- mouse ---------------------------------------------------------------------------------------------------------

    def _under_mouse(self) -> Bar | None:
        x, lane = self.mouse.at
        if not 0 <= lane < len(LANES):
            return None
        return self.timeline.near(x * self._unit, LANES[int(lane)], self.box.units(SLACK_PX)[0] * self._unit)

    def _told(self, bar: Bar) -> tuple[str, ...]:
        share = percent_text(bar.us / self.timeline.end) if self.timeline.end else ""
        nodes = ", ".join(bar.nodes)
        if bar.lane == "levels" or self._timings is None:
            return text("timeline.level", index=bar.index), f"{us_text(bar.us)}  {share}", nodes
        timed = self._timings.passes[bar.index]
        title = text("timeline.bar", index=bar.index, name=bar.name)
        place = f"{text(f'timeline.{bar.lane}')}, {text('timeline.level', index=timed.level)}"
        return title, f"{us_text(bar.us)}  {share}   {bytes_text(timed.bytes_moved)}", place, nodes

    def _measure(self) -> None:
        self._machine.core.trainer.measure()

    def ask_export(self) -> None:
        """Where to write the times as a trace."""
        timings = self._machine.core.trainer.timings
        if timings is None:
            self._machine.core.say(text("timeline.none"), error=True)
        if timings is not None:
            self._ask_file(lambda path: self._write(timings, path))

    def _write(self, timings: Timings, path: Path) -> None:
        try:
            timings.write_trace(path)
        except MunetError as error:
            self._machine.core.say(str(error), error=True)
            return
        self._machine.core.say(text("timeline.written", name=path.name))
