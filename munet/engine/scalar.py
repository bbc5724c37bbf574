"""Scalar expressions: what one element of an operator's result is, as a tree over loads of its inputs.

Every operator that a device can run says this about itself (`kernels.py`); code generation pulls on it from the
results backwards and so fuses whole regions. Function names are those of `assets/shaders/include/math.glsl`, never GLSL's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from munet.engine.dtypes import BOOL, F32, I32, U32, DType
from munet.engine.index import Index, Loaded, Var
from munet.engine.ir.module import Value

Number = float | int | bool


@dataclass(frozen=True)
class Literal:
    value: Number
    dtype: DType


@dataclass(frozen=True)
class Load:
    """The element of a value at `index`; in range unless an enclosing `Where` guards it."""

    value: Value
    index: tuple[Index, ...]

    @property
    def dtype(self) -> DType:
        return self.value.dtype


@dataclass(frozen=True)
class Apply:
    """A function of `FUNCTIONS` or an operator sign ("+", "<", "and", ...)."""

    name: str
    args: tuple[Expr, ...]
    dtype: DType


@dataclass(frozen=True)
class Where:
    """`yes` if `test` holds, else `no`; only the taken side is evaluated."""

    test: Expr
    yes: Expr
    no: Expr

    @property
    def dtype(self) -> DType:
        return self.yes.dtype


@dataclass(frozen=True)
class InRange:
    """low <= index < high, as a truth value."""

    index: Index
    low: int
    high: int
    dtype: DType = BOOL


@dataclass(frozen=True)
class Divides:
    """index is a multiple of `divisor`."""

    index: Index
    divisor: int
    dtype: DType = BOOL


@dataclass(frozen=True)
class Position:
    """An index used as a number."""

    index: Index
    dtype: DType = I32


@dataclass(frozen=True)
class Fold:
    """`body` combined over all values of `variables`, in row-major order; "argmax" gives the first largest's position."""

    variables: tuple[Var, ...]
    combine: str  # a key of FOLDS
    body: Expr

    @property
    def dtype(self) -> DType:
        return I32 if self.combine in ("argmax", "argmin") else self.body.dtype

    @property
    def count(self) -> int:
        total = 1
        for variable in self.variables:
            total *= variable.size
        return total


Expr = Literal | Load | Apply | Where | InRange | Divides | Position | Fold


@dataclass(frozen=True)
class FoldRule:
    """How partial results combine. `identity` in GLSL by dtype kind; `glsl` combines accumulator a with element b."""

    identity: dict[str, str]
    glsl: str


MINUS_INF, PLUS_INF = "uintBitsToFloat(0xff800000u)", "uintBitsToFloat(0x7f800000u)"
FOLDS = {
    "add": FoldRule({"float": "0.0", "int": "0", "uint": "0u", "bool": "false"}, "{a} + {b}"),
    "mul": FoldRule({"float": "1.0", "int": "1", "uint": "1u"}, "{a} * {b}"),
    "max": FoldRule({"float": MINUS_INF, "int": "-2147483648", "uint": "0u"}, "mu_max({a}, {b})"),
    "min": FoldRule({"float": PLUS_INF, "int": "2147483647", "uint": "4294967295u"}, "mu_min({a}, {b})"),
    "argmax": FoldRule({"float": MINUS_INF, "int": "-2147483648", "uint": "0u"}, ""),
    "argmin": FoldRule({"float": PLUS_INF, "int": "2147483647", "uint": "4294967295u"}, ""),
}


@dataclass(frozen=True)
class Function:
    """A name that kernel expressions may use: its GLSL spelling, argument count, and result dtype from the arguments'."""

    glsl: str
    arity: int
    result: Callable[[Sequence[DType]], DType]
    flops: int = 1


def _same(dtypes: Sequence[DType]) -> DType:
    return dtypes[0]


def _bool(_: Sequence[DType]) -> DType:
    return BOOL


def _to(dtype: DType) -> Callable[[Sequence[DType]], DType]:
    return lambda _: dtype


FUNCTIONS: dict[str, Function] = {
    name: Function(f"mu_{name}", 1, _same, flops)
    for name, flops in {
        "exp": 12, "expm1": 16, "exp2": 10, "log": 12, "log1p": 16, "log2": 12, "sqrt": 4, "rsqrt": 4, "sin": 16, "cos": 16,
        "tan": 24, "asin": 16, "acos": 16, "atan": 16, "sinh": 20, "cosh": 20, "tanh": 16, "asinh": 24, "acosh": 24, "atanh": 20,
        "erf": 24, "sigmoid": 14, "softplus": 24, "abs": 1, "sign": 2, "floor": 1, "ceil": 1, "round": 1, "trunc": 1,
    }.items()
}  # fmt: skip
FUNCTIONS |= {name: Function(f"mu_{name}", 1, _bool) for name in ("isnan", "isinf", "isfinite")}
FUNCTIONS |= {
    name: Function(f"mu_{name}", 2, _same, flops)
    for name, flops in {"max": 1, "min": 1, "pow": 28, "atan2": 20, "mod": 3, "fmod": 3, "floordiv": 2}.items()
}
FUNCTIONS |= {  # of key, key, step, element: a word, or numbers made of words, of a counter-based stream (random.glsl)
    name: Function(f"mu_{name}", 4, _to(dtype), 60)
    for name, dtype in {"random_bits": U32, "random_uniform": F32, "random_normal": F32}.items()
}
FUNCTIONS["clamp"] = Function("mu_clamp", 3, _same, 2)
FUNCTIONS["f32"] = Function("float", 1, _to(F32), 0)
FUNCTIONS["i32"] = Function("int", 1, _to(I32), 0)
FUNCTIONS["u32"] = Function("uint", 1, _to(U32), 0)

