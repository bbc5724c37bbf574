"""The memory map: passes to the right, bytes upwards, one rectangle a value. Told under the mouse; a click selects the node."""

from __future__ import annotations

from munet import Session
from munet.inspect import MemoryPlan, PassView
from studio.cycle import after
from studio.figures import bytes_text
from studio.memorymap import KINDS, Map, Rect, figures, map_of, told
from studio.texts import text
from studio.view import theme
from studio.view.flow import Flow
from studio.view.gui import Tag, clear, dpg
from studio.view.machine import Machine
from studio.view.plotbox import PlotBox
from studio.view.plotmouse import PlotMouse

COLORS: dict[str, theme.Rgb] = {
    "activation": (59, 110, 180), "gradient": (176, 104, 58), "temporary": (98, 106, 122), "state": (46, 125, 90),
    "data": (126, 92, 176), "feed": (160, 140, 60),
}  # fmt: skip
PALETTE: tuple[theme.Rgb, ...] = (
    (59, 110, 180), (176, 104, 58), (46, 125, 90), (126, 92, 176), (170, 70, 90), (60, 140, 150), (150, 130, 50), (110, 120, 140),
    (90, 90, 190), (130, 150, 70), (180, 90, 140), (70, 150, 110),
)  # fmt: skip
AREAS = {"show_arena": ("temporary",), "show_states": ("state",), "show_all": ("temporary", "state", "data", "feed")}
SHADES = (1.0, 0.86, 1.12)
LIT: theme.Rgb = (255, 190, 92)
DIMMED = 110  # opacity of what is not of the selected nodes
LEAST_ROWS, ROW, LEAST_MAP = 2, 28, 170  # rows above the map in any case, and pixels at scale 1: of one, and of the rest
CHOICES = 2  # widgets above the map that always are there
ROOM, SWATCH = 26, 12  # pixels at scale 1: beside the widgets, and of a colour in the legend
GAP = 0.03  # of a pass, beside each rectangle
SLACK_PX = 3.0  # rectangles that are lower can still be pointed at


