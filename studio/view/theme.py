"""Colours, fonts and styles of the window: dark, one accent for what is selected."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

from studio import fonts, texts
from studio.colors import (  # noqa: F401  # by these names the window's modules know them
    ACCENT,
    BAR,
    BLUE,
    BODY,
    DIM,
    EDGE,
    ERROR,
    ERROR_BACK,
    GOOD,
    GOOD_BACK,
    GRID,
    HEADING,
    HOT,
    HOT_BACK,
    HOVER,
    INPUT,
    LINE,
    PANEL,
    TEXT,
    Rgb,
)
from studio.fontmerge import with_letters
from studio.view import imgui
from studio.view.gui import Tag, dpg

FONT_SIZE = 15
MONO_SIZE = 16  # Dear ImGui counts ascent and descent, which are taller here: letters are as high as the others at 15
_applied: dict[str, Any] = {"scale": 1.0, "theme": 0}
_fonts: dict[str, Tag] = {}  # "ui", "mono" and "cjk", of the window that there is
_translated: set[str] = set()  # letters of the language in use that the font of the texts has got from one of the system
_sized: dict[Tag, dict[str, float]] = {}  # items whose lengths follow the scale, with those lengths at scale 1
_tips: deque[tuple[Tag, Tag]] = deque()  # widgets and their tooltips
TIPS_A_FRAME = 8
_swept_at = [256]  # so many of them may there be before those that were deleted are let go
_loaded: dict[tuple[Path, int], Tag] = {}  # all that were ever loaded: a font that texts may still use is not deleted
# Of the tabs of docked windows, by Dear ImGui's names.
TABS: dict[str, Rgb] = {
    "WindowBg": PANEL, "TitleBg": BAR, "TitleBgActive": BAR, "TitleBgCollapsed": BAR, "Tab": BAR, "TabHovered": (60, 66, 78),
    "TabSelected": (52, 57, 68), "TabSelectedOverline": ACCENT, "TabDimmed": BAR, "TabDimmedSelected": (38, 42, 50),
    "Text": TEXT, "Border": LINE, "Separator": LINE, "SeparatorHovered": BLUE, "SeparatorActive": ACCENT,
    "DockingEmptyBg": PANEL, "DockingPreview": BLUE, "Button": BAR, "ButtonHovered": (60, 66, 78), "ButtonActive": BLUE,
    "MenuBarBg": BAR,
}  # fmt: skip


def begin() -> None:
    """A new window: no font is loaded, and nothing has a size."""
    _loaded.clear()
    _sized.clear()
    _tips.clear()


def color_tabs() -> None:
    """Once the window is there. Where Dear ImGui cannot be reached, tabs keep the colours they have."""
    imgui.set_colors(TABS)


def is_fonts(item: Tag) -> bool:
    """Whether an item holds fonts, which stay as long as the window: texts may use them still."""
    return any(dpg.get_item_parent(font) == item for font in _loaded.values())


def load_font(cjk: str = "") -> Tag | None:
    """Load the window's fonts; gives the one for all texts. `cjk`: a file for Chinese, Japanese and Korean letters, instead of
    the system's. None, and Dear PyGui's own font, if the installation lacks the file."""
    _fonts.clear()
    _applied.update(scale=1.0, theme=0)
    more, letters = fonts.find_cjk(cjk), texts.foreign_letters()
    _translated.clear()
    _translated.update(letter for letter in letters if fonts.needs_cjk(letter))
    files = {"cjk": more}
    for name, file in (("ui", fonts.bundled(fonts.UI)), ("mono", fonts.bundled(fonts.MONO))):
        files[name] = with_letters(file, letters, more) if letters and file.is_file() else file
    for name, file in files.items():
        if file is not None and file.is_file():
            _fonts[name] = _font(file, MONO_SIZE if name == "mono" else FONT_SIZE)
    return _fonts.get("ui")


def _font(file: Path, size: int) -> Tag:
    known = _loaded.get((file, size))
    if known is None:
        with dpg.font_registry():
            known = _loaded[file, size] = dpg.add_font(str(file), size)
    return known


def load_mono() -> Tag | None:
    """The font of even width, for code and numbers in columns: `dpg.bind_item_font(item, theme.load_mono())`."""
    return _fonts.get("mono")


def font_for(words: str) -> Tag | None:
    """The font that has all letters of a text; None where the window's own is as good as any."""
    return _fonts.get("cjk") if fonts.needs_cjk("".join(set(words) - _translated)) else None


def dress(item: Tag, words: str) -> Tag:
    """Give a widget the font that its words need; gives the widget."""
    font = font_for(words)
    if font is not None:
        dpg.bind_item_font(item, font)
    return item


def redress(item: Tag, words: str) -> None:
    """As `dress`, for a widget whose words change: the window's own font is given back as well."""
    dpg.bind_item_font(item, font_for(words) or 0)


