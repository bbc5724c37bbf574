"""A parameter's value as text that a person types, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from munet.inspect import DeclarationView, ParamView

YES = ("yes", "true", "on", "1")
NO = ("no", "false", "off", "0")


def typed(value: Any) -> str:
    """A value as it is edited; `nodeviews.shown_value` is shorter and prettier."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value))
    return str(value)


def parsed(param: ParamView, words: str) -> Any:
    """The value that was typed. Raises ValueError for what is none, or lies outside of the limits."""
    words = words.strip()
    if param.choices:
        found = [choice for choice in param.choices if str(choice).lower() == words.lower()]
        if not found:
            raise ValueError(words)
        return found[0]
    if param.type == "bool":
        if words.lower() not in YES + NO:
            raise ValueError(words)
        return words.lower() in YES
    if param.type == "ints":
        return tuple(int(part) for part in words.replace("×", ",").replace("x", ",").strip("()[]").split(",") if part.strip())
    if param.type in ("int", "float"):
        value = int(words) if param.type == "int" else float(words)
        if (param.min is not None and value < param.min) or (param.max is not None and value > param.max):
            raise ValueError(words)
        return value
    return words


def shared(declared: Iterable[DeclarationView | None]) -> list[ParamView]:
    """Parameters of the first that all the others have too, of the same kind and with the same choices: edited together."""
    first, *others = declared
    if first is None:
        return []
    return [param for param in first.params if all(other is not None and _has(other, param) for other in others)]


def _has(declared: DeclarationView, param: ParamView) -> bool:
    return any((p.name, p.type, p.choices) == (param.name, param.type, param.choices) for p in declared.params)
