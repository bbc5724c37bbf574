"""Where panels lie at first, and after another scale; needs no display."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("dearpygui")
from studio.view.panels import LOWER, NODE, PANELS, first_layout, is_like, rescaled, with_fronts

SIZES = [(1280, 800), (1920, 1080), (1000, 640)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scale", [0.75, 1.0, 1.5, 2.0])
def test_lengths_of_the_first_layout_add_up(size: tuple[int, int], scale: float):
    nodes = {match[1]: (int(match[3]), int(match[4])) for match in NODE.finditer(first_layout(size, scale))}
    width, inner = nodes["00000010"]
    assert width == size[0] and inner + nodes["00000006"][1] + 22 == size[1]
    assert nodes["00000004"][1] + nodes["00000005"][1] == inner == nodes["00000002"][1] + nodes[LOWER][1]
    assert nodes["00000001"][0] + nodes["00000002"][0] + nodes["00000013"][0] == width
    spans = nodes[LOWER][0] == width - nodes["00000013"][0]  # the lists below have the left column's width too
    assert spans == (nodes["00000002"][0] < 560 * scale)
    assert len(re.findall(r"DockId=", first_layout(size, scale))) == len(PANELS)


def test_the_first_layout_is_known_again_and_one_that_was_changed_is_not():
    first = first_layout((1280, 800), 1.0)
    saved = first.replace("SizeRef=190,", "SizeRef=189,").replace(
        " NoWindowMenuButton=1\n", " NoWindowMenuButton=1 Selected=0x12345678\n"
    )
    assert saved != first and is_like(saved, first)
    assert not is_like(first.replace("SizeRef=190,", "SizeRef=230,"), first)  # a column was drawn wider
    assert not is_like(first.replace("DockId=0x00000003,2", "DockId=0x00000004,9"), first)  # a panel was put elsewhere
    assert not is_like(first_layout((1280, 800), 1.5), first)
    assert not is_like(rescaled(first, (1280, 800), 1.5)[0], first)
    assert not is_like("", first)


def test_what_is_in_front_stays_so_in_another_layout():
    front = first_layout((1280, 800), 1.0).replace(
        "ID=0x00000003 Parent=0x00000012 ", "ID=0x00000003 Parent=0x00000012 Selected=0xAAAAAAAA "
    )
    wide = with_fronts(first_layout((1280, 800), 1.5), front)
    assert [line for line in wide.splitlines() if "0xAAAAAAAA" in line] == [
        line + " Selected=0xAAAAAAAA" for line in first_layout((1280, 800), 1.5).splitlines() if "ID=0x00000003 P" in line
    ]  # fmt: skip
    assert with_fronts(wide, front) == wide