class Memory:
    """The plan is asked for once a session; rectangles are made once a plan and a choice of buffers."""

    def __init__(self, machine: Machine, parent: Tag):
        self._machine = machine
        self.plan: MemoryPlan | None = None
        self._passes: tuple[PassView, ...] = ()
        self.map = Map((), 1.0, 1.0, ())
        self._asked_for = -1
        self._seen: object = None
        self._drawn: object = None
        self._items: dict[int, Tag] = {}
        self._colors: list[theme.Rgb] = []
        self._lit: frozenset[int] = frozenset()
        self._area, self._by = "show_arena", "kind"
        self._parent = parent
        self._flow = Flow(parent)
        with dpg.group(parent=self._flow.cell()):
            labels = [text(f"memory.{name}") for name in AREAS]
            self.areas: Tag = dpg.add_combo(labels, default_value=labels[0], width=theme.px(110), callback=self._chose_area)
            theme.tip(self.areas, text("memory.areas_tip"))
        with dpg.group(parent=self._flow.cell()):
            ways = [text("memory.by_kind"), text("memory.by_node")]
            self._ways: Tag = dpg.add_combo(ways, default_value=ways[0], width=theme.px(136), callback=self._chose_way)
            theme.tip(self._ways, text("memory.ways_tip"))
        self.box = PlotBox(parent)
        self.mouse = PlotMouse(self.box.plot)

    def sync(self, now: float) -> None:
        trainer = self._machine.core.trainer
        if self._asked_for != trainer.session_version:
            self.plan = None
            if trainer.ask("memory", _read, self._take):
                self._asked_for = trainer.session_version
        self.box.sync()
        rows = (dpg.get_item_height(self._parent) - theme.px(LEAST_MAP)) // theme.px(ROW)
        self._flow.fit(dpg.get_item_width(self._parent) - theme.px(ROOM), max(LEAST_ROWS, rows))
        drawn = (self.plan, self._area, self._by, trainer.has_session)
        if drawn != self._drawn:
            self._drawn, self._seen = drawn, None
            self._draw()
        if self._machine.state != self._seen:
            self._seen = self._machine.state
            self._light()
        self.mouse.look()
        rect = self._under_mouse() if self.mouse.inside else None
        self.mouse.tell(told(rect.value, self.plan) if rect is not None and self.plan is not None else ())
        if self.mouse.clicked and rect is not None:
            self._machine.show([rect.value.node] if rect.value.node else ())

    def _take(self, found: tuple[MemoryPlan, tuple[PassView, ...]]) -> None:
        self.plan, self._passes = found

    # -- drawing -------------------------------------------------------------------------------------------------------

    def _draw(self) -> None:
        clear(self.box.layer)
        self._flow.cut(CHOICES)
        self._items.clear()
        self._lit = frozenset()
        plan = self.plan
        dpg.configure_item(self.box.plot, show=plan is not None)
        if plan is None:
            key = "memory.waits" if self._machine.core.trainer.has_session else "memory.no_session"
            dpg.add_text(text(key), parent=self._flow.cell(), color=theme.DIM)
            self.map = Map((), 1.0, 1.0, ())
            return
        self.map = map_of(plan, self._passes, AREAS[self._area])
        self._head(plan)
        names = sorted({rect.value.node for rect in self.map.rects})
        self._colors = []
        for number, rect in enumerate(self.map.rects):
            color = COLORS[rect.value.kind] if self._by == "kind" else PALETTE[names.index(rect.value.node) % len(PALETTE)]
            # Neighbours differ a little: borders would be as wide as the zoom makes them.
            self._colors.append(_shade(color, SHADES[number % len(SHADES)]))
            self._items[number] = dpg.draw_rectangle(
                (rect.left + GAP, rect.bottom), (rect.right - GAP, rect.top), color=(0, 0, 0, 0), fill=self._colors[-1],
                parent=self.box.layer,
            )  # fmt: skip
        for _, base, _ in self.map.bases[1:]:
            dpg.draw_line((0, base), (self.map.width, base), color=(*theme.DIM, 160), parent=self.box.layer)
        self.fit()

    def _head(self, plan: MemoryPlan) -> None:
        """What the colours mean, and figures as far as there is room: above the map, where they cover none of it."""
        shown = {rect.value.kind for rect in self.map.rects} if self._by == "kind" else set[str]()
        for kind in (kind for kind in KINDS if kind in shown):
            with dpg.group(parent=self._flow.cell(), horizontal=True, horizontal_spacing=theme.px(5)):
                with dpg.drawlist(width=theme.px(SWATCH), height=theme.px(SWATCH + 4)):
                    dpg.draw_rectangle(
                        (0, theme.px(4)), (theme.px(SWATCH), theme.px(SWATCH + 4)), color=COLORS[kind], fill=COLORS[kind]
                    )
                dpg.add_text(text(f"memory.{kind}"))
        for name, value in figures(plan):
            with dpg.group(parent=self._flow.cell(), horizontal=True):
                dpg.add_text(name, color=theme.DIM)
                dpg.add_text(value)

    def fit(self) -> None:
        """All of the map, also after zooming."""
        height = max(self.map.height, 1.0)
        self.box.fit(self.map.width, height, [(bytes_text(height * part / 4), height * part / 4) for part in range(5)])

    def _light(self) -> None:
        """The values of the selected nodes stand out."""
        paths = self._machine.paths
        inside = tuple(f"{path}/" for path in paths)
        lit = frozenset(
            number for number, rect in enumerate(self.map.rects)
            if rect.value.node and (rect.value.node in paths or rect.value.node.startswith(inside))
        )  # fmt: skip
        if bool(lit) != bool(self._lit):
            changed = frozenset(self._items)  # the others step back, or come forward again
        else:
            changed = lit ^ self._lit
        for number in changed:
            fill = LIT if number in lit else (*self._colors[number], DIMMED if lit else 255)
            dpg.configure_item(self._items[number], fill=fill)
        self._lit = lit

    @property
    def lit(self) -> frozenset[str]:
        """The nodes whose values are lit."""
        return frozenset(self.map.rects[number].value.node for number in self._lit)

    # -- mouse ---------------------------------------------------------------------------------------------------------

    def _under_mouse(self) -> Rect | None:
        return self.map.at(self.mouse.at[0], self.mouse.at[1], self.box.units(SLACK_PX)[1])

    def next_area(self) -> None:
        """Results, states, all."""
        self._area = after(self._area, tuple(AREAS))
        dpg.set_value(self.areas, text(f"memory.{self._area}"))

    def next_way(self) -> None:
        """Colours by kind or by node."""
        self._by = after(self._by, ("kind", "node"))
        dpg.set_value(self._ways, text(f"memory.by_{self._by}"))

    def _chose_area(self, sender: Tag, label: str) -> None:
        self._area = next(name for name in AREAS if text(f"memory.{name}") == label)

    def _chose_way(self, sender: Tag, label: str) -> None:
        self._by = "kind" if label == text("memory.by_kind") else "node"


def _shade(color: theme.Rgb, by: float) -> theme.Rgb:
    red, green, blue = (min(255, round(part * by)) for part in color)
    return red, green, blue


def _read(session: Session) -> tuple[MemoryPlan, tuple[PassView, ...]]:
    return session.memory_plan, session.passes