def shortened(words: str, room: float) -> str:
    """A text, or its end after dots: as much as fits into so many pixels at scale 1."""
    size = dpg.get_text_size(words)  # which knows nothing of the scale
    if not size or size[0] <= 0:  # before the first frame
        return words
    return words if size[0] <= room else "…" + words[-max(1, int(len(words) * room / size[0]) - 2) :]


def cut(words: str, room: float) -> str:
    """A text, or its beginning and dots: as much as fits into so many pixels."""
    size = dpg.get_text_size(words, font=font_for(words) or 0)  # which knows nothing of the scale
    width = size[0] * dpg.get_global_font_scale() if size else 0.0
    if width <= max(room, 1.0):  # or not known: before the first frame
        return words
    return words[: max(1, int(len(words) * max(room, 1.0) / width) - 2)] + "…"


def tip(item: Tag, words: str) -> None:
    """A tooltip, after a moment."""
    with dpg.tooltip(item, delay=0.4, show=dpg.get_item_configuration(item)["show"]) as made:
        dress(sized(dpg.add_text(words), wrap=340), words)
    _tips.append((item, made))


def sync_tips() -> None:
    """Once a frame, for a few of them: hide those of widgets that are hidden, which would come up at the widgets before them."""
    for _ in range(min(TIPS_A_FRAME, len(_tips))):
        item, made = _tips.popleft()
        if dpg.does_item_exist(item) and dpg.does_item_exist(made):
            dpg.configure_item(made, show=dpg.is_item_shown(item))
            _tips.append((item, made))


def sized(item: Tag, **lengths: float) -> Tag:
    """Give a widget lengths (width, height, wrap) that follow the scale, as they are at scale 1; gives the widget."""
    _sized[item] = lengths
    dpg.configure_item(item, **{name: px(length) for name, length in lengths.items()})
    if len(_sized) > _swept_at[0]:
        _sweep()
        _swept_at[0] = max(256, 2 * len(_sized))
    return item


def _sweep() -> None:
    for item in [item for item in _sized if not dpg.does_item_exist(item)]:
        del _sized[item]


def px(length: float) -> int:
    """A length at scale 1 as pixels at the scale of now."""
    return round(length * _applied["scale"])


def scale() -> float:
    """The scale of now: what was built with `px` before it changed has to be built anew."""
    return _applied["scale"]


def apply(scale: float) -> None:
    """Colours and spacing of everything, and the size of all texts; may be called again with another scale."""
    colors: dict[str, Any] = {
        "WindowBg": PANEL, "ChildBg": PANEL, "PopupBg": (30, 33, 39), "MenuBarBg": BAR, "Text": TEXT, "TextDisabled": DIM,
        "Border": LINE, "FrameBg": INPUT, "FrameBgHovered": HOVER, "FrameBgActive": HOVER, "Button": (45, 49, 58),
        "ButtonHovered": (60, 66, 78), "ButtonActive": BLUE, "Header": (45, 49, 58), "HeaderHovered": (55, 60, 72),
        "HeaderActive": BLUE, "Tab": BAR, "TabHovered": HOVER, "TabActive": (45, 49, 58), "CheckMark": ACCENT,
        "SliderGrab": BLUE, "SliderGrabActive": ACCENT, "TitleBg": BAR, "TitleBgActive": BAR, "ScrollbarBg": PANEL,
        "ScrollbarGrab": (60, 66, 78), "TableHeaderBg": BAR, "TableRowBgAlt": (29, 32, 38), "TableBorderLight": (38, 42, 50),
        "TextSelectedBg": BLUE,
    }  # fmt: skip
    styles = {
        "FrameRounding": (4, 4), "WindowRounding": (5, 5), "PopupRounding": (5, 5), "FramePadding": (7, 4),
        "ItemSpacing": (7, 5), "WindowPadding": (8, 8), "GrabRounding": (4, 4), "ScrollbarSize": (11, 11),
    }  # fmt: skip
    with dpg.theme() as theme, dpg.theme_component(dpg.mvAll):
        for name, color in colors.items():
            dpg.add_theme_color(getattr(dpg, f"mvThemeCol_{name}"), color)
        for name, (x, y) in styles.items():
            if name in ("FramePadding", "ItemSpacing", "WindowPadding"):
                dpg.add_theme_style(getattr(dpg, f"mvStyleVar_{name}"), x * scale, y * scale)
            else:
                dpg.add_theme_style(getattr(dpg, f"mvStyleVar_{name}"), x * scale)
    with dpg.theme_component(dpg.mvAll, parent=theme):
        dpg.add_theme_style(dpg.mvPlotStyleVar_PlotMinSize, 60, 60, category=dpg.mvThemeCat_Plots)
    for kind in (dpg.mvCheckbox, dpg.mvRadioButton):  # an empty one must be seen
        with dpg.theme_component(kind, parent=theme):
            dpg.add_theme_color(dpg.mvThemeCol_FrameBg, LINE)
            dpg.add_theme_color(dpg.mvThemeCol_FrameBgHovered, (76, 83, 97))
    with dpg.theme_component(dpg.mvButton, enabled_state=False, parent=theme):
        dpg.add_theme_color(dpg.mvThemeCol_Text, (88, 94, 106))
        for name in ("Button", "ButtonHovered", "ButtonActive"):
            dpg.add_theme_color(getattr(dpg, f"mvThemeCol_{name}"), (32, 35, 42))
    dpg.bind_theme(theme)
    dpg.set_global_font_scale(scale)
    if _applied["theme"] and dpg.does_item_exist(_applied["theme"]):
        dpg.delete_item(_applied["theme"])
    _applied.update(scale=scale, theme=theme)
    _sweep()
    for item, lengths in _sized.items():
        dpg.configure_item(item, **{name: px(length) for name, length in lengths.items()})


