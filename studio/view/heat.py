"""What the canvas colours nodes by, brought up to date when a measurement, the drawing or the mode has changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from munet.inspect import NodeCost, NodeTime
from studio import coloring
from studio.coloring import Legend
from studio.nodeviews import Color
from studio.texts import text
from studio.view.core import Core

HOT_SHARE = 0.2  # of a step: such a node's badge stands out


class Heat:
    """`times`, `costs` and `norms` are of the nodes of the drawing that is shown. `version` counts changes of how nodes look."""

    def __init__(self, core: Core):
        self._core = core
        self._seen: tuple[object, ...] = ()
        self.times: Mapping[str, NodeTime] = {}
        self.costs: Mapping[str, NodeCost] = {}
        self.norms: Mapping[str, float] = {}
        self.colors: Mapping[str, Color] = {}
        self.legend: Legend | None = None
        self.version = 0

    @property
    def mode(self) -> str:
        mode = self._core.preferences.color_mode
        return mode if mode in coloring.MODES else "category"

    def choose(self, mode: str) -> None:
        self._core.preferences = replace(self._core.preferences, color_mode=mode)

    def badge(self, id_: str) -> tuple[str, bool]:
        """The words above a node, and whether it is among the dearest."""
        core = self._core
        if self.mode == "memory":
            return (coloring.bytes_text(coloring.memory_of(self.costs[id_])) if id_ in self.costs else ""), False
        if self.mode == "gradient":
            return (f"{self.norms[id_]:.2e}" if id_ in self.norms else ""), False
        us = self.times[id_].us if id_ in self.times else 0.0
        timings = core.trainer.timings
        hot = timings is not None and us > HOT_SHARE * max(1e-9, timings.serialised_us)
        return (coloring.us_text(us), hot) if us >= 0.5 else ("", False)

    def want_costs(self) -> None:
        """Have the costs of the drawing worked out, if it can be compiled as it is."""
        core = self._core
        if core.findings.version == core.document.version and not core.findings.problems and core.document.graph.nodes:
            core.facts.want(core.document.version, core.document.graph)

    def sync(self) -> None:
        core, mode = self._core, self.mode
        if mode == "memory":
            self.want_costs()
        state = core.document.state
        now = (
            mode, state.inside, core.trainer.passes_version, core.facts.version, core.gradient_version, core.findings_version,
            len(core.scene.views),
        )  # fmt: skip
        if now == self._seen:
            return
        self._seen = now
        self.times = coloring.times_of(core.trainer.timings, state)
        self.costs = coloring.costs_of(core.facts.costs, state)
        self.norms = coloring.norms_of(core.gradient_norms, state)
        self.colors, self.legend = self._colored(mode)
        self.version += 1

    def _colored(self, mode: str) -> tuple[dict[str, Color], Legend | None]:
        views = self._core.scene.views
        if mode == "category":
            return {}, None
        if mode == "dtype":
            colors = {id_: coloring.dark(view.outputs[0].color) for id_, view in views.items() if view.outputs}
            return colors, coloring.legend_of_kinds(mode, views.values())
        values: Mapping[str, float] = self.norms
        if mode == "time":
            values = {id_: time.us for id_, time in self.times.items()}
        elif mode == "memory":
            values = {id_: float(coloring.memory_of(cost)) for id_, cost in self.costs.items()}
        title = text(f"color.{mode}")
        if not any(values.values()):
            return dict.fromkeys(views, coloring.UNMEASURED), Legend(title, hint=text(f"color.{mode}_hint"))
        found, low, high = coloring.scaled(values, logarithmic=mode == "gradient")
        shown = {"time": coloring.us_text, "memory": coloring.bytes_text}.get(mode, lambda value: f"{value:.1e}")
        return {id_: found.get(id_, coloring.UNMEASURED) for id_ in views}, Legend(title, low=shown(low), high=shown(high))
