"""Writes scalar expressions as GLSL by pulling: a result asks for its element, which asks for the elements it is made of.

What is asked for twice at the same index is computed once. Scopes follow the braces of the generated code, so that nothing
computed under a condition or in a loop is used outside; and what does not depend on a loop's variable is computed before the
loop, but never before a condition that may keep a load in range.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from munet.engine.coordinates import Indices, kernel_of
from munet.engine.dtypes import BOOL, U8, DType
from munet.engine.index import Atom, Index, Loaded, Quotient, Var, Within, flatten
from munet.engine.ir.module import Op, Value
from munet.engine.kernels import Site
from munet.engine.scalar import (
    FOLDS,
    FUNCTIONS,
    Apply,
    Divides,
    Expr,
    Fold,
    InRange,
    Literal,
    Load,
    Number,
    Position,
    Where,
    children,
    indices_of,
    is_guard,
    loads,
)

SIGNS = {"and": "&&", "or": "||", "xor": "!="}
BYTES = "bytes"  # how names of buffers begin that are written byte by byte; only the device's 8-bit storage can do that
# Functions worth computing once where two ops ask for the same of the same number.
COSTLY = frozenset(name for name, function in FUNCTIONS.items() if function.flops >= 10)
BLOCK = 64  # long float sums are added up in blocks: the error grows with the root of their number, not of the length


@dataclass
class Scope:
    """Lines between two braces, and what is known there. Only a `loop` may be written out of."""

    depth: int
    loop: bool = False
    defines: frozenset[Var] = frozenset()
    lines: list[str] = field(default_factory=list)
    known: dict[object, str] = field(default_factory=dict)


class Writer:
    """Lines of a kernel's `main`. `ops` are the body, `buffers` names the array of each value that lies in memory."""

    def __init__(
        self, ops: Sequence[Op], buffers: Mapping[Value, str], watched: Collection[Value] = (), flag: Value | None = None
    ):
        self.producer = {value: op for op in ops for value in op.outputs}
        self.buffers = buffers
        self.watched, self.flag = watched, flag
        self.scopes = [Scope(1)]
        self.variables: dict[Var, str] = {}
        self.counts: dict[str, int] = {}
        self.texts: dict[str, str] = {}  # what the named elements are
        self.folded: dict[Fold, str] = {}  # folds whose result is known already

    @property
    def lines(self) -> list[str]:
        return self.scopes[0].lines

    # -- lines ----------------------------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        scope = self.scopes[-1]
        scope.lines.append("  " * scope.depth + text)

    def name(self, prefix: str) -> str:
        number = self.counts.get(prefix, 0)
        self.counts[prefix] = number + 1
        return f"{prefix}{number}"

    @contextmanager
    def block(self, head: str, *, defines: Sequence[Var] = (), loop: bool = False) -> Iterator[None]:
        """Braces. Lines of the block reach the code when it closes, so that its parent can still be added to before it."""
        parent = self.scopes[-1]
        inner = Scope(parent.depth + 1, loop, frozenset(defines))
        self.scopes.append(inner)
        yield
        self.scopes.pop()
        indent = "  " * parent.depth
        parent.lines += [f"{indent}{head} {{", *inner.lines, f"{indent}}}"]

    def _known(self, key: object) -> str | None:
        return next((scope.known[key] for scope in reversed(self.scopes) if key in scope.known), None)

    def remember(self, value: Value, index: Indices, text: str) -> None:
        self.scopes[-1].known[value, index] = text

    @contextmanager
    def hoisted(self, indices: Sequence[Index]) -> Iterator[None]:
        """Write as far out of the enclosing loops as `indices` allow."""
        needed = set(variables_in(indices))
        keep = len(self.scopes)
        while keep > 1 and self.scopes[keep - 1].loop and not (self.scopes[keep - 1].defines & needed):
            keep -= 1
        saved = self.scopes
        self.scopes = saved[:keep]
        yield
        self.scopes = saved

    # -- values ---------------------------------------------------------------------------------------------------------

    def value(self, value: Value, index: Indices) -> str:
        """A name (or literal) for the element of `value` at `index`, computed or loaded where the code now stands.

        What it is made of comes first, off a stack: chains are longer than Python's calls may be deep.
        """
        pending, elements = [(value, index)], dict[tuple[Value, Indices], Expr | None]()
        while pending:
            key = pending[-1]
            if self._known(key) is None:
                if key not in elements:
                    elements[key] = self._element(*key)
                expr = elements[key]
                missing = [] if expr is None else [k for k in self._certain_loads(expr) if self._known(k) is None]
                if missing:
                    pending += reversed(missing)
                    continue
                self._write_value(*key, expr)
            pending.pop()
        known = self._known((value, index))
        assert known is not None
        return known

    def _element(self, value: Value, index: Indices) -> Expr | None:
        """How the element is computed; None if it lies in memory."""
        producer = self.producer.get(value)
        return None if producer is None else kernel_of(producer).element(Site(producer), producer.outputs.index(value), index)

    def _certain_loads(self, expr: Expr) -> Iterator[tuple[Value, Indices]]:
        """What the expression reads whatever happens: not under a condition, not in a loop of its own."""
        stack = [expr]
        while stack:
            current = stack.pop()
            if isinstance(current, Load):
                yield current.value, current.index
            elif not isinstance(current, Fold) and not (isinstance(current, Where) and is_guard(current.test)):
                stack += reversed(children(current))

    def _write_value(self, value: Value, index: Indices, expr: Expr | None) -> None:
        with self.hoisted(index):
            text = self._load(value, index) if expr is None else self.expr(expr)
            if not (text.isidentifier() or _is_number(text)):
                name = self.name("t")
                self.line(f"{value.dtype.register} {name} = {text};")
                self.texts[name] = text
                text = name
            self.remember(value, index, text)

    def _load(self, value: Value, index: Indices) -> str:
        return read_element(self.buffers[value], value.dtype, self.index(flatten(index, value.shape)))

    def store(self, value: Value, index: Indices, text: str) -> None:
        position = self.index(flatten(index, value.shape))
        stored = f"({text} ? 1u : 0u)" if value.dtype is BOOL else f"uint8_t({text})" if value.dtype is U8 else text
        self.line(f"{self.buffers[value]}[{position}] = {stored};")
        if value in self.watched and self.flag is not None:
            # Whoever writes it writes 1, so that no order is needed.
            self.line(f"if (!mu_isfinite({text})) {self.buffers[self.flag]}[0] = 1;")

    # -- expressions ----------------------------------------------------------------------------------------------------

    def expr(self, expr: Expr) -> str:
        match expr:
            case Literal():
                return number_text(expr.value, expr.dtype)
            case Load():
                return self.value(expr.value, expr.index)
            case Apply():
                return self._apply(expr)
            case Where():
                return self._where(expr)
            case InRange() | Divides():
                return self._test(expr)
            case Position():
                return self._converted(self.index(expr.index), expr.dtype)
            case Fold():
                return self.fold(expr)

    def _converted(self, text: str, dtype: DType) -> str:
        return f"{dtype.register}({text})" if dtype.register != "int" else f"({text})"

    def _apply(self, expr: Apply) -> str:
        args = [self.expr(arg) for arg in expr.args]
        if expr.name in COSTLY:
            return self._called_once(expr, args)
        if expr.name in FUNCTIONS:
            return f"{FUNCTIONS[expr.name].glsl}({', '.join(args)})"
        if expr.name == "negate":
            return f"(-{args[0]})"
        if expr.name == "not":
            return f"(!{args[0]})"
        return f"({args[0]} {SIGNS.get(expr.name, expr.name)} {args[1]})"

    def _called_once(self, expr: Apply, args: Sequence[str]) -> str:
        """gelu and its slope both take an error function of the same number, which each writes in its own way."""
        key = (expr.name, *(self.texts.get(arg, arg) for arg in args))
        known = self._known(key)
        if known is None:
            known = self.name("f")
            self.line(f"{expr.dtype.register} {known} = {FUNCTIONS[expr.name].glsl}({', '.join(args)});")
            self.scopes[-1].known[key] = known
        return known

    def _test(self, expr: InRange | Divides) -> str:
        index = self.index(expr.index)
        if isinstance(expr, Divides):
            return f"({self.index(expr.index % expr.divisor)} == 0)"
        tests = []
        if expr.index.low < expr.low:
            tests.append(f"{index} >= {expr.low}")
        if expr.index.high >= expr.high:
            tests.append(f"{index} < {expr.high}")
        return f"({' && '.join(tests)})" if tests else "true"

    def _where(self, expr: Where) -> str:
        if not is_guard(expr.test):
            return f"({self.expr(expr.test)} ? {self.expr(expr.yes)} : {self.expr(expr.no)})"
        name = self._known(expr)
        if name is None:
            name = self.scopes[-1].known[expr] = self._guarded(expr)
        return name

    def _guarded(self, expr: Where) -> str:
        """A variable that is only computed where its loads are in range."""
        test = self.expr(expr.test)
        name = self.name("w")
        register = expr.dtype.register
        if isinstance(expr.no, Literal):
            self.line(f"{register} {name} = {self.expr(expr.no)};")
            with self.block(f"if ({test})"):
                self.line(f"{name} = {self.expr(expr.yes)};")
            return name
        self.line(f"{register} {name};")
        with self.block(f"if ({test})"):
            self.line(f"{name} = {self.expr(expr.yes)};")
        with self.block("else"):
            self.line(f"{name} = {self.expr(expr.no)};")
        return name

    # -- folds ----------------------------------------------------------------------------------------------------------

    def fold(self, expr: Fold) -> str:
        """A fold by one invocation, in loops."""
        if expr in self.folded:
            return self.folded[expr]
        if expr.combine in ("argmax", "argmin"):
            return self._fold_position(expr)
        name = self.name("acc")
        register = expr.dtype.register
        self.line(f"{register} {name} = {FOLDS[expr.combine].identity[expr.dtype.kind]};")
        outer, inner = expr.variables[:1], expr.variables[1:]
        if expr.combine == "add" and expr.dtype.is_float and inner and expr.count > BLOCK:
            with self.loops(outer):
                part = self.name("part")
                self.line(f"{register} {part} = 0.0;")
                with self.loops(inner):
                    self.line(f"{part} += {self.expr(expr.body)};")
                self.line(f"{name} += {part};")
        elif expr.combine == "add" and expr.dtype.is_float and expr.count > 2 * BLOCK:
            self._blocked_sum(expr, name, register)
        else:
            with self.loops(expr.variables):
                self.line(f"{name} = {FOLDS[expr.combine].glsl.format(a=name, b=self.expr(expr.body))};")
        return name

    def _blocked_sum(self, expr: Fold, name: str, register: str) -> None:
        (variable,) = expr.variables
        start, part, loop = self.name("start"), self.name("part"), self.name("r")
        with self.block(f"for (int {start} = 0; {start} < {variable.size}; {start} += {BLOCK})", loop=True):
            self.line(f"{register} {part} = 0.0;")
            self.variables[variable] = loop
            head = f"for (int {loop} = {start}; {loop} < min({start} + {BLOCK}, {variable.size}); ++{loop})"
            with self.block(head, defines=(variable,), loop=True):
                self.line(f"{part} += {self.expr(expr.body)};")
            self.line(f"{name} += {part};")

    def _fold_position(self, expr: Fold) -> str:
        best, at = self.name("best"), self.name("at")
        dtype = expr.body.dtype
        self.line(f"{dtype.register} {best} = {FOLDS[expr.combine].identity[dtype.kind]};")
        self.line(f"int {at} = 0;")
        sign = ">" if expr.combine == "argmax" else "<"
        position = flatten([Index(0, ((v, 1),)) for v in expr.variables], [v.size for v in expr.variables])
        with self.loops(expr.variables):
            candidate = self.name("c")
            self.line(f"{dtype.register} {candidate} = {self.expr(expr.body)};")
            nan = f" || (mu_isnan({candidate}) && !mu_isnan({best}))" if dtype.is_float else ""
            with self.block(f"if ({candidate} {sign} {best}{nan})"):
                self.line(f"{best} = {candidate};")
                self.line(f"{at} = {self.index(position)};")
        return at

    @contextmanager
    def loops(self, variables: Sequence[Var]) -> Iterator[None]:
        """Nested loops over fold variables."""
        if not variables:
            yield
            return
        name = self.variables[variables[0]] = self.name("r")
        head = f"for (int {name} = 0; {name} < {variables[0].size}; ++{name})"
        with self.block(head, defines=(variables[0],), loop=True), self.loops(variables[1:]):
            yield

    # -- indices --------------------------------------------------------------------------------------------------------

    def index(self, index: Index) -> str:
        """The index as an `int` expression; loaded indices are computed first."""
        parts: list[str] = []
        for atom, coefficient in index.terms:
            text = self._atom(atom)
            if coefficient in (1, -1):
                parts.append(f"{'- ' if coefficient < 0 else '+ '}{text}")
            else:
                parts.append(f"{'- ' if coefficient < 0 else '+ '}{text} * {abs(coefficient)}")
        if index.const or not parts:
            parts.append(f"{'- ' if index.const < 0 else '+ '}{abs(index.const)}")
        text = " ".join(parts)
        text = text[2:] if text.startswith("+ ") else "-" + text[2:]
        return text if len(parts) == 1 and "*" not in text and "-" not in text else f"({text})"

    def _loaded(self, atom: Loaded) -> str:
        known = self._known(atom)
        if known is None:
            with self.hoisted([Index(0, ((atom, 1),))]):
                known = self.name("k")
                text = self.expr(atom.expression)
                self.line(f"int {known} = int({text});")
                self.scopes[-1].known[atom] = known
        return known

    def _atom(self, atom: Atom) -> str:
        match atom:
            case Var():
                return self.variables.get(atom, atom.text)
            case Loaded():
                return self._loaded(atom)
            case Within():
                return self.index(atom.inner)
        inner, divisor = self.index(atom.inner), atom.divisor
        power = divisor.bit_length() - 1 if divisor & (divisor - 1) == 0 else None
        if isinstance(atom, Quotient):
            if power is not None:
                return f"({inner} >> {power})"
            return f"int(uint({inner}) / {divisor}u)" if atom.inner.low >= 0 else f"mu_floordiv({inner}, {divisor})"
        if power is not None:
            return f"({inner} & {divisor - 1})"
        return f"int(uint({inner}) % {divisor}u)" if atom.inner.low >= 0 else f"mu_mod({inner}, {divisor})"


