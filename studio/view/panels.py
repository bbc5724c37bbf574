"""The panels: what there is, where each lies at first, which are shown. Docked windows that a person may move, stack and hide.

The layout is a file of Dear ImGui beside the preferences; it names windows by their numbers, so a number is never given anew.
To add a panel: a row in PANELS, its title in `english.json`, its class in `app.py`.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path

from munet import ProjectError, read_file, write_file
from studio.preferences import preferences_file
from studio.texts import text
from studio.view import imgui, theme
from studio.view.gui import Tag, clear, dpg

FIRST = 1_000_000_000  # Dear PyGui counts its own items from 1 and would run into small numbers
STATUS_HEIGHT = 26
MAX_BYTES = 2**20
LEFT_WIDTH, RIGHT_WIDTH = 190, 318  # of the first layout, at scale 1
SIDES, LOWEST = 0.6, 0.5  # of the window: columns at the sides and lists below take no more
# Dock nodes of the first layout, as Dear ImGui writes them. {w}, {h}: pixels of the window.
NODES = """[Docking][Data]
DockSpace     ID=0x08BD597D Window=0x1BBC0F80 Pos=0,22 Size={w},{h} Split=Y
  DockNode    ID=0x00000010 Parent=0x08BD597D SizeRef={w},{inner} Split=X
    DockNode  ID=0x00000001 Parent=0x00000010 SizeRef={left},{inner} NoWindowMenuButton=1
    DockNode  ID=0x00000011 Parent=0x00000010 SizeRef={rest},{inner} Split=X
      DockNode ID=0x00000012 Parent=0x00000011 SizeRef={middle},{inner} Split=Y
        DockNode ID=0x00000002 Parent=0x00000012 SizeRef={middle},{upper} CentralNode=1 NoWindowMenuButton=1
        DockNode ID=0x00000003 Parent=0x00000012 SizeRef={middle},{lower} NoWindowMenuButton=1
      DockNode ID=0x00000013 Parent=0x00000011 SizeRef={right},{inner} Split=Y
        DockNode ID=0x00000004 Parent=0x00000013 SizeRef={right},{right_upper} NoWindowMenuButton=1
        DockNode ID=0x00000005 Parent=0x00000013 SizeRef={right},{right_lower} NoWindowMenuButton=1
  DockNode    ID=0x00000006 Parent=0x08BD597D SizeRef={w},{status} NoTabBar=1 NoResize=1
"""
# Where the middle is narrow, the lists below take the left column's width too: their tabs need it.
NARROW, WIDE_NODES = (
    560,
    """[Docking][Data]
DockSpace     ID=0x08BD597D Window=0x1BBC0F80 Pos=0,22 Size={w},{h} Split=Y
  DockNode    ID=0x00000010 Parent=0x08BD597D SizeRef={w},{inner} Split=X
    DockNode  ID=0x00000011 Parent=0x00000010 SizeRef={wide},{inner} Split=Y
      DockNode ID=0x00000012 Parent=0x00000011 SizeRef={wide},{upper} Split=X
        DockNode ID=0x00000001 Parent=0x00000012 SizeRef={left},{upper} NoWindowMenuButton=1
        DockNode ID=0x00000002 Parent=0x00000012 SizeRef={middle},{upper} CentralNode=1 NoWindowMenuButton=1
      DockNode ID=0x00000003 Parent=0x00000011 SizeRef={wide},{lower} NoWindowMenuButton=1
    DockNode  ID=0x00000013 Parent=0x00000010 SizeRef={right},{inner} Split=Y
      DockNode ID=0x00000004 Parent=0x00000013 SizeRef={right},{right_upper} NoWindowMenuButton=1
      DockNode ID=0x00000005 Parent=0x00000013 SizeRef={right},{right_lower} NoWindowMenuButton=1
  DockNode    ID=0x00000006 Parent=0x08BD597D SizeRef={w},{status} NoTabBar=1 NoResize=1
