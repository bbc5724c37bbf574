"""How many bytes of its buffers a kernel uses: a batch of a data set, not all of it; one row of a ring, not the ring.

Each element counts once, however often it is read: what a kernel moves at least. Where an op looks up single elements, there
are no more of them than it has results.
"""

from __future__ import annotations

import math

from munet.engine.codegen.form import Form
from munet.engine.coordinates import identity_element, kernel_of
from munet.engine.ir.module import Op, Value
from munet.engine.kernels import Update, View
from munet.engine.scalar import Expr, Fold, children, loads


def bytes_read(form: Form, value: Value) -> int:
    """Of an input."""
    used = sum(_elements_used(op, value) for op in form.ops if value in op.inputs)
    return _bytes(value, min(used, value.element_count))


def bytes_written(form: Form, value: Value) -> int:
    """Of a result; an update leaves most of its own as it was."""
    updates = any(isinstance(kernel_of(op), Update) and value is op.output for op in form.ops)
    return _bytes(value, min(math.prod(form.space), value.element_count)) if updates else value.size_bytes


def _elements_used(op: Op, value: Value) -> int:
    if not isinstance(kernel_of(op), View):
        return value.element_count
    element = identity_element(op)
    if _folds(element):
        return value.element_count
    return op.output.element_count * sum(load.value is value for load in loads(element))


def _folds(expr: Expr) -> bool:
    """Whether a result takes more than one element by one load."""
    return isinstance(expr, Fold) or any(map(_folds, children(expr)))


def _bytes(value: Value, elements: int) -> int:
    return (elements * value.dtype.stored_bits + 7) // 8
