"""Colours, fonts and styles of the window: dark, one accent for what is selected."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from studio.view.gui import Tag, dpg

Rgb = tuple[int, int, int]

BAR: Rgb = (17, 19, 23)
PANEL: Rgb = (24, 26, 31)
INPUT: Rgb = (36, 40, 48)
HOVER: Rgb = (50, 55, 65)
LINE: Rgb = (52, 57, 68)
GRID: Rgb = (34, 37, 44)
BODY: Rgb = (41, 45, 54)
TEXT: Rgb = (214, 219, 228)
DIM: Rgb = (140, 148, 162)
ACCENT: Rgb = (255, 176, 60)
BLUE: Rgb = (59, 110, 180)
ERROR: Rgb = (248, 113, 113)
ERROR_BACK: Rgb = (127, 29, 29)
GOOD: Rgb = (134, 239, 172)
GOOD_BACK: Rgb = (30, 58, 45)
HOT: Rgb = (253, 186, 116)
HOT_BACK: Rgb = (120, 53, 15)

FONT_SIZE = 15
_FONTS = {
    "linux": (
        "/usr/share/fonts/opentype/inter/Inter-Medium.otf",
        "/usr/share/fonts/truetype/inter/Inter-Medium.ttf",
        "/usr/share/fonts/truetype/roboto/unhinted/RobotoTTF/Roboto-Regular.ttf",
        "/usr/share/fonts/truetype/noto/NotoSans-Regular.ttf",
        "/usr/share/fonts/noto/NotoSans-Regular.ttf",
        "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
        "/usr/share/fonts/TTF/DejaVuSans.ttf",
        "/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf",
    ),
    "win32": ("C:/Windows/Fonts/segoeui.ttf", "C:/Windows/Fonts/arial.ttf"),
    "darwin": ("/System/Library/Fonts/SFNS.ttf", "/Library/Fonts/Arial.ttf"),
}


def load_font() -> Tag | None:
    """The first good font found on the system; None leaves Dear PyGui's own."""
    for name in _FONTS.get(sys.platform, ()):
        if Path(name).is_file():
            with dpg.font_registry():
                return dpg.add_font(name, FONT_SIZE)
    return None


def apply(scale: float) -> None:
    """Colours and spacing of everything."""
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
    with dpg.theme_component(dpg.mvButton, enabled_state=False, parent=theme):
        dpg.add_theme_color(dpg.mvThemeCol_Text, (88, 94, 106))
        for name in ("Button", "ButtonHovered", "ButtonActive"):
            dpg.add_theme_color(getattr(dpg, f"mvThemeCol_{name}"), (32, 35, 42))
    dpg.bind_theme(theme)
    dpg.set_global_font_scale(scale)


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


def words(doc: str) -> str:
    """A declaration's text without letters that few fonts have."""
    return doc.replace("ᵀ", "^T")


def button_theme(color: Rgb) -> Tag:
    """A button that stands out."""
    with dpg.theme() as theme, dpg.theme_component(dpg.mvButton):
        dpg.add_theme_color(dpg.mvThemeCol_Button, color)
    return theme
