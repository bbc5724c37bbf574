"""Formulas in shader metadata: arithmetic and comparisons of named whole numbers. Parsed with `ast` and walked, never run.

when = "M >= 64 and (N >= 64 or K > 1000)"      grid = ["ceil_div(N, TILE_N)", "BATCH", "1"]
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

ARITHMETIC: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip
COMPARISONS: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}  # fmt: skip
FUNCTIONS: dict[str, Callable[[int, int], int]] = {"ceil_div": lambda a, b: -(-a // b), "min": min, "max": max}


class FormulaError(ValueError):
    """The text is no formula; the message says what is wrong with it, without a place."""


@dataclass(frozen=True)
class Formula:
    """A number, or for a condition a truth value, as a function of named numbers."""

    text: str
    tree: ast.expr = field(compare=False, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Names it uses, in order of first appearance."""
        called = {id(node.func) for node in ast.walk(self.tree) if isinstance(node, ast.Call)}
        uses = [node for node in ast.walk(self.tree) if isinstance(node, ast.Name) and id(node) not in called]
        return tuple(dict.fromkeys(node.id for node in sorted(uses, key=lambda node: node.col_offset)))

    def number(self, values: Mapping[str, int]) -> int:
        return _number(self.tree, values)

    def holds(self, values: Mapping[str, int]) -> bool:
        return _holds(self.tree, values)

    def failing(self, values: Mapping[str, int]) -> Formula:
        """Of comparisons joined by `and`, the first that does not hold."""
        match self.tree:
            case ast.BoolOp(op=ast.And(), values=parts):
                first = next(part for part in parts if not _holds(part, values))
                return Formula(ast.unparse(first), first).failing(values)
        return self

    def with_values(self, values: Mapping[str, int]) -> str:
        """For people: the names with their numbers, "M = 7, N = 64"."""
        return ", ".join(f"{name} = {values[name]}" for name in self.names)


def number_formula(text: str) -> Formula:
    """A formula that gives a number. Raises FormulaError."""
    tree = _parsed(text)
    _check_number(tree, text)
    return Formula(text, tree)


def condition(text: str) -> Formula:
    """Comparisons joined by `and` and `or`. Raises FormulaError."""
    tree = _parsed(text)
    _check_condition(tree, text)
    return Formula(text, tree)


def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        raise FormulaError(f"{text!r} is no formula") from None


def _check_number(node: ast.expr, text: str) -> None:
    match node:
        case ast.Constant(value=int()) if not isinstance(node.value, bool):
            return
        case ast.Name():
            return
        case ast.BinOp() if type(node.op) in ARITHMETIC:
            parts = [node.left, node.right]
        case ast.Call(func=ast.Name(id=name), args=[_, _], keywords=[]) if name in FUNCTIONS:
            parts = node.args
        case _:
            known = f"names, whole numbers, + - * // % and {', '.join(FUNCTIONS)}"
            raise FormulaError(f"{ast.unparse(node)!r} in {text!r} is not made of {known}")
    for part in parts:
        _check_number(part, text)


def _check_condition(node: ast.expr, text: str) -> None:
    match node:
        case ast.BoolOp():
            for part in node.values:
                _check_condition(part, text)
        case ast.Compare():
            for part in (node.left, *node.comparators):
                _check_number(part, text)
            if any(type(sign) not in COMPARISONS for sign in node.ops):
                raise FormulaError(f"{ast.unparse(node)!r} in {text!r} uses another comparison than < <= > >= == !=")
        case _:
            raise FormulaError(f"{ast.unparse(node)!r} in {text!r} is no comparison; comparisons are joined by `and` and `or`")


def _number(node: ast.expr, values: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int() as value):
            return value
        case ast.Name(id=name):
            return values[name]
        case ast.BinOp(left=left, op=sign, right=right):
            second = _number(right, values)
            if second == 0 and isinstance(sign, ast.FloorDiv | ast.Mod):
                raise FormulaError(f"{ast.unparse(node)} divides by zero")
            return ARITHMETIC[type(sign)](_number(left, values), second)
        case ast.Call(func=ast.Name(id=name), args=[left, right]):
            second = _number(right, values)
            if second == 0 and name == "ceil_div":
                raise FormulaError(f"{ast.unparse(node)} divides by zero")
            return FUNCTIONS[name](_number(left, values), second)
    raise FormulaError(f"{ast.unparse(node)} gives no number")


def _holds(node: ast.expr, values: Mapping[str, int]) -> bool:
    match node:
        case ast.BoolOp(op=ast.And()):
            return all(_holds(part, values) for part in node.values)
        case ast.BoolOp():
            return any(_holds(part, values) for part in node.values)
        case ast.Compare():
            numbers = [_number(part, values) for part in (node.left, *node.comparators)]
            signs = [COMPARISONS[type(sign)] for sign in node.ops]
            return all(sign(a, b) for sign, a, b in zip(signs, numbers[:-1], numbers[1:], strict=True))
    raise FormulaError(f"{ast.unparse(node)} is no condition")
