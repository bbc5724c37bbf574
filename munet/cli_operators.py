"""`munet operators`: all kinds of nodes with sockets and parameters, or the help of one."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from typing import Annotated, Any

import typer

import munet.nodes  # noqa: F401  # fills the registry
from munet.console import JsonOption, out, print_json, reported, usage
from munet.engine.example import Tensor, example_of
from munet.engine.operator import REGISTRY, Declaration, Input, Output, Param


def register(app: typer.Typer) -> None:
    """Add the command to `munet`."""
    app.command("operators")(reported(operators))


def operators(
    name: Annotated[str, typer.Argument(metavar="NAME", help="a kind of node, e.g. conv2d")] = "", as_json: JsonOption = False
) -> None:
    """List all kinds of nodes by category, or show one with its help."""
    if name:
        declared = _find(name)
        if as_json:
            print_json(_facts(declared))
        else:
            out.print(describe(declared), markup=False)
        return
    listed = by_category()
    if as_json:
        print_json({"count": sum(map(len, listed.values())), "operators": [_facts(d) for d in _all(listed)]})
        return
    for category, declarations in listed.items():
        out.print(category, markup=False)
        for declared in declarations:
            out.print(f"    {_signature(declared)}", markup=False)
    out.print(f"{sum(map(len, listed.values()))} kinds of nodes; `munet operators NAME` for the help of one", markup=False)


def by_category() -> dict[str, list[Declaration]]:
    """What can be placed on a canvas, by category, both in alphabetical order."""
    shown = sorted((d for d in REGISTRY.values() if d.category), key=lambda d: (d.category, d.name.lower(), d.name))
    listed: dict[str, list[Declaration]] = {}
    for declared in shown:
        listed.setdefault(declared.category, []).append(declared)
    return listed


def describe(declared: Declaration) -> str:
    """The help of one kind of node, as text."""
    role = f", {declared.role}" if declared.role else ""
    lines = [f"{declared.name} ({declared.kind} in {declared.category or 'no category'}{role})", "", declared.doc]
    lines += ["", "Formula", *(f"    {line}" for line in declared.formula)] if declared.formula else []
    lines += _table("Inputs", {socket: _input_text(entry) for socket, entry in declared.inputs.items()})
    lines += _table("Outputs", {socket: _output_text(entry) for socket, entry in declared.outputs.items()})
    lines += _table("Parameters", {param: _param_text(entry) for param, entry in declared.params.items()})
    example = example_of(declared)
    lines += ["", "Example", *(f"    {line}" for line in example.lines)] if example else []
    return "\n".join(lines)


def _find(name: str) -> Declaration:
    if name in REGISTRY:
        return REGISTRY[name]
    same = [known for known in REGISTRY if known.lower() == name.lower()]
    same = same or [known for known in REGISTRY if name.lower() in known.lower() and len(name) > 1][:6]
    close = same or difflib.get_close_matches(name[:60], list(REGISTRY), n=3)
    cure = " or ".join(f'"{known}"' for known in close) or "`munet operators` for the list"
    raise usage(f"there is no operator {name[:60]!r}", cure)


def _all(listed: Mapping[str, list[Declaration]]) -> list[Declaration]:
    return [declared for declarations in listed.values() for declared in declarations]


def _signature(declared: Declaration) -> str:
    sockets = [_marked(socket, entry) for socket, entry in declared.inputs.items()]
    params = [f"{name}={_plain(param.default)}" for name, param in declared.params.items()]
    return f"{declared.name}({', '.join([*sockets, *params])}) -> {', '.join(declared.outputs) or 'nothing'}"


def _marked(socket: str, entry: Input) -> str:
    return f"*{socket}" if entry.variadic else f"{socket}?" if entry.optional else socket


def _table(title: str, rows: Mapping[str, str]) -> list[str]:
    if not rows:
        return []
    width = max(map(len, rows))
    return ["", title, *(f"    {name.ljust(width)}  {text}".rstrip() for name, text in rows.items())]


def _input_text(entry: Input) -> str:
    marks = [word for word, on in (("optional", entry.optional), ("any number of wires", entry.variadic)) if on]
    return "; ".join(part for part in (f"[{entry.pattern}] {entry.dtype}", *marks, entry.doc) if part)


def _output_text(entry: Output) -> str:
    shape = f"[{entry.pattern}]" if isinstance(entry.pattern, str) else "computed"
    dtype = f" {entry.dtype}" if isinstance(entry.dtype, str) else ""
    return "; ".join(part for part in (shape + dtype, entry.doc) if part)


def _param_text(param: Param) -> str:
    limits = [f"one of {', '.join(param.choices)}"] if param.choices else []
    limits += ["above 0"] if param.positive else []
    limits += [f"at least {param.min:g}"] if param.min is not None else []
    limits += [f"at most {param.max:g}"] if param.max is not None else []
    limits += ["live"] if param.live else []
    return "; ".join(part for part in (f"default {_plain(param.default)}", *limits, param.doc) if part)


def _plain(value: Any) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(map(str, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


def _facts(declared: Declaration) -> dict[str, Any]:
    inputs = {
        socket: {"pattern": e.pattern, "dtype": e.dtype, "optional": e.optional, "variadic": e.variadic, "doc": e.doc}
        for socket, e in declared.inputs.items()
    }
    params = {
        name: {"default": p.default, "min": p.min, "max": p.max, "choices": p.choices, "live": p.live, "doc": p.doc}
        for name, p in declared.params.items()
    }
    outputs = {
        socket: {
            "pattern": e.pattern if isinstance(e.pattern, str) else None,
            "dtype": e.dtype if isinstance(e.dtype, str) else None,
            "doc": e.doc,
        }
        for socket, e in declared.outputs.items()
    }
    head = {"name": declared.name, "kind": declared.kind, "category": declared.category, "role": declared.role}
    help_ = {"doc": declared.doc, "formula": declared.formula, "example": _example_facts(declared)}
    return {**head, "version": declared.version, **help_, "inputs": inputs, "outputs": outputs, "params": params}


def _example_facts(declared: Declaration) -> dict[str, Any] | None:
    """Numbers that JSON lacks are given as texts, "nan" and "inf"."""
    example = example_of(declared)
    if example is None:
        return None
    inputs, outputs = ([_tensor(tensor) for tensor in side] for side in (example.inputs, example.outputs))
    return {"inputs": inputs, "outputs": outputs, "params": example.params, "text": example.lines}


def _tensor(tensor: Tensor) -> dict[str, Any]:
    return {"name": tensor.name, "shape": tensor.shape, "dtype": tensor.dtype, "numbers": _plain_numbers(tensor.numbers)}


def _plain_numbers(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain_numbers(part) for part in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