def variables_in(indices: Sequence[Index]) -> Iterator[Var]:
    """All variables that index expressions depend on, those of loaded indices included."""
    for index in indices:
        for atom in index.atoms():
            if isinstance(atom, Var):
                yield atom
            elif isinstance(atom, Loaded):
                for load in loads(atom.expression):
                    yield from variables_in(load.index)
                yield from variables_in(_positions(atom.expression))


def _positions(expr: Expr) -> list[Index]:
    """Indices used in an expression outside of loads."""
    return [*indices_of(expr), *(index for child in children(expr) for index in _positions(child))]


def _is_number(text: str) -> bool:
    return text.rstrip("u").replace(".", "", 1).isdecimal() or text in ("true", "false")


def read_element(buffer: str, dtype: DType, position: str) -> str:
    """One element of a buffer as a register; bytes lie four to a word, where the shader does not write them."""
    if dtype is U8 and buffer.startswith(BYTES):
        return f"uint({buffer}[{position}])"
    if dtype is U8:
        return f"((({buffer}[{position} >> 2]) >> (({position} & 3) << 3)) & 0xffu)"
    return f"({buffer}[{position}] != 0u)" if dtype is BOOL else f"{buffer}[{position}]"


def storage_type(dtype: DType) -> str:
    """GLSL type of a buffer's elements."""
    return "uint" if dtype in (U8, BOOL) else dtype.register


def number_text(value: Number, dtype: DType) -> str:
    """A literal that reads back as exactly the same number."""
    if dtype is BOOL:
        return "true" if value else "false"
    if not dtype.is_float:
        whole = int(value)
        if dtype.kind == "uint":
            return f"{whole & 0xFFFFFFFF}u"
        return str(whole) if whole >= 0 else f"int({whole & 0xFFFFFFFF}u)"
    number = float(value)
    if math.isnan(number):
        return "uintBitsToFloat(0x7fc00000u)"
    if math.isinf(number):
        return f"uintBitsToFloat({'0x7f800000u' if number > 0 else '0xff800000u'})"
    text = f"{number:.9g}"
    if not any(mark in text for mark in ".e"):
        text += ".0"
    return f"({text})" if number < 0 or (number == 0 and math.copysign(1, number) < 0) else text
