"""Reads formulas of the help back: what is written as mathematics becomes numbers."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from munet.nodes.functions import erf_of


class _Choices(ast.NodeTransformer):
    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        return ast.Call(ast.Name("where", ast.Load()), [node.test, node.body, node.orelse], [])


class _Sum:
    """Σ as an operator: it reaches over the next factor."""

    def __pow__(self, other: Any) -> Any:
        return np.sum(other)


FUNCTIONS: dict[str, Any] = {
    "exp": np.exp, "log": np.log, "log2": np.log2, "log10": np.log10, "sqrt": np.sqrt, "abs": np.abs, "erf": erf_of,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "tanh": np.tanh, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "atan2": np.arctan2, "floor": np.floor, "ceil": np.ceil, "round": np.rint, "trunc": np.trunc, "sign": np.sign,
    "min": np.minimum, "max": np.maximum, "mean": np.mean, "SUM": _Sum(), "π": math.pi, "where": np.where,
    "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}  # fmt: skip
WORDS = {
    "−": "-", "·": "*", "²": "**2", "³": "**3", "⁴": "**4", "≤": "<=", "≥": ">=", "≠": "!=", " ^ ": "**", ", else": " else",
    "⌊": "floor(", "⌋": ")", "⌈": "ceil(", "⌉": ")", "√(": "sqrt(", "Σ ": "SUM**", "not ": "1 ^ ", " and ": " & ", " or ": " | ",
}  # fmt: skip


def code_of(formula: str) -> ast.expr:
    """The right side of a line as Python. Raises SyntaxError where it is more than an expression."""
    text = re.sub(r"\|([^|]+)\|", r"abs(\1)", formula)
    text = re.sub(r"(?<![<>=≤≥≠!]) = (?!=)", " == ", text)
    for sign, code in WORDS.items():
        text = text.replace(sign, code)
    text = re.sub(r"√(\w+)", r"sqrt(\1)", text)
    return ast.fix_missing_locations(_Choices().visit(ast.parse(text.strip(), mode="eval"))).body


def evaluate(lines: tuple[str, ...], known: Mapping[str, Any]) -> dict[str, Any]:
    """All names after the lines were followed from above. Raises SyntaxError or NameError for what is no expression."""
    names: dict[str, Any] = dict(known)
    for line in lines:
        left, right = re.split(r" [=←] ", line, maxsplit=1)
        name = re.sub(r"\(t\)$", "", left)
        if not name.isidentifier():
            raise SyntaxError(line)
        code = compile(ast.Expression(code_of(right)), line, "eval")
        with np.errstate(all="ignore"):
            names[name] = eval(code, {"__builtins__": {}}, FUNCTIONS | names)  # noqa: S307  # of our own declarations
    return names
