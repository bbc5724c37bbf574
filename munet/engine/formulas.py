"""Formulas for people: the kernel's expression as mathematics is written, and the part of a docstring that is one.

    x * sigmoid(x)                              y = x · sigmoid(x)
    z[*batch,m,n] += x[*batch,m,k] * ...        z[…, m, n] = Σ_k x[…, m, k] · ...
    acc / count, folded by "add"                y = (Σ x) / count

What is written here means what the kernel computes: a test evaluates both.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Sequence

from munet.engine.kernels import Contraction, Elementwise, KernelKind, Reduction, names_in, parse

MARK = "Formula:"
FOLDED = {"add": "Σ", "mul": "∏", "max": "max", "min": "min"}
SIGNS: dict[type, str] = {
    ast.Add: " + ", ast.Sub: " − ", ast.Mult: " · ", ast.Div: " / ", ast.Lt: " < ", ast.LtE: " ≤ ", ast.Gt: " > ", ast.GtE: " ≥ ",
    ast.Eq: " = ", ast.NotEq: " ≠ ", ast.And: " and ", ast.Or: " or ",
}  # fmt: skip
POWERS = {2: "²", 3: "³", 4: "⁴"}
# How tightly what is written holds together: brackets go round what holds less than its surroundings ask for.
CHOICE, OR, AND, NOT, COMPARED, SUM, PRODUCT, SIGN, POWER, WHOLE = range(10)
# Functions that are written otherwise, as expressions of their arguments a, b, c.
SPELLED = {
    "expm1": "exp(a) - 1", "log1p": "log(1 + a)", "softplus": "log(1 + exp(a))", "rsqrt": "1 / sqrt(a)",
    "clamp": "min(max(a, b), c)",
}  # fmt: skip
FENCES = {"floor": "⌊⌋", "ceil": "⌈⌉", "abs": "||"}


def of_kernel(kernel: KernelKind, outputs: Sequence[str]) -> tuple[str, ...]:
    """A line for each output where the kernel is written as an expression; none where it is a rule in Python."""
    match kernel:
        case Elementwise():
            trees = [parse(expression) for expression in kernel.expressions]
            return tuple(f"{socket} = {_alone(tree)}" for socket, tree in zip(outputs, trees, strict=True))
        case Contraction():
            left = {ast.unparse(dim) for dim in kernel.dims}
            names = dict.fromkeys(name for use in _inner(kernel.product) for name in names_in(use) if len(name) == 1)
            summed = ",".join(sorted(names.keys() - left))
            result = f"{kernel.left}[{', '.join(map(written, kernel.dims))}]"
            return (f"{result} = Σ_{summed} {written(kernel.product)}",)
        case Reduction():
            folded = ast.Name(f"{FOLDED[kernel.combine]} x")
            if kernel.finish == "acc":
                return (f"{outputs[0]} = {folded.id}",)
            return (f"{outputs[0]} = {written(_replaced(parse(kernel.finish), {'acc': folded}))}",)
        case _:
            return ()


def of_docstring(function: Callable[..., object]) -> tuple[str, tuple[str, ...]]:
    """The docstring's words, each paragraph on one line, and the lines of the one that begins with "Formula:"."""
    words: list[str] = []
    formula: list[str] = []
    for paragraph in inspect.cleandoc(function.__doc__ or "").split("\n\n"):
        lines = [line.strip() for line in paragraph.splitlines()]
        if lines and lines[0].startswith(MARK):
            formula += [line for line in (lines[0].removeprefix(MARK).strip(), *lines[1:]) if line]
        else:
            words.append(" ".join(lines))
    return "\n\n".join(words), tuple(formula)


def written(node: ast.expr, room: int = CHOICE) -> str:
    """An expression as mathematics writes it, in brackets if it holds less tightly than `room` asks for."""
    text, hold = _written(node)
    return text if hold >= room else f"({text})"


def _alone(tree: ast.expr) -> str:
    """A comparison in brackets, for it stands behind a sign of equality."""
    return written(tree, SUM if isinstance(tree, ast.Compare) else CHOICE)


