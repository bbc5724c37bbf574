"""Kernel kinds: how an operator tells the device what one element of its result is.

    Elementwise("x / (1.0 + exp(-x))")                      inputs broadcast as in NumPy
    View(rule)                                              index arithmetic: reshape, pad, gather, one-hot ...
    Reduction("add", finish="acc / count")                  over the parameter `axes`
    Contraction("y[n,k] += x[n,c] * w[k,c]")                sums of products by index expression
    Update(...)                                             writes part of a state in place

All give the same thing, a `scalar.Expr` for one element, so one code generator and one fusion serve them all.
`kind` is what fusion looks at; it never looks at operator names.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from munet.engine.dtypes import BOOL, F32, I32
from munet.engine.errors import DeclarationError
from munet.engine.index import Index, const, fresh, loaded, within
from munet.engine.ir.module import Op, Shape, Value
from munet.engine.scalar import (
    FOLDS,
    FUNCTIONS,
    Divides,
    Expr,
    Fold,
    InRange,
    Literal,
    Load,
    Position,
    Where,
    apply,
    guarded,
    literal,
)

Indices = tuple[Index, ...]


@dataclass(frozen=True)
class Site:
    """One op as its kernel sees it: loads by socket name, shapes, parameters."""

    op: Op

    def slot(self, socket: str) -> int:
        return self.op.sockets.index(socket)

    def slots(self, socket: str) -> list[int]:
        return [i for i, name in enumerate(self.op.sockets) if name == socket]

    def shape(self, socket: str) -> Shape:
        return self.op.inputs[self.slot(socket)].shape

    def has(self, socket: str) -> bool:
        return socket in self.op.sockets

    def load(self, socket: str | int, index: Iterable[Index | int]) -> Expr:
        """The element at `index`; positions that may fall outside must be guarded by the caller."""
        slot = socket if isinstance(socket, int) else self.slot(socket)
        value = self.op.inputs[slot]
        indices = tuple(const(i) if isinstance(i, int) else i for i in index)
        if len(indices) != value.rank:
            raise DeclarationError(f"{self.op.operator}: {len(indices)} indices for {value}")
        return Load(value, indices)

    def load_broadcast(self, socket: str | int, index: Indices) -> Expr:
        """The element that NumPy broadcasting puts at `index` of the result."""
        slot = socket if isinstance(socket, int) else self.slot(socket)
        shape = self.op.inputs[slot].shape
        tail = index[len(index) - len(shape) :]
        return self.load(slot, [const(0) if size == 1 else i for i, size in zip(tail, shape, strict=True)])

    @property
    def params(self) -> Mapping[str, Any]:
        return self.op.params


class KernelKind:
    """Base of the kinds. `kind` is "map", "reduction", "contraction" or "update"."""

    kind: ClassVar[str] = "map"

    def element(self, site: Site, output: int, index: Indices) -> Expr:
        """The value of result `output` at `index`."""
        raise NotImplementedError

    def names(self) -> set[str]:
        """Names the declaration must know: inputs and params; checked at import."""
        return set()


COMPARES = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
BINARIES = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Mod: "mod", ast.FloorDiv: "floordiv", ast.Pow: "pow",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip


def build(node: ast.expr, lookup: Callable[[str], Expr]) -> Expr:
    """A Python expression as a scalar expression; names are resolved by `lookup`."""
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            return literal(value, BOOL if isinstance(value, bool) else I32 if isinstance(value, int) else F32)
        case ast.Name():
            return lookup(node.id)
        case ast.UnaryOp(op=ast.USub()):
            inner = build(node.operand, lookup)
            return literal(-inner.value, inner.dtype) if isinstance(inner, Literal) else apply("negate", inner)
        case ast.UnaryOp(op=ast.Not()):
            return apply("not", build(node.operand, lookup))
        case ast.BinOp():
            if type(node.op) not in BINARIES:
                raise _wrong(f"cannot be used in a kernel expression: {ast.unparse(node)}")
            return apply(BINARIES[type(node.op)], build(node.left, lookup), build(node.right, lookup))
        case ast.BoolOp():
            sign = "and" if isinstance(node.op, ast.And) else "or"
            result = build(node.values[0], lookup)
            for value in node.values[1:]:
                result = apply(sign, result, build(value, lookup))
            return result
        case ast.Compare(ops=[operator], comparators=[right]) if type(operator) in COMPARES:
            return apply(COMPARES[type(operator)], build(node.left, lookup), build(right, lookup))
        case ast.IfExp():
            test, yes, no = build(node.test, lookup), build(node.body, lookup), build(node.orelse, lookup)
            if isinstance(yes, Literal):
                yes = literal(yes.value, no.dtype)
            if isinstance(no, Literal):
                no = literal(no.value, yes.dtype)
            return Where(test, yes, no)
        case ast.Call(func=ast.Name(id=name)) if name in FUNCTIONS and FUNCTIONS[name].arity == len(node.args):
            return apply(name, *(build(arg, lookup) for arg in node.args))
        case _:
            raise _wrong(f"cannot be used in a kernel expression: {ast.unparse(node)}")


def names_in(node: ast.AST) -> set[str]:
    called = {id(call.func) for call in ast.walk(node) if isinstance(call, ast.Call)}
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and id(n) not in called}


def parse(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise _wrong(f"kernel expression {text!r}: {error.msg}") from None


def _wrong(message: str) -> DeclarationError:
    """With the place in the nearest file that is not this one: where the kernel is written down."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename in (__file__, "<string>"):  # dataclasses write __init__
        frame = frame.f_back
    return DeclarationError(f"{frame.f_code.co_filename}:{frame.f_lineno}: {message}")


