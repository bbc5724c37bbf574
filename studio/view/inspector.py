"""The inspector: the selected node's name, problems, parameters with limits, flags and help; else the project's settings."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from munet import Frame, Node
from munet.inspect import DeclarationView, ParamView
from studio import helping
from studio.commands import EditFrame, Rename, SetField, SetParam, SetProject
from studio.document import Command
from studio.edits import BORDERS
from studio.grouping import given_out, name_for, set_outside
from studio.icons import icon
from studio.keys import with_key
from studio.nodeviews import CATEGORY_COLORS, PLAIN, declaration_of
from studio.subgraph_commands import Promote, TakeBack
from studio.texts import text
from studio.values import shared, typed
from studio.view import theme
from studio.view.contextmenu import FRAME_COLORS
from studio.view.core import Core
from studio.view.gui import Tag, clear, dpg, is_typing
from studio.view.help import Help

NAME_WIDTH = 112
TIP_WIDTH = 420
NOTE_LETTERS = 38  # of a line that is surely seen whole
INT_MAX = 2**31 - 1


class Inspector:
    """Fills `parent` for what is selected; rebuilt when that changes, but never while one of its fields is edited."""

    def __init__(self, core: Core, parent: Tag):
        self._core = core
        self._box: Tag = dpg.add_child_window(parent=parent, border=False)
        self._given_theme, self._kept_theme = theme.button_theme(theme.BLUE), theme.button_theme(theme.PANEL)
        self._seen: object = None
        threading.Thread(target=helping.prepare, name="help", daemon=True).start()
        self._handlers: list[Tag] = []  # of what is shown
        self._fields: dict[str, Tag] = {}  # by parameter, for tests and for focus
        self.inputs: set[Tag] = set()
        self._help = Help()
        self.help: Tag = 0  # the tooltip of the node's kind

    def field(self, name: str) -> Tag | None:
        """The widget of a parameter of the node that is shown."""
        return self._fields.get(name)

    def sync(self, now: float) -> None:
        core = self._core
        document = core.document
        chosen = [id_ for id_ in document.part.nodes if id_ in document.selection.nodes]
        node = document.part.nodes[chosen[0]] if len(chosen) == 1 else None
        shown: object = tuple((id_, document.part.nodes[id_].params, document.part.nodes[id_].operator) for id_ in chosen)
        if node is not None:
            given = tuple(given_out(document.part, node.id).items())
            given += tuple(set_outside(document.state, node.id, param) for param, _ in given)
            shown = (replace(node, position=(0.0, 0.0)), tuple(core.problems.get(node.id, ())), given)
        project = (document.graph.run, document.part.note) if node is None else None
        framed = {index: document.part.frames[index] for index in document.selection.frames} if not chosen else {}
        frames = tuple((index, frame.title, frame.note, frame.color) for index, frame in framed.items())
        known = (shown, frames, document.state.inside, project, document.graph.name, theme.scale())
        if known == self._seen or is_typing(self.inputs):
            return
        self._seen = known
        clear(self._box)
        for handlers in self._handlers:
            dpg.delete_item(handlers)
        self._handlers.clear()
        self._fields.clear()
        self.inputs.clear()
        if node is not None:
            self._node(node)
        elif chosen:
            self._several([document.part.nodes[id_] for id_ in chosen])
        elif len(framed) == 1:
            self._frame(*next(iter(framed.items())))
        elif document.state.inside:
            self._subgraph()
        else:
            self._project()

    # -- a frame, a subgraph -------------------------------------------------------------------------------------------

    def _frame(self, index: int, frame: Frame) -> None:
        def change(name: str, given: str) -> EditFrame:
            return EditFrame(index, {name: given}, f"frame {index} {name}")

        colors = {"#{:02x}{:02x}{:02x}".format(*color): text(f"menu.{name}") for name, color in FRAME_COLORS}
        with dpg.group(parent=self._box):
            title = dpg.add_input_text(
                default_value=frame.title, hint=text("view.frame_title"), width=-1, on_enter=True,
                callback=lambda sender, given: self._core.edit(change("title", given)),
            )  # fmt: skip
            self._fields["title"] = theme.dress(title, frame.title)
            dpg.add_text(text("view.frame"), color=theme.DIM)
            self._fields["color"] = dpg.add_combo(
                list(colors.values()), default_value=colors.get(frame.color.lower() or next(iter(colors)), frame.color), width=-1,
                callback=lambda sender, given: self._core.edit(
                    change("color", next(code for code, name in colors.items() if name == given))
                ),
            )  # fmt: skip
            theme.tip(self._fields["color"], text("view.frame_color"))
            self.inputs |= {title, self._fields["color"]}
            self._note(frame.note, lambda given: change("note", given))

    def _subgraph(self) -> None:
        """The definition that is shown: whose note it is."""
        name = self._core.document.state.owner
        with dpg.group(parent=self._box):
            words = text("view.of_subgraph", name=name)
            theme.dress(dpg.add_text(words, wrap=0), words)
            self._note(self._core.document.part.note, lambda given: SetProject(note=given, merge=f"note of {name}"))

    # -- a node --------------------------------------------------------------------------------------------------------

    def _node(self, node: Node) -> None:
        declared = declaration_of(self._core.document.graph, node)
        category = declared.category if declared is not None else ""
        color = CATEGORY_COLORS.get(category, PLAIN)
        with dpg.group(parent=self._box):
            name = dpg.add_input_text(default_value=node.id, width=-1, on_enter=True, callback=partial(self._rename, node.id))
            theme.dress(name, node.id)
            self.inputs.add(name)
            self._fields["name"] = name
            kind = dpg.add_text(f"{node.operator}   {category}", color=tuple(min(255, c + 70) for c in color))
            if declared is not None:
                with dpg.tooltip(kind, delay=0.4) as self.help:
                    self._help.show(helping.sections(declared), TIP_WIDTH)
                self._fields["kind"] = kind
            for problem in self._core.problems.get(node.id, ()):
                dpg.add_text(problem.found, wrap=0, color=theme.ERROR)
                if problem.cure:
                    dpg.add_text(text("view.cure", cure=problem.cure), wrap=0, color=theme.DIM)
            if declared is not None:
                self._params(node, declared)
            with dpg.group(horizontal=True):
                self._flag(node, "muted")
                self._flag(node, "frozen")
            self._note(node.note, lambda given: SetField((node.id,), "note", given, f"note {node.id}"))
            if declared is not None:
                dpg.add_separator()
                self._help.show(helping.sections(declared))

    def _note(self, words: str, command: Callable[[str], Command]) -> None:
        """Several lines; what is typed in one go is one step of undo."""
        dpg.add_separator()
        dpg.add_text(text("view.note"), color=theme.DIM)
        if any(len(line) > NOTE_LETTERS for line in words.splitlines()):  # a field does not wrap its lines
            theme.dress(dpg.add_text(words, wrap=0), words)
        lines = min(6, max(2, words.count("\n") + 1 + len(words) // 40))
        field = dpg.add_input_text(
            default_value=words, multiline=True, width=-1, height=theme.px(12 + 17 * lines),
            callback=lambda sender, given: self._core.edit(command(given)),
        )  # fmt: skip
        self._fields["note"] = theme.dress(field, words)
        self.inputs.add(field)

    def _several(self, nodes: list[Node]) -> None:
        """Parameters that all of them have, edited together; "mixed" where they differ."""
        graph = self._core.document.graph
        ids = tuple(node.id for node in nodes)
        with dpg.group(parent=self._box):
            dpg.add_text(text("view.selected", count=len(nodes)))
            params = shared(declaration_of(graph, node) for node in nodes)
            if params:
                self._rows(ids, [(param, [node.params.get(param.name, param.default) for node in nodes]) for param in params])
            with dpg.group(horizontal=True):
                for name in ("muted", "frozen"):
                    on = all(getattr(node, name) for node in nodes)
                    box = dpg.add_checkbox(label=text(f"view.{name}"), default_value=on)
                    dpg.configure_item(box, callback=partial(self._flag_all, ids, name))
                    self._flag_tip(box, name)

    def _flag_all(self, ids: tuple[str, ...], name: str, sender: Tag, value: bool) -> None:
        self._core.edit(SetField(ids, name, value))

    def _rename(self, old: str, sender: Tag, new: str) -> None:
        if new != old:
            self._core.edit(Rename(old, new))

    def _flag(self, node: Node, name: str) -> None:
        def changed(sender: Tag, value: bool) -> None:
            self._core.edit(SetField((node.id,), name, value))

        box = dpg.add_checkbox(label=text(f"view.{name}"), default_value=getattr(node, name), callback=changed)
        self._flag_tip(box, name)

    def _flag_tip(self, box: Tag, name: str) -> None:
        action = {"muted": "mute", "frozen": "freeze"}[name]
        theme.tip(box, with_key(text(f"view.{name}_tip"), action, self._core.preferences.keys))

    def _params(self, node: Node, declared: DeclarationView) -> None:
        if not declared.params:
            return
        dpg.add_separator()
        with dpg.table(header_row=False, policy=dpg.mvTable_SizingFixedFit, no_pad_outerX=True):
            dpg.add_table_column(width_fixed=True, init_width_or_weight=theme.px(NAME_WIDTH))
            dpg.add_table_column(width_stretch=True)
            inside = bool(self._core.document.state.inside) and node.operator not in BORDERS
            given = given_out(self._core.document.part, node.id)
            if inside:
                dpg.add_table_column(width_fixed=True)
            for param in declared.params:
                with dpg.table_row():
                    self._row((node.id,), param, [node.params.get(param.name, param.default)])
                    if inside:
                        self._promotion(node.id, param.name, given.get(param.name, ""))
                outside = set_outside(self._core.document.state, node.id, param.name) if inside else None
                if outside is not None:
                    value, instance = outside
                    with dpg.table_row():
                        dpg.add_text("")
                        words = text("promote.outside", value=typed(value), instance=instance)
                        theme.dress(dpg.add_text(words, wrap=0, color=theme.ACCENT), words)

    def _rows(self, ids: tuple[str, ...], params: list[tuple[ParamView, list[Any]]]) -> None:
        dpg.add_separator()
        with dpg.table(header_row=False, policy=dpg.mvTable_SizingFixedFit, no_pad_outerX=True):
            dpg.add_table_column(width_fixed=True, init_width_or_weight=theme.px(NAME_WIDTH))
            dpg.add_table_column(width_stretch=True)
            for param, values in params:
                with dpg.table_row():
                    self._row(ids, param, values)

    def _row(self, ids: tuple[str, ...], param: ParamView, values: list[Any]) -> None:
        """A parameter's name, which takes it back to its usual value by the right button, and its widget."""
        changed = any(value != param.default for value in values)
        mixed = any(value != values[0] for value in values)
        words = f"{param.name} {text('view.mixed')}" if mixed else param.name
        label = dpg.add_text(words, color=theme.TEXT if changed else theme.DIM)
        about = _about(param) + (f"\n{text('view.reset_value', value=typed(param.default))}" if changed else "")
        theme.tip(label, about)
        if changed:
            with dpg.item_handler_registry() as handlers:
                dpg.add_item_clicked_handler(button=1, callback=partial(self._reset, ids, param))
            dpg.bind_item_handler_registry(label, handlers)
            self._handlers.append(handlers)
        self._fields[f"label {param.name}"] = label
        self._fields[param.name] = field = self._widget(ids, param, values[0])
        theme.tip(field, about)
        self.inputs.add(field)

    def _reset(self, ids: tuple[str, ...], param: ParamView) -> None:
        merge = f"reset {'/'.join(ids)}.{param.name}"
        if param.live and len(ids) == 1:  # the run learns of it, too
            self._core.set_param(ids[0], param.name, param.default, merge)
        self._core.edit(SetParam(ids, param.name, None, merge))
        self._core.document.seal()

    def _promotion(self, node: str, param: str, name: str) -> None:
        """The button that gives a parameter out of its subgraph, or takes it back; `name` is the one it is given out under."""
        part = self._core.document.part

        def pressed() -> None:
            self._core.edit(TakeBack(node, param) if name else Promote(node, param, name_for(part, node, param)))

        button = dpg.add_button(label=icon("upload" if not name else "undo"), small=True, callback=pressed)
        dpg.bind_item_theme(button, self._given_theme if name else self._kept_theme)
        self._fields[f"promote {param}"] = button
        with dpg.tooltip(button, delay=0.3):
            dpg.add_text(text("promote.back", name=name) if name else text("promote.give", param=param), wrap=theme.px(300))

    def _widget(self, ids: tuple[str, ...], param: ParamView, value: Any) -> Tag:
        done = partial(self._set, ids, param)
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

    def _set(self, ids: tuple[str, ...], param: ParamView, sender: Tag, given: Any) -> None:
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
        if len(ids) == 1:
            self._core.set_param(ids[0], param.name, value, f"param {ids[0]}.{param.name}")
        else:
            self._core.edit(SetParam(ids, param.name, value, f"param {'/'.join(ids)}.{param.name}"))

    # -- the project ---------------------------------------------------------------------------------------------------

    def _project(self) -> None:
        graph = self._core.document.graph
        run = graph.run

        def number(label: str, value: int, set_to: Callable[[int], None]) -> None:
            with dpg.group(horizontal=True):
                dpg.add_text(f"{label:<8}", color=theme.DIM)
                self._fields[label] = field = dpg.add_input_int(
                    default_value=value, min_value=0, min_clamped=True, width=-1, callback=lambda sender, given: set_to(given)
                )
                self.inputs.add(field)

        with dpg.group(parent=self._box):
            name = dpg.add_input_text(
                default_value=graph.name, hint=text("view.project_name"), width=-1, on_enter=True,
                callback=lambda sender, given: self._core.edit(SetProject(name=given)),
            )  # fmt: skip
            self.inputs.add(name)
            dpg.add_separator()
            number(text("view.steps"), run.steps, lambda given: self._run(steps=given))
            number(text("view.seed"), run.seed, lambda given: self._run(seed=given))
            note = self._core.document.part.note
            self._note(note, lambda given: SetProject(note=given, merge="project note"))

    def _run(self, **fields: int) -> None:
        self._core.edit(SetProject(run=replace(self._core.document.graph.run, **fields), merge=f"run {next(iter(fields))}"))


def _about(param: ParamView) -> str:
    limits = [f"{word} {value:g}" for word, value in (("from", param.min), ("to", param.max)) if value is not None]
    facts = [param.type, *limits, "may be changed while it trains" if param.live else ""]
    return "\n".join(part for part in (param.doc, ", ".join(fact for fact in facts if fact)) if part)