""",
)
NODE = re.compile(r"ID=0x(\w{8}) Parent=0x(\w{8}) SizeRef=(\d+),(\d+)")
SAME_PX = 4  # by which lengths of equal layouts may differ: Dear ImGui rounds
FRONT_FRAMES = 2  # after a layout was loaded, until tabs can be brought to the front
LEFT, RIGHT, LOWER = "00000001", "00000013", "00000003"
LENGTHS = {LEFT: 0, RIGHT: 0, LOWER: 1, "00000004": 1}  # what a person may have drawn: 0 a width, 1 a height
PLACES = {"left": 1, "center": 2, "below": 3, "upper": 4, "lower": 5, "status": 6}


@dataclass(frozen=True)
class Panel:
    """`number` names the panel in layout files; `place` is a key of PLACES; `bare`: no room around what it holds."""

    name: str
    number: int
    place: str
    bare: bool = False
    hidden: bool = False  # at first

    @property
    def tag(self) -> int:
        return FIRST + self.number

    @property
    def title(self) -> str:
        return text(f"panel.{self.name}")


PANELS = (
    Panel("nodes", 1, "left"),
    Panel("graph", 2, "center", bare=True),
    Panel("shaders", 40, "center"),
    Panel("inspector", 3, "upper"),
    Panel("preview", 20, "upper"),
    Panel("tensor", 21, "upper"),
    Panel("device", 52, "upper"),
    Panel("training", 4, "lower"),
    Panel("plots", 53, "below"),
    Panel("problems", 5, "below"),
    Panel("passes", 6, "below"),
    Panel("code", 30, "below"),
    Panel("memory", 31, "below"),
    Panel("timeline", 32, "below"),
    Panel("fusion", 33, "below"),
    Panel("runs", 50, "below"),
    Panel("log", 51, "below"),
    Panel("status", 7, "status"),
)
BY_NAME = {panel.name: panel for panel in PANELS}
FIXED = ("graph", "status")  # cannot be hidden
FRONTS = ("inspector", "plots", "graph")  # of panels in one place, those in front at first; the last one has the keyboard


def layout_file() -> Path:
    return preferences_file().with_name("layout.ini")


class Panels:
    """Call `prepare` before the viewport is made, `build` to make the windows; then panels are filled by `box(name)`."""

    def __init__(self, path: Path | None = None):
        self._path = path or layout_file()
        self._forgotten = False
        self._relaid = ""  # the layout that panels are to have in some frames
        self._to_front = 0  # frames until the first panel of each place comes to the front
        self._short = 1.0  # of the width that the columns at the sides should have, what they got for want of room

    def prepare(self, size: tuple[int, int], scale: float) -> None:
        """Turn docking on with the person's layout, or with the first one if there is none that fits."""
        known = self._read()
        if any(f"[Window][###{panel.tag}]" not in known for panel in PANELS):
            self.reset(size, scale)
        dpg.configure_app(docking=True, docking_space=True, init_file=str(self._path))

    def reset(self, size: tuple[int, int], scale: float) -> None:
        """The first layout, from the next start on. A folder that cannot be written leaves everything in one heap, but usable."""
        with contextlib.suppress(ProjectError, OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_file(self._path, first_layout(size, scale).encode())

    def build(self) -> None:
        """Make the windows, or empty those that there are: a docked window that is made anew is not docked."""
        bare, low = theme.padded_theme(0, 0), theme.padded_theme(8, 4)
        for panel in PANELS:
            fixed = panel.name in FIXED
            if dpg.does_item_exist(panel.tag):
                clear(panel.tag)
            else:
                dpg.add_window(
                    tag=panel.tag, label=panel.title, no_close=True, show=not panel.hidden, no_collapse=True,
                    no_scrollbar=fixed, no_scroll_with_mouse=fixed,
                )  # fmt: skip
            if panel.bare:
                dpg.bind_item_theme(panel.tag, bare)
            elif panel.name == "status":
                dpg.bind_item_theme(panel.tag, low)

    def retitle(self, before: float, scale: float) -> None:
        """Titles of another language, and room as another scale needs it; call `lay_again` some frames later.

        A docked window leaves its dock when its title changes: where it cannot be put back, titles stay until the next start.
        """
        self.save(scale)
        self._relaid = self._read()
        size = window_size()
        if scale != before and is_like(self._relaid, first_layout(size, before)):
            self._relaid, self._short = with_fronts(first_layout(size, scale), self._relaid), 1.0
        elif scale != before:
            wished = scale / before / self._short  # what a small window did not give before it may give now
            self._relaid, grown = rescaled(self._relaid, size, wished)
            self._short = grown / wished
        for panel in PANELS if imgui.is_there() else ():
            if dpg.get_item_label(panel.tag) != panel.title:
                dpg.set_item_label(panel.tag, panel.title)

    def lay_again(self) -> None:
        """As the panels lay before."""
        imgui.load_layout(self._relaid)

    def box(self, name: str) -> Tag:
        return BY_NAME[name].tag

    def holds(self, item: Tag) -> bool:
        """Whether it is the window of a panel."""
        return any(panel.tag == item for panel in PANELS)

    def is_seen(self, name: str) -> bool:
        """Whether the panel is shown and its tab is in front."""
        return bool(dpg.is_item_shown(self.box(name)) and dpg.is_item_visible(self.box(name)))

    def show(self, name: str) -> None:
        """Bring a panel to the front."""
        dpg.show_item(self.box(name))
        dpg.focus_item(self.box(name))

    def toggle(self, name: str) -> None:
        if dpg.is_item_shown(self.box(name)):
            dpg.hide_item(self.box(name))
        else:
            self.show(name)

    def lay_as_first(self, scale: float) -> bool:
        """The first layout, with all panels shown; whether at once. If not, it is that of the next start."""
        for panel in PANELS:
            dpg.configure_item(panel.tag, show=not panel.hidden)
        if imgui.load_layout(first_layout(window_size(), scale)):
            self._short, self._to_front = 1.0, FRONT_FRAMES
            return True
        self._forgotten = True
        return False

    def sync(self) -> None:
        """Once a frame."""
        if not self._to_front:
            return
        self._to_front -= 1
        if not self._to_front:
            for name in FRONTS:
                self.show(name)

    def save(self, scale: float) -> None:
        """Remember how panels lie, the status line as high as the scale needs it."""
        if self._forgotten:
            self.reset(window_size(), scale)
            return
        dpg.save_init_file(str(self._path))
        known = self._read()
        if known:
            with contextlib.suppress(ProjectError):
                write_file(self._path, with_status(known, scale).encode())

    def _read(self) -> str:
        try:
            return read_file(self._path, MAX_BYTES).decode(errors="replace")
        except ProjectError:
            return ""


def window_size() -> tuple[int, int]:
    return dpg.get_viewport_client_width(), dpg.get_viewport_client_height()


def with_status(layout: str, scale: float) -> str:
    """A layout file whose status line has the height for a scale."""
    return re.sub(r"(ID=0x00000006 .*SizeRef=\d+),\d+", rf"\g<1>,{round(STATUS_HEIGHT * scale)}", layout)


def rescaled(layout: str, size: tuple[int, int], factor: float) -> tuple[str, float]:
    """A layout file for another scale, larger by `factor`: the columns at the sides and the lists below grow with their texts,
    as far as there is room; with it, what the columns really grew by."""
    found = {node: re.search(rf"ID=0x{node} .*?SizeRef=(\d+),(\d+)", layout) for node in (LEFT, RIGHT, LOWER)}
    widths = {node: int(match[1]) for node, match in found.items() if match and node != LOWER}
    grown = min(factor, SIDES * size[0] / max(1, sum(widths.values())))
    for node, width in widths.items():
        layout = re.sub(rf"(ID=0x{node} .*?SizeRef=)\d+", rf"\g<1>{round(width * grown)}", layout)
    if lower := found[LOWER]:
        height = round(min(int(lower[2]) * factor, LOWEST * size[1]))
        layout = re.sub(rf"(ID=0x{LOWER} .*?SizeRef=\d+),\d+", rf"\g<1>,{height}", layout)
    return layout, grown


def is_like(layout: str, other: str) -> bool:
    """Whether panels lie in the same places, at the same sizes; their order and which are in front do not count."""
    nodes, others = ({match[1]: match for match in NODE.finditer(of)} for of in (layout, other))
    places, elsewhere = (sorted(re.findall(r"\[###(\d+)\][^\[]*?DockId=(0x\w{8})", of)) for of in (layout, other))
    if places != elsewhere or {id_: node[2] for id_, node in nodes.items()} != {id_: node[2] for id_, node in others.items()}:
        return False
    return all(abs(int(nodes[id_][3 + way]) - int(others[id_][3 + way])) <= SAME_PX for id_, way in LENGTHS.items())


def with_fronts(layout: str, other: str) -> str:
    """The layout with the tabs in front that are so in another one."""
    for node, tab in re.findall(r"ID=0x(\w{8}) [^\n]*?Selected=(0x\w{8})", other):
        layout = re.sub(rf"(ID=0x{node} [^\n]*?)( Selected=0x\w{{8}})?\n", rf"\g<1> Selected={tab}\n", layout)
    return layout


def first_layout(size: tuple[int, int], scale: float) -> str:
    """The layout file of a window of that size: tools left, the graph in the middle, lists below it, training on the right."""
    width, height = size
    sides = min(scale, SIDES * width / (LEFT_WIDTH + RIGHT_WIDTH))
    left, right, status = round(LEFT_WIDTH * sides), round(RIGHT_WIDTH * sides), round(STATUS_HEIGHT * scale)
    inner = height - 22 - status
    lower = round(min(0.32 * inner, 240 * scale))
    upper = round(0.42 * inner)
    numbers = {
        "w": width, "h": height - 22, "inner": inner, "left": left, "right": right, "rest": width - left,
        "middle": width - left - right, "wide": width - right, "upper": inner - lower, "lower": lower, "right_upper": upper,
        "right_lower": inner - upper, "status": status,
    }  # fmt: skip
    order: dict[str, int] = {}
    windows: list[str] = []
    for panel in PANELS:
        at = order[panel.place] = order.get(panel.place, -1) + 1
        windows.append(f"[Window][###{panel.tag}]\nCollapsed=0\nDockId=0x{PLACES[panel.place]:08X},{at}\n")
    nodes = WIDE_NODES if numbers["middle"] < NARROW * scale else NODES
    return "\n".join(windows) + "\n" + nodes.format(**numbers)
