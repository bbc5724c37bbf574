"""The preview panel: what the selected node, or the network as a whole, makes of held-out samples; live while it trains."""

from __future__ import annotations

from dataclasses import replace

from studio.cycle import after
from studio.previews import KINDS, Bars, Confusion, Facts, Fault, Letters, Picture, Plane, Seen, Wish, look
from studio.texts import text
from studio.view import theme
from studio.view.charts import ConfusionChart, FactsTable, Histograms, PictureBox, PlaneChart
from studio.view.core import Core
from studio.view.gui import Tag, dpg
from studio.view.looks import Looks, quietly
from studio.view.typist import Typist

AUTOMATIC = "preview.auto"


class Preview:
    """`wish` is what is shown; parts of the panel are made once, and shown when they have something to show."""

    def __init__(self, core: Core, parent: Tag, looks: Looks):
        self._core, self._looks = core, looks
        self.wish, self.seen = Wish(), None
        self._changed = True
        self._size: tuple[int, int] = (0, 0)
        self._combo_seen: object = None
        with dpg.group(parent=parent):
            with dpg.group(horizontal=True):
                self.combo: Tag = dpg.add_combo([], width=theme.px(196), callback=self._choose)
                self.log: Tag = dpg.add_checkbox(label=text("preview.log"), default_value=True, show=False, callback=self._redraw)
                self.sample: Tag = dpg.add_slider_int(
                    width=-1, max_value=31, format=text("preview.sample"), show=False, callback=self._choose_sample, clamped=True
                )
                self._outputs: Tag = dpg.add_combo([], width=-1, show=False, callback=self._choose_output)
            self._note: Tag = dpg.add_text("", color=theme.DIM, wrap=0)
            self.open: Tag = dpg.add_button(label=text("preview.open"), show=False, callback=lambda: core.trainer.hand_over())
            for item, about in (
                (self.combo, "choice"), (self.log, "log"), (self.sample, "sample"), (self._outputs, "outputs"),
                (self.open, "open"),
            ):  # fmt: skip
                theme.tip(item, text(f"preview.{about}_tip"))
        self._body: Tag = dpg.add_child_window(parent=parent, border=False, no_scrollbar=True)
        self.picture = PictureBox(self._body)
        self.histograms = Histograms(self._body)
        self.plane = PlaneChart(self._body)
        self.confusion = ConfusionChart(self._body)
        self.facts = FactsTable(self._body)
        self.typist = Typist(core, self._body, looks)
        self._parts = (self.picture, self.histograms, self.plane, self.confusion, self.facts, self.typist)

    seen: Seen | None

    @property
    def inputs(self) -> set[Tag]:
        """Fields that take letters while they are edited."""
        return {self.sample, self.typist.prompt, self.typist.temperature}

    # -- what is chosen ------------------------------------------------------------------------------------------------

    def _choose(self, sender: Tag, title: str) -> None:
        kinds = {text(f"preview.{kind}"): kind for kind in KINDS}
        self.wish = replace(self.wish, kind=kinds.get(title, ""))

    def _choose_sample(self, sender: Tag, number: int) -> None:
        self.wish = replace(self.wish, sample=number)

    def _choose_output(self, sender: Tag, socket: str) -> None:
        known = self.seen.sockets if self.seen is not None else ()
        self.wish = replace(self.wish, socket=next((name for name in known if _socket(name) == socket), ""))

    def next_kind(self) -> None:
        """Another of the kinds that the node has."""
        if self.seen is not None and self.seen.kinds:
            self.wish = replace(self.wish, kind=after(self.seen.kind, self.seen.kinds))

    def next_sample(self) -> None:
        samples = self.seen.shown.samples if self.seen is not None and isinstance(self.seen.shown, Picture) else 0
        if samples > 1:
            self.wish = replace(self.wish, sample=(self.wish.sample + 1) % samples)
            dpg.set_value(self.sample, self.wish.sample)

    def _redraw(self) -> None:
        self._changed = True

    # -- once a frame --------------------------------------------------------------------------------------------------

    def sync(self, now: float) -> None:
        core = self._core
        chosen = core.document.selection.nodes
        node = core.document.state.path_of(next(iter(chosen))) if len(chosen) == 1 else ""
        if node != self.wish.node:
            self.wish = replace(self.wish, node=node, socket="")
        wish, purpose = self.wish, self._looks.purpose
        if not core.trainer.has_session:
            self._show_fault(text("preview.no_session"), opens=bool(core.document.graph.nodes))
            return
        if not node and purpose is None:
            self._show_fault(text("preview.no_network"))
            return
        fault = Seen(wish, (), "", Fault(""))
        call = quietly(lambda session: look(session, wish, purpose), lambda why: replace(fault, shown=Fault(why)))
        self._looks.want("preview", (wish, purpose), call, self._hear, now)
        width, height = dpg.get_item_rect_size(self._body)
        if (width, height) != self._size:
            self._size, self._changed = (width, height), True
        if self._changed and self.seen is not None:
            self._changed = False
            self._draw(self.seen)
        if self.seen is not None and isinstance(self.seen.shown, Letters):
            self.typist.sync(now)

    def _hear(self, seen: Seen) -> None:
        self.seen, self._changed = seen, True

    def _show_fault(self, words: str, opens: bool = False) -> None:
        if self._combo_seen != (words, opens):
            self._combo_seen, self.seen = (words, opens), None
            dpg.set_value(self._note, words)
            dpg.configure_item(self._note, show=True)
            dpg.configure_item(self.open, show=opens)
            for part in self._parts:
                part.show(False)
            for item in (self.combo, self.log, self.sample, self._outputs):
                dpg.configure_item(item, show=False)

    # -- drawing -------------------------------------------------------------------------------------------------------

    def _draw(self, seen: Seen) -> None:
        shown = seen.shown
        self._controls(seen)
        pairs = zip(self._parts, (Picture, Bars, Plane, Confusion, Facts, Letters), strict=True)
        for part, kind in pairs:
            part.show(isinstance(shown, kind))
        width, height = self._size
        match shown:
            case Picture():
                self.picture.draw(shown, width, height)
            case Bars():
                self.histograms.draw(shown, height, log=bool(dpg.get_value(self.log)))
            case Plane():
                self.plane.draw(shown)
            case Confusion():
                self.confusion.draw(shown)
            case Facts():
                self.facts.draw(shown)
            case Letters() | Fault():
                pass
        dpg.set_value(self._note, self._note_of(seen))

    def _note_of(self, seen: Seen) -> str:
        match seen.shown:
            case Fault():
                return seen.shown.reason
            case Picture() if seen.shown.right:
                return text("preview.right", right=sum(seen.shown.right), count=len(seen.shown.right))
            case Confusion():
                return text("preview.accuracy", right=100 * seen.shown.accuracy, count=int(seen.shown.counts.sum()))
            case _:
                return text("preview.at", name=seen.wish.node or text("preview.network"), step=seen.step)

    def _controls(self, seen: Seen) -> None:
        samples = seen.shown.samples if isinstance(seen.shown, Picture) else 0
        several = len(seen.sockets) > 1 and samples <= 1
        now = (seen.kinds, seen.kind, seen.wish.kind, samples, several, seen.sockets)
        if now == self._combo_seen:
            return
        self._combo_seen = now
        titles = [text(f"preview.{kind}") for kind in seen.kinds]
        value = text(f"preview.{seen.kind}") if seen.kind else ""
        dpg.configure_item(self.combo, items=[text(AUTOMATIC), *titles], show=bool(titles))
        dpg.set_value(self.combo, value)
        dpg.configure_item(self.log, show=isinstance(seen.shown, Bars))
        dpg.configure_item(self.sample, show=samples > 1, max_value=max(1, samples - 1))
        dpg.configure_item(self._outputs, show=several, items=[_socket(name) for name in seen.sockets])
        dpg.set_value(self._outputs, _socket(seen.wish.socket or (seen.sockets[0] if seen.sockets else "")))
        dpg.configure_item(self.open, show=False)


def _socket(name: str) -> str:
    """Of a tensor's name, "node.socket"; the node is known, and there is little room."""
    return name.rpartition(".")[2]
