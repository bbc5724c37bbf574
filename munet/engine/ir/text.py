"""The stable text form of a module: golden tests, `munet dump`, bug reports. Values are numbered in order of appearance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from munet.engine.ir.module import Module, Op, ParamValue, Region, Value


class Names:
    """Short names for values: `%name` for sources, `%7` for the rest."""

    def __init__(self) -> None:
        self._names: dict[Value, str] = {}
        self._numbered = 0

    def set(self, value: Value, name: str) -> None:
        self._names[value] = f"%{name}"

    def of(self, value: Value) -> str:
        if value not in self._names:
            self._names[value] = f"%{self._numbered}"
            self._numbered += 1
        return self._names[value]


def type_text(value: Value) -> str:
    return f"{value.dtype}[{','.join(map(str, value.shape))}]"


def print_module(module: Module) -> str:
    """The whole module, one op a line, bodies indented."""
    names = Names()
    lines = [f"module {module.name}"]
    for source in module.sources:
        names.set(source.value, source.name)
        group = f" in {source.group}" if source.group else ""
        lines.append(f"  {source.role} {names.of(source.value)}: {type_text(source.value)}{group}")
    lines += print_ops(module.ops, names, "  ")
    for source in module.states:
        if source.result is not None:
            lines.append(f"  {names.of(source.value)} becomes {names.of(source.result)}")
    lines += [f"  output {name} = {names.of(value)}" for name, value in module.outputs.items()]
    return "\n".join(lines) + "\n"


def print_ops(ops: Sequence[Op], names: Names, indent: str) -> list[str]:
    lines: list[str] = []
    for op in ops:
        inputs = (
            ", ".join(f"{s}={names.of(v)}" for s, v in zip(op.sockets, op.inputs, strict=True))
            if op.sockets
            else ", ".join(map(names.of, op.inputs))
        )
        params = "".join(f" {name}={_param(value)}" for name, value in op.params.items())
        outputs = ", ".join(f"{names.of(v)}: {type_text(v)}" for v in op.outputs)
        origin = f"  # {'/'.join(op.origin)}" if op.origin else ""
        lines.append(f"{indent}{outputs} = {op.operator}({inputs}){params}{origin}")
        for region in op.regions:
            lines += _print_region(region, names, indent + "  ")
    return lines


def _print_region(region: Region, names: Names, indent: str) -> list[str]:
    inputs = ", ".join(f"{names.of(v)}: {type_text(v)}" for v in region.inputs)
    outputs = ", ".join(map(names.of, region.outputs))
    return [f"{indent}({inputs}):", *print_ops(region.ops, names, indent + "  "), f"{indent}  give {outputs}"]


def _param(value: ParamValue) -> str:
    if isinstance(value, tuple):
        return "[" + ",".join(str(part) for part in cast("tuple[ParamValue, ...]", value)) + "]"
    return f"{value:.9g}" if isinstance(value, float) else str(value)