def _written(node: ast.expr) -> tuple[str, int]:
    match node:
        case ast.Name(id=name):
            return name, WHOLE if name.isidentifier() else SUM  # "Σ x" reaches as far as it can
        case ast.Constant(value=bool() as value):
            return str(value).lower(), WHOLE
        case ast.Constant(value=int() | float() as value):
            return f"{value:.6g}", WHOLE
        case ast.Starred():
            return "…", WHOLE
        case ast.Subscript():
            return f"{written(node.value)}[{', '.join(map(written, _parts(node)))}]", WHOLE
        case ast.BinOp(op=ast.Mult()):
            return _product(node)
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            sign = SIGNS[type(node.op)]
            return f"{written(node.left, SUM)}{sign}{written(node.right, SUM if sign == ' + ' else PRODUCT)}", SUM
        case ast.BinOp(op=ast.Div()):
            return f"{written(node.left, PRODUCT)} / {written(node.right, SIGN)}", PRODUCT
        case ast.UnaryOp(op=ast.USub()):
            return f"−{written(node.operand, SIGN)}", SIGN
        case ast.UnaryOp(op=ast.Not()):
            return f"not {written(node.operand, NOT)}", NOT
        case ast.BoolOp():
            hold = AND if isinstance(node.op, ast.And) else OR
            return SIGNS[type(node.op)].join(written(value, hold + 1) for value in node.values), hold
        case ast.Compare(ops=[sign], comparators=[right]):
            return f"{written(node.left, SUM)}{SIGNS[type(sign)]}{written(right, SUM)}", COMPARED
        case ast.IfExp():
            return f"{written(node.body, OR)} if {written(node.test, OR)}, else {written(node.orelse)}", CHOICE
        case ast.Call(func=ast.Name(id=name)):
            return _called(name, node.args)
        case _:
            raise ValueError(f"no way of writing {ast.unparse(node)}")


def _product(node: ast.expr) -> tuple[str, int]:
    """Factors; a name several times in a row is a power of it."""
    factors: list[ast.expr] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        factors.insert(0, node.right)
        node = node.left
    factors.insert(0, node)
    texts: list[str] = []
    index = 0
    while index < len(factors):
        factor, count = factors[index], 1
        while isinstance(factor, ast.Name) and index + count < len(factors) and _is(factors[index + count], factor.id):
            count += 1
        texts.append(written(factor, PRODUCT if not index else SIGN) + (POWERS[count] if count > 1 else ""))
        index += count
    return " · ".join(texts), PRODUCT if len(texts) > 1 else POWER


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _called(name: str, args: Sequence[ast.expr]) -> tuple[str, int]:
    if name in SPELLED:
        return _written(_replaced(parse(SPELLED[name]), dict(zip("abc", args, strict=False))))
    if name in FENCES:
        return FENCES[name][0] + written(args[0]) + FENCES[name][1], WHOLE
    match name:
        case "sqrt":
            inner = written(args[0])
            return f"√{inner}" if isinstance(args[0], ast.Name | ast.Constant) else f"√({inner})", WHOLE
        case "exp2":
            return f"2 ^ {written(args[0], POWER + 1)}", POWER
        case "pow":
            return f"{written(args[0], POWER + 1)} ^ {written(args[1], POWER + 1)}", POWER
        case "floordiv":
            return f"⌊{written(args[0], PRODUCT)} / {written(args[1], SIGN)}⌋", WHOLE
        case _:
            return f"{name}({', '.join(map(written, args))})", WHOLE


def _inner(product: ast.expr) -> Iterator[ast.expr]:
    """All indices of a product's factors but those that stand for any number of them."""
    for node in ast.walk(product):
        if isinstance(node, ast.Subscript):
            yield from (part for part in _parts(node) if not isinstance(part, ast.Starred))


def _parts(node: ast.Subscript) -> Sequence[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _replaced(tree: ast.expr, known: dict[str, ast.expr]) -> ast.expr:
    class Replace(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return known.get(node.id, node)

    assert names_in(tree) <= known.keys() | {"count"}
    return Replace().visit(tree)
