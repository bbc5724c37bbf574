"""The studio's colours, for what is drawn in the window and what is drawn into files."""

from __future__ import annotations

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
EDGE: Rgb = (66, 72, 84)  # of a node
HEADING: Rgb = (245, 247, 250)