def _param(value: Any) -> Expr:
    return literal(value, BOOL if isinstance(value, bool) else I32 if isinstance(value, int) else F32)


_ANY_NUMBER = Value((), F32)


@dataclass(frozen=True)
class Elementwise(KernelKind):
    """One expression per output over the inputs' elements, given by name, and the parameters."""

    kind: ClassVar[str] = "map"
    expressions: tuple[str, ...]

    def __init__(self, *expressions: str) -> None:
        object.__setattr__(self, "expressions", expressions)
        for expression in expressions:
            # built once with stand-ins, so that a wrong name of a function is found at import
            build(parse(expression), lambda name: Load(_ANY_NUMBER, ()))

    @cached_property
    def _trees(self) -> list[ast.expr]:
        return [parse(expression) for expression in self.expressions]

    def names(self) -> set[str]:
        return set().union(*(names_in(tree) for tree in self._trees))

    def element(self, site: Site, output: int, index: Indices) -> Expr:
        def lookup(name: str) -> Expr:
            return site.load_broadcast(name, index) if site.has(name) else _param(site.params[name])

        expr = build(self._trees[output], lookup)
        dtype = site.op.outputs[output].dtype
        return literal(expr.value, dtype) if isinstance(expr, Literal) else expr


@dataclass(frozen=True)
class View(KernelKind):
    """`rule(site, index)` gives the element; for operators that move elements rather than compute.

    With an `inverse` the view can also be an epilogue: the kernel that makes x writes it in its new place at once.
    """

    kind: ClassVar[str] = "map"
    rule: Callable[[Site, Indices], Expr]
    kept: bool = False  # its result goes to memory: it searches or sums, which is never worth doing twice
    inverse: Callable[[Site, Indices], Indices] | None = None  # where the element at an index of x ends up; only if it moves all

    def element(self, site: Site, output: int, index: Indices) -> Expr:
        return self.rule(site, index)


@dataclass(frozen=True)
class Reduction(KernelKind):
    """A fold over the axes in the parameter `axes` (empty = all); `finish` may use `acc` and `count`."""

    kind: ClassVar[str] = "reduction"
    combine: str
    finish: str = "acc"

    def __post_init__(self) -> None:
        if self.combine not in FOLDS:
            raise _wrong(f"unknown fold {self.combine!r}; known: {', '.join(FOLDS)}")
        unknown = names_in(parse(self.finish)) - {"acc", "count"}
        if unknown:
            raise _wrong(f"kernel expression {self.finish!r}: {', '.join(sorted(unknown))} is neither acc nor count")

    def element(self, site: Site, output: int, index: Indices) -> Expr:
        shape = site.op.inputs[0].shape
        axes = reduced_axes(site.params["axes"], len(shape))
        variables = {axis: fresh("r", shape[axis]) for axis in axes}
        kept = iter(index)
        if len(index) == len(shape):  # keepdims
            full = [variables.get(axis, i) for axis, i in enumerate(index)]
        else:
            full = [variables[axis] if axis in variables else next(kept) for axis in range(len(shape))]
        folded = fold(self.combine, list(variables.values()), site.load(0, full))
        count = 1
        for axis in axes:
            count *= shape[axis]
        known = {"acc": folded, "count": literal(count, folded.dtype)}
        return build(parse(self.finish), known.__getitem__)


