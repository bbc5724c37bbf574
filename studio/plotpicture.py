"""The plots as a picture: drawn by Pillow, so that it needs no display and looks the same everywhere."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

from PIL import Image, ImageDraw, ImageFont

from studio import colors, fonts
from studio.plotlines import EARLIER, HELD_OUT, LOSS, METRIC, Curve, drawn, span, ticks

WIDTH, HEIGHT = 1200, 520  # of one plot
LEFT, RIGHT, TOP, BOTTOM = 84, 24, 46, 48
LETTERS = 18
MOST = 4000
Point = tuple[float, float]


@functools.cache
def _font(size: int, file: str) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(file, size)


def _font_for(words: str, size: int = LETTERS) -> ImageFont.FreeTypeFont:
    cjk = fonts.find_cjk() if fonts.needs_cjk(words) else None
    return _font(size, str(cjk or fonts.bundled(fonts.UI)))


def picture_of(curves: Sequence[Curve], title: str = "", log: bool = False) -> Image.Image:
    """One plot for the losses, one below it for the other metrics if there are any. `log`: the axis of the losses."""
    groups = [group for group in (LOSS, METRIC) if any(curve.group == group for curve in curves)] or [LOSS]
    picture = Image.new("RGB", (WIDTH, HEIGHT * len(groups)), colors.PANEL)
    draw = ImageDraw.Draw(picture)
    for place, group in enumerate(groups):
        chosen = [curve for curve in curves if curve.group == group]
        _plot(draw, chosen, HEIGHT * place, log and group == LOSS, title if place == 0 else "")
    return picture


def _plot(draw: ImageDraw.ImageDraw, curves: Sequence[Curve], top: int, log: bool, title: str) -> None:
    lines = [(curve, *drawn(curve, log, MOST)) for curve in curves]
    steps = span([step for _, found, _ in lines for step in found])
    heights = [math.log10(value) if log else value for _, _, found in lines for value in found]
    low, high = span(heights)
    margin = 0.05 * (high - low)
    low, high = low - margin, high + margin
    left, right, upper, lower = LEFT, WIDTH - RIGHT, top + TOP, top + HEIGHT - BOTTOM

    def at(step: float, value: float) -> Point:
        height = math.log10(value) if log else value
        x = left + (right - left) * (step - steps[0]) / (steps[1] - steps[0])
        return x, lower - (lower - upper) * (height - low) / (high - low)

    draw.rectangle((left, upper, right, lower), fill=colors.BAR, outline=colors.LINE)
    for tick in ticks(*steps):
        x, _ = at(tick, 1.0)
        draw.line((x, upper, x, lower), fill=colors.GRID)
        draw.text((x, lower + 8), f"{tick:,.0f}" if tick == int(tick) else f"{tick:g}", colors.DIM, _font_for(""), anchor="ma")
    for tick in ticks(low, high):
        value = 10.0**tick if log else tick
        _, y = at(steps[0], value)
        draw.line((left, y, right, y), fill=colors.GRID)
        draw.text((left - 8, y), f"{value:.3g}", colors.DIM, _font_for(""), anchor="rm")
    for curve, found, values in lines:
        _curve(draw, curve, [at(step, value) for step, value in zip(found, values, strict=True)])
    if title:
        draw.text((left, top + 14), title, colors.TEXT, _font_for(title))
    _legend(draw, curves, right, upper)


def _curve(draw: ImageDraw.ImageDraw, curve: Curve, points: list[Point]) -> None:
    if curve.kind == HELD_OUT or len(points) == 1:
        for x, y in points:
            draw.ellipse((x - 4, y - 4, x + 4, y + 4), fill=curve.color, outline=colors.BAR)
    elif points:
        color, width = (dimmed(curve.color), 1) if curve.kind == EARLIER else (curve.color, 3)
        draw.line(points, fill=color, width=width, joint="curve")


def dimmed(color: colors.Rgb, share: float = 0.5) -> colors.Rgb:
    """As it looks with so much of it over the ground of a plot."""
    mix: Callable[[int, int], int] = lambda a, b: round(share * a + (1 - share) * b)  # noqa: E731
    return mix(color[0], colors.BAR[0]), mix(color[1], colors.BAR[1]), mix(color[2], colors.BAR[2])


def _legend(draw: ImageDraw.ImageDraw, curves: Sequence[Curve], right: int, upper: int) -> None:
    if not curves:
        return
    wide = max(_font_for(curve.name).getlength(curve.name) for curve in curves)
    left, row = right - wide - 44, LETTERS + 6
    draw.rectangle((left - 10, upper + 8, right - 8, upper + 16 + row * len(curves)), fill=colors.PANEL, outline=colors.LINE)
    for place, curve in enumerate(curves):
        y = upper + 12 + row * place + row / 2
        color = dimmed(curve.color) if curve.kind == EARLIER else curve.color
        if curve.kind == HELD_OUT:
            draw.ellipse((left + 4, y - 4, left + 12, y + 4), fill=color)
        else:
            draw.line((left, y, left + 18, y), fill=color, width=3)
        draw.text((left + 26, y), curve.name, colors.TEXT, _font_for(curve.name), anchor="lm")
