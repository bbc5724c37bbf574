"""The inspector: the selected node's name, problems, parameters with limits, flags and help; else the project's settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from munet import Node
from munet.inspect import DeclarationView, ParamView
from studio.commands import Rename, SetField, SetProject
from studio.nodeviews import CATEGORY_COLORS, PLAIN, declaration_of
from studio.texts import text
from studio.view import theme
from studio.view.core import Core
from studio.view.gui import Tag, clear, dpg, is_typing

NAME_WIDTH = 112
INT_MAX = 2**31 - 1


class Inspector:
    """Fills `parent` for what is selected; rebuilt when that changes, but never while one of its fields is edited."""

    def __init__(self, core: Core, parent: Tag):
        self._core = core
        self._box: Tag = dpg.add_child_window(parent=parent, border=False)
        self._seen: object = None
        self._fields: dict[str, Tag] = {}  # by parameter, for tests and for focus
        self.inputs: set[Tag] = set()

    def field(self, name: str) -> Tag | None:
        """The widget of a parameter of the node that is shown."""
        return self._fields.get(name)

    def sync(self, now: float) -> None:
        core = self._core
        document = core.document
        chosen = [id_ for id_ in document.part.nodes if id_ in document.selection.nodes]
        node = document.part.nodes[chosen[0]] if len(chosen) == 1 else None
        shown: object = chosen
        if node is not None:
            shown = (replace(node, position=(0.0, 0.0)), tuple(core.problems.get(node.id, ())))
        known = (shown, document.state.inside, document.graph.run if node is None else None, document.graph.name)
        if known == self._seen or is_typing(self.inputs):
            return
        self._seen = known
        clear(self._box)
        self._fields.clear()
        self.inputs.clear()
        if node is not None:
            self._node(node)
        elif chosen:
            dpg.add_text(text("view.selected", count=len(chosen)), parent=self._box)
        else:
            self._project()

    # -- a node --------------------------------------------------------------------------------------------------------

    def _node(self, node: Node) -> None:
        declared = declaration_of(self._core.document.graph, node)
        category = declared.category if declared is not None else ""
        color = CATEGORY_COLORS.get(category, PLAIN)
        with dpg.group(parent=self._box):
            name = dpg.add_input_text(default_value=node.id, width=-1, on_enter=True, callback=partial(self._rename, node.id))
            self.inputs.add(name)
            self._fields["name"] = name
            dpg.add_text(f"{node.operator}   {category}", color=tuple(min(255, c + 70) for c in color))
            for problem in self._core.problems.get(node.id, ()):
                dpg.add_text(problem.found, wrap=0, color=theme.ERROR)
                if problem.cure:
                    dpg.add_text(text("view.cure", cure=problem.cure), wrap=0, color=theme.DIM)
            if declared is not None:
                self._params(node, declared)
            with dpg.group(horizontal=True):
                self._flag(node, "muted")
                self._flag(node, "frozen")
            if declared is not None:
                _help(declared)
            if node.note:
                dpg.add_separator()
                dpg.add_text(node.note, wrap=0, color=theme.DIM)

    def _rename(self, old: str, sender: Tag, new: str) -> None:
        if new != old:
            self._core.edit(Rename(old, new))

    def _flag(self, node: Node, name: str) -> None:
        def changed(sender: Tag, value: bool) -> None:
            self._core.edit(SetField((node.id,), name, value))

        dpg.add_checkbox(label=text(f"view.{name}"), default_value=getattr(node, name), callback=changed)

    def _params(self, node: Node, declared: DeclarationView) -> None:
        if not declared.params:
            return
        dpg.add_separator()
        with dpg.table(header_row=False, policy=dpg.mvTable_SizingFixedFit, no_pad_outerX=True):
            dpg.add_table_column(width_fixed=True, init_width_or_weight=NAME_WIDTH)
            dpg.add_table_column(width_stretch=True)
            for param in declared.params:
                with dpg.table_row():
                    changed = node.params.get(param.name, param.default) != param.default
                    label = dpg.add_text(param.name, color=theme.TEXT if changed else theme.DIM)
                    with dpg.tooltip(label, delay=0.3):
                        dpg.add_text(_about(param), wrap=320)
                    self._fields[param.name] = field = self._widget(node, param)
                    self.inputs.add(field)

    def _widget(self, node: Node, param: ParamView) -> Tag:
        value = node.params.get(param.name, param.default)
        done = partial(self._set, node.id, param)
        common: dict[str, Any] = {"width": -1, "callback": done}
        if param.type == "bool":
            return dpg.add_checkbox(default_value=bool(value), callback=done)
        if param.choices:
            return dpg.add_combo(list(param.choices), default_value=str(value), **common)
        if param.type == "int" and isinstance(value, int):
            low = int(param.min) if param.min is not None else -INT_MAX
            high = min(INT_MAX, int(param.max)) if param.max is not None else INT_MAX
            return dpg.add_input_int(
                default_value=value, min_value=low, max_value=high, min_clamped=True, max_clamped=True, on_enter=False, **common
            )
        if param.type == "float" and isinstance(value, int | float):
            low = param.min if param.min is not None else -1e30
            high = param.max if param.max is not None else 1e30
            speed = max(abs(float(value)), 1e-4) * 0.01
            return dpg.add_drag_float(
                default_value=float(value), min_value=low, max_value=high, clamped=True, speed=speed, format="%.6g", **common
            )
        words = ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
        return dpg.add_input_text(default_value=words, on_enter=True, **common)

    def _set(self, node: str, param: ParamView, sender: Tag, given: Any) -> None:
        value: Any = given
        try:
            if param.type == "ints":
                value = tuple(int(part) for part in str(given).replace("×", ",").split(",") if part.strip())
            elif param.type == "float":
                value = float(f"{float(given):.6g}")  # the widget counts in f32
            elif param.type == "int":
                value = int(given)
        except ValueError:
            self._core.say(text("view.not_a_value", value=given, name=param.name), error=True)
            self._seen = None
            return
        self._core.set_param(node, param.name, value, f"param {node}.{param.name}")

    # -- the project ---------------------------------------------------------------------------------------------------

    def _project(self) -> None:
        graph = self._core.document.graph
        run = graph.run

        def number(label: str, value: int, set_to: Callable[[int], None]) -> None:
            with dpg.group(horizontal=True):
                dpg.add_text(f"{label:<8}", color=theme.DIM)
                self.inputs.add(
                    dpg.add_input_int(
                        default_value=value, min_value=0, min_clamped=True, width=-1, callback=lambda sender, given: set_to(given)
                    )
                )

        with dpg.group(parent=self._box):
            name = dpg.add_input_text(
                default_value=graph.name, hint=text("view.project_name"), width=-1, on_enter=True,
                callback=lambda sender, given: self._core.edit(SetProject(name=given)),
            )  # fmt: skip
            self.inputs.add(name)
            dpg.add_separator()
            number(text("view.steps"), run.steps, lambda given: self._run(steps=given))
            number(text("view.seed"), run.seed, lambda given: self._run(seed=given))
            if graph.note:
                dpg.add_separator()
                dpg.add_text(graph.note, wrap=0, color=theme.DIM)

    def _run(self, **fields: int) -> None:
        self._core.edit(SetProject(run=replace(self._core.document.graph.run, **fields), merge=f"run {next(iter(fields))}"))


def _about(param: ParamView) -> str:
    limits = [f"{word} {value:g}" for word, value in (("from", param.min), ("to", param.max)) if value is not None]
    facts = [param.type, *limits, "may be changed while it trains" if param.live else ""]
    return "\n".join(part for part in (param.doc, ", ".join(fact for fact in facts if fact)) if part)


def _help(declared: DeclarationView) -> None:
    """Meaning, formula and sockets, below the parameters."""
    dpg.add_separator()
    dpg.add_text(theme.words(declared.doc), wrap=0)
    for formula in declared.formula:
        dpg.add_text(formula, color=theme.ACCENT, wrap=0)
    for word, sockets in (("in", declared.inputs), ("out", declared.outputs)):
        for socket in sockets:
            shape = f"[{socket.pattern}] " if socket.pattern else ""
            variable, _, group = socket.dtype.partition(":")
            dtype = group or (variable if len(variable) > 1 else "")
            dpg.add_text(f"{word}  {socket.name}  {shape}{dtype}", color=theme.DIM, wrap=0)
