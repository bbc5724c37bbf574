"""What is told about the thing under the mouse: problems of a node, the meaning of a socket, what a wire carries."""

from __future__ import annotations

from studio.view.core import Core
from studio.view.gui import FLOATING, Tag, dpg
from studio.view.mouse import Mouse


class Tip:
    """A window of its own: Dear PyGui has no tooltip for a plot."""

    def __init__(self, core: Core, mouse: Mouse):
        self._core, self._mouse, self._tip = core, mouse, ""
        with dpg.window(
            show=False, no_title_bar=True, no_resize=True, no_move=True, autosize=True, no_focus_on_appearing=True,
            min_size=(20, 20), **FLOATING,
        ) as self._tip_window:  # fmt: skip
            self._tip_text: Tag = dpg.add_text("", wrap=380)

    def sync(self) -> None:
        hit, core = self._mouse.hovered, self._core
        tip = ""
        if hit is not None and hit.kind == "node" and hit.node in core.problems:
            tip = "\n".join(str(problem) for problem in core.problems[hit.node])
        elif hit is not None and hit.kind == "socket" and hit.node in core.scene.views:
            spot = core.scene.views[hit.node].socket(hit.side, hit.socket)
            known = core.tool.wires.get((hit.node, hit.socket)) if hit.side == "out" else None
            if spot is not None:
                tip = f"{spot.name}: {known or f'{spot.dtype} [{spot.pattern}]'}" + (f"\n{spot.doc}" if spot.doc else "")
        elif hit is not None and hit.kind == "wire" and hit.edge is not None:
            known = core.tool.wires.get((hit.edge.source, hit.edge.source_socket))
            ends = f"{hit.edge.source}.{hit.edge.source_socket} > {hit.edge.target}.{hit.edge.target_socket}"
            tip = f"{ends}\n{known or ''}".strip()
        if tip != self._tip:
            self._tip = tip
            dpg.set_value(self._tip_text, tip)
            x, y = dpg.get_mouse_pos(local=False)
            dpg.configure_item(self._tip_window, show=bool(tip), pos=[x + 16, y + 18])