def canvas_theme() -> Tag:
    """Of the plot that the canvas is drawn in."""
    with dpg.theme() as theme, dpg.theme_component(dpg.mvPlot):
        for name, color in (("PlotBg", PANEL), ("PlotBorder", (0, 0, 0, 0)), ("AxisGrid", GRID)):
            dpg.add_theme_color(getattr(dpg, f"mvPlotCol_{name}"), color, category=dpg.mvThemeCat_Plots)
        for name in ("PlotPadding", "PlotBorderSize"):
            dpg.add_theme_style(getattr(dpg, f"mvPlotStyleVar_{name}"), 0, 0, category=dpg.mvThemeCat_Plots)
    return theme


def padded_theme(x: float, y: float) -> Tag:
    """For a container with so much room around what it holds, in pixels."""
    with dpg.theme() as theme, dpg.theme_component(dpg.mvAll):
        dpg.add_theme_style(dpg.mvStyleVar_WindowPadding, x, y)
    return theme


def list_theme() -> Tag:
    """For lists: rows lie close, and texts stand level with the selectable before them."""
    with dpg.theme() as theme, dpg.theme_component(dpg.mvAll):
        dpg.add_theme_style(dpg.mvStyleVar_FramePadding, 6, 0)
        dpg.add_theme_style(dpg.mvStyleVar_ItemSpacing, 7, 5)
    return theme


def button_theme(color: Rgb) -> Tag:
    """A button that stands out."""
    with dpg.theme() as theme, dpg.theme_component(dpg.mvButton):
        dpg.add_theme_color(dpg.mvThemeCol_Button, color)
    return theme


def bar_theme(color: Rgb) -> Tag:
    """A progress bar in a row of a list: low, its words in the middle."""
    with dpg.theme() as theme, dpg.theme_component(dpg.mvProgressBar):
        dpg.add_theme_color(dpg.mvThemeCol_PlotHistogram, color)
        dpg.add_theme_color(dpg.mvThemeCol_FrameBg, (31, 34, 41))
        dpg.add_theme_style(dpg.mvStyleVar_FramePadding, 3, 0)
        dpg.add_theme_style(dpg.mvStyleVar_FrameRounding, 3)
    return theme


def marker_theme(color: Rgb) -> Tag:
    """Of points in a plot: filled, with a dark edge that lets them stand out on any ground."""
    with dpg.theme() as theme, dpg.theme_component(dpg.mvScatterSeries):
        dpg.add_theme_color(dpg.mvPlotCol_MarkerFill, color, category=dpg.mvThemeCat_Plots)
        dpg.add_theme_color(dpg.mvPlotCol_MarkerOutline, BAR, category=dpg.mvThemeCat_Plots)
        dpg.add_theme_style(dpg.mvPlotStyleVar_MarkerSize, 3.5, category=dpg.mvThemeCat_Plots)
        dpg.add_theme_style(dpg.mvPlotStyleVar_Marker, dpg.mvPlotMarker_Circle, category=dpg.mvThemeCat_Plots)
    return theme


def area_theme(color: Rgb) -> Tag:
    """Of a filled line in a plot."""
    with dpg.theme() as theme:
        for kind in (dpg.mvLineSeries, dpg.mvShadeSeries):
            with dpg.theme_component(kind):
                fill = color if kind == dpg.mvLineSeries else (*color, 110)
                dpg.add_theme_color(dpg.mvPlotCol_Line, color, category=dpg.mvThemeCat_Plots)
                dpg.add_theme_color(dpg.mvPlotCol_Fill, fill, category=dpg.mvThemeCat_Plots)
    return theme


def grid_theme() -> Tag:
    """For a table of numbers: cells lie close."""
    with dpg.theme() as theme, dpg.theme_component(dpg.mvAll):
        dpg.add_theme_style(dpg.mvStyleVar_CellPadding, 5, 1)
        dpg.add_theme_style(dpg.mvStyleVar_ItemSpacing, 6, 3)
    return theme


def text_theme(color: Rgb, padding: tuple[float, float] | None = None) -> Tag:
    """For a widget whose words have another colour, and so much room around them."""
    with dpg.theme() as theme, dpg.theme_component(dpg.mvAll):
        dpg.add_theme_color(dpg.mvThemeCol_Text, color)
        if padding is not None:
            dpg.add_theme_style(dpg.mvStyleVar_FramePadding, *padding)
    return theme