def fold(combine: str, variables: Sequence[Index], body: Expr) -> Expr:
    """A `Fold` over index variables; those of size 1 have already vanished."""
    real = tuple(atom for index in variables for atom, _ in index.terms)
    if not real and combine not in ("argmax", "argmin"):
        return body
    return Fold(real, combine, body)  # type: ignore[arg-type]  # variables are plain Vars


def reduced_axes(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Axes as given, counted from the front and sorted; none means all."""
    return tuple(sorted({axis % rank for axis in axes})) if axes else tuple(range(rank))


@dataclass(frozen=True)
class Contraction(KernelKind):
    """A sum of products by index expression: names on the left run over the result, the others are summed.

    An index that may fall outside its input reads as zero; `(h + pad - r) / stride` reads as zero where it is not whole.
    `*batch` stands for any number of leading dimensions, broadcast as in NumPy.
    """

    kind: ClassVar[str] = "contraction"
    text: str
    left: str = field(init=False)
    product: ast.expr = field(init=False, compare=False)
    dims: tuple[ast.expr, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        try:
            parsed = ast.parse(self.text).body
        except SyntaxError as error:
            raise _wrong(f"contraction {self.text!r}: {error.msg}") from None
        statement = parsed[0] if len(parsed) == 1 else None
        if not isinstance(statement, ast.AugAssign) or not isinstance(statement.target, ast.Subscript):
            raise _wrong(f"contraction {self.text!r}: expected result[...] += product")
        object.__setattr__(self, "left", ast.unparse(statement.target.value))
        object.__setattr__(self, "product", statement.value)
        object.__setattr__(self, "dims", _subscripts(statement.target))

    def names(self) -> set[str]:
        return {ast.unparse(use.value) for use in self._uses()}

    def output_indices(self, index: Indices) -> dict[str, Any]:
        """Names on the left bound to the result's indices; a starred name to the leading ones."""
        bound: dict[str, Any] = {}
        plain = [d for d in self.dims if not isinstance(d, ast.Starred)]
        lead = len(index) - len(plain)
        position = 0
        for dim in self.dims:
            if isinstance(dim, ast.Starred):
                bound["*" + ast.unparse(dim.value)] = index[:lead]
                position += lead
            else:
                bound[ast.unparse(dim)] = index[position]
                position += 1
        return bound

    def summed(self, site: Site) -> dict[str, int]:
        """Summed names with their sizes, in order of first appearance."""
        left = {ast.unparse(dim) for dim in self.dims}
        sizes: dict[str, int] = {}
        for use in self._uses():
            socket = ast.unparse(use.value)
            subscripts = _subscripts(use)
            rank = len(site.shape(socket))
            starred = rank - sum(not isinstance(s, ast.Starred) for s in subscripts)
            axis = 0
            for subscript in subscripts:
                if isinstance(subscript, ast.Starred):
                    axis += starred
                    continue
                if isinstance(subscript, ast.Name) and subscript.id not in left and subscript.id not in site.params:
                    sizes.setdefault(subscript.id, site.shape(socket)[axis])
                axis += 1
        return sizes

    def plain_axes(self, site: Site) -> tuple[str, tuple[int, ...]] | None:
        """The first summed name that is a plain index of every factor, with its axis in each; None if there is none, or no
        `*batch` in front that could take a part of it."""
        uses = self._uses()
        if len(uses) != len(site.op.inputs) or not all(isinstance(_subscripts(use)[0], ast.Starred) for use in uses):
            return None
        for name in self.summed(site):
            positions = [self._axis_of(site, use, name) for use in uses]
            if all(position is not None for position in positions):
                return name, tuple(position for position in positions if position is not None)
        return None

    def _axis_of(self, site: Site, use: ast.Subscript, name: str) -> int | None:
        subscripts = _subscripts(use)
        from_end = [i for i, s in enumerate(reversed(subscripts)) if isinstance(s, ast.Name) and s.id == name]
        return len(site.shape(ast.unparse(use.value))) - 1 - from_end[0] if from_end else None

    def _uses(self) -> list[ast.Subscript]:
        return _outer_subscripts(self.product)

    def factor(self, site: Site, use: ast.Subscript, bound: Mapping[str, Any]) -> Expr:
        """The guarded load of one factor."""
        socket = ast.unparse(use.value)
        shape = site.shape(socket)
        tests: list[InRange | Divides] = []
        indices: list[Index] = []
        subscripts = _subscripts(use)
        starred = len(shape) - sum(not isinstance(s, ast.Starred) for s in subscripts)
        for subscript in subscripts:
            if isinstance(subscript, ast.Starred):
                lead: Indices = bound["*" + ast.unparse(subscript.value)]
                tail = lead[len(lead) - starred :] if starred else ()
                indices += [const(0) if shape[len(indices) + i] == 1 else x for i, x in enumerate(tail)]
                continue
            index = _affine(subscript, bound, site.params, tests)
            size = shape[len(indices)]
            tests.append(InRange(index, 0, size))
            indices.append(within(index, size))
        return guarded(tests, site.load(socket, indices))

    def factors(self, site: Site, bound: Mapping[str, Any]) -> list[Expr]:
        """Both factors of the product; for kernels that stage them in shared memory."""
        return [self.factor(site, use, bound) for use in self._uses()]

    def sums(self, site: Site) -> dict[str, Index]:
        """Fresh loop variables for the summed names."""
        return {name: fresh(name, size) for name, size in self.summed(site).items()}

    def term(self, site: Site, index: Indices, sums: Mapping[str, Index]) -> Expr:
        """What is summed for the result's element at `index`, at given values of the summed names."""
        factors = self.factors(site, {**self.output_indices(index), **sums})
        body = factors[0]
        for factor_expr in factors[1:]:
            body = apply("*", body, factor_expr)
        return body

    def element(self, site: Site, output: int, index: Indices) -> Expr:
        sums = self.sums(site)
        return fold("add", list(sums.values()), self.term(site, index, sums))


def _outer_subscripts(node: ast.AST) -> list[ast.Subscript]:
    """Loads of inputs; what is subscripted inside an index is a parameter such as `stride[0]`."""
    if isinstance(node, ast.Subscript):
        return [node]
    return [found for child in ast.iter_child_nodes(node) for found in _outer_subscripts(child)]


def _subscripts(node: ast.Subscript) -> tuple[ast.expr, ...]:
    return tuple(node.slice.elts) if isinstance(node.slice, ast.Tuple) else (node.slice,)


def _affine(node: ast.expr, bound: Mapping[str, Any], params: Mapping[str, Any], tests: list[InRange | Divides]) -> Index:
    match node:
        case ast.Constant(value=int() as value):
            return const(value)
        case ast.Name(id=name):
            return bound[name] if name in bound else const(int(params[name]))
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int() as which)):
            return const(int(params[name][which]))
        case ast.BinOp(op=ast.Add()):
            return _affine(node.left, bound, params, tests) + _affine(node.right, bound, params, tests)
        case ast.BinOp(op=ast.Sub()):
            return _affine(node.left, bound, params, tests) - _affine(node.right, bound, params, tests)
        case ast.BinOp(op=ast.Mult()):
            left, right = _affine(node.left, bound, params, tests), _affine(node.right, bound, params, tests)
            return right * left.const if left.is_const else left * right.const
        case ast.BinOp(op=ast.Div()):
            top, divisor = _affine(node.left, bound, params, tests), _affine(node.right, bound, params, tests).const
            if divisor > 1:
                tests.append(InRange(top, 0, 1 << 31))
                tests.append(Divides(top, divisor))
            return top // divisor
        case _:
            raise DeclarationError(f"index expression {ast.unparse(node)!r} is not made of names, numbers, + - * /")


@dataclass(frozen=True)
class Update(KernelKind):
    """Writes part of its first input in place and leaves the rest: the op's result *is* that input afterwards.

    `space(site)` is the shape of the written part, `target(site, index)` where an element of it goes,
    `rule(site, index)` its value.
    """

    kind: ClassVar[str] = "update"
    space: Callable[[Site], Shape]
    target: Callable[[Site, Indices], Indices]
    rule: Callable[[Site, Indices], Expr]

    def element(self, site: Site, output: int, index: Indices) -> Expr:
        return self.rule(site, index)


@dataclass(frozen=True)
class Watch(KernelKind):
    """Sets a flag when an input is not finite. It has no pass of its own: whoever makes a watched value looks at it too."""

    kind: ClassVar[str] = "watch"


def number_to_index(expr: Expr, size: int) -> Index:
    """A loaded whole number as an index; the caller sees to it that it is in 0 .. size-1."""
    if isinstance(expr, Position):
        return expr.index
    return loaded(expr, size)