SIGNS = {"+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!=", "and", "or", "not", "negate", "xor", "&", "|", "^", "<<", ">>"}
TRUTHS = {"<", "<=", ">", ">=", "==", "!=", "and", "or", "not", "xor"}


def literal(value: Number, dtype: DType) -> Literal:
    if dtype.is_float:
        return Literal(float(value), dtype)
    return Literal(bool(value), dtype) if dtype is BOOL else Literal(int(value), dtype)


def apply(name: str, *args: Expr) -> Expr:
    """An `Apply` with its dtype worked out; literals beside an operand take the operand's dtype."""
    if name in SIGNS or FUNCTIONS[name].arity > 1:
        args = _matched(args)
    if name in SIGNS:
        return Apply(name, args, BOOL if name in TRUTHS else args[0].dtype)
    return Apply(name, args, FUNCTIONS[name].result([arg.dtype for arg in args]))


def _matched(args: tuple[Expr, ...]) -> tuple[Expr, ...]:
    loads = [arg for arg in args if not isinstance(arg, Literal)]
    if not loads or len(loads) == len(args):
        return args
    dtype = loads[0].dtype
    if dtype is BOOL:
        return args
    for arg in args:
        if isinstance(arg, Literal) and isinstance(arg.value, float) and not dtype.is_float:
            return args
    return tuple(literal(arg.value, dtype) if isinstance(arg, Literal) else arg for arg in args)


def children(expr: Expr) -> tuple[Expr, ...]:
    match expr:
        case Apply():
            return expr.args
        case Where():
            return (expr.test, expr.yes, expr.no)
        case Fold():
            return (expr.body,)
        case _:
            return ()


def indices_of(expr: Expr) -> tuple[Index, ...]:
    """Index expressions that the node itself holds."""
    match expr:
        case Load():
            return expr.index
        case Position() | InRange() | Divides():
            return (expr.index,)
        case _:
            return ()


def loads(expr: Expr) -> Iterator[Load]:
    """All loads of an expression, those inside loaded indices included."""
    stack: list[Expr] = [expr]
    while stack:
        current = stack.pop()
        if isinstance(current, Load):
            yield current
        for index in indices_of(current):
            stack += [atom.expression for atom in index.atoms() if isinstance(atom, Loaded)]
        stack += children(current)


def is_guard(test: Expr) -> bool:
    """Whether a test keeps loads in range, so that only the side taken may be computed."""
    if isinstance(test, InRange | Divides):
        return True
    return isinstance(test, Apply) and test.name == "and" and any(is_guard(arg) for arg in test.args)


def count_guards(expr: Expr) -> int:
    """Loads, or groups of them, that hang on a test."""
    own = 1 if isinstance(expr, Where) and is_guard(expr.test) else 0
    return own + sum(count_guards(child) for child in children(expr))


def count_flops(expr: Expr) -> int:
    """Arithmetic of one element, folds multiplied out; integer index arithmetic is not counted."""
    match expr:
        case Apply():
            own = FUNCTIONS[expr.name].flops if expr.name in FUNCTIONS else 1
            return own + sum(count_flops(arg) for arg in expr.args)
        case Where():
            return count_flops(expr.test) + max(count_flops(expr.yes), count_flops(expr.no))
        case Fold():
            return expr.count * (count_flops(expr.body) + 1)
        case _:
            return 0


def guarded(tests: Sequence[InRange | Divides], value: Expr, otherwise: Any = 0) -> Expr:
    """`value` where all tests hold; tests that always hold vanish."""
    open_tests: list[Expr] = []
    for test in tests:
        if isinstance(test, InRange):
            if test.index.low >= test.low and test.index.high < test.high:
                continue
            if test.index.high < test.low or test.index.low >= test.high:
                return literal(otherwise, value.dtype)
        elif (test.index % test.divisor).is_const and (test.index % test.divisor).const == 0:
            continue
        open_tests.append(test)
    if not open_tests:
        return value
    condition = open_tests[0]
    for test in open_tests[1:]:
        condition = Apply("and", (condition, test), BOOL)
    return Where(condition, value, literal(otherwise, value.dtype))
