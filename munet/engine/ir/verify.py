"""The law of the IR. Run between transforms in tests and whenever checks are on; a breach is a fault of the engine."""

from __future__ import annotations

from collections.abc import Sequence

from munet.engine.errors import VerifyError
from munet.engine.ir.module import Module, Op, Region, Value
from munet.engine.operator import operator_of


def verify(module: Module) -> Module:
    """The module itself if it keeps the law, else VerifyError naming the op.

    Every value is defined once and before its uses; results exist and fit their states; ops made by operators have the
    shapes and dtypes their declaration infers; regions use only what they are given.
    """
    names = [source.name for source in module.sources]
    if len(set(names)) != len(names):
        raise VerifyError(f"{module.name}: two sources share a name")
    known = {source.value for source in module.sources}
    _verify_ops(module.ops, known, module.name)
    for source in module.states:
        if source.result is not None:
            if source.result not in known:
                raise VerifyError(f"{module.name}: the result of state {source.name} is not computed")
            if (source.result.shape, source.result.dtype) != (source.value.shape, source.value.dtype):
                raise VerifyError(f"{module.name}: state {source.name} is {source.value}, its result {source.result}")
    for name, value in module.outputs.items():
        if value not in known:
            raise VerifyError(f"{module.name}: output {name} is not computed")
    return module


def _verify_ops(ops: Sequence[Op], known: set[Value], place: str) -> None:
    for op in ops:
        where = f"{place}: {op.operator} at {'/'.join(op.origin) or '(no origin)'}"
        for value in op.inputs:
            if value not in known:
                raise VerifyError(f"{where}: reads {value} before it is defined")
        for value in op.outputs:
            if value in known:
                raise VerifyError(f"{where}: defines {value} a second time")
        if op.regions:
            given, made = set(op.inputs), set(op.outputs)
            for region in op.regions:
                _verify_region(region, given, made, where)
                inner = set(region.inputs)
                _verify_ops(region.ops, inner, where)
                if any(value not in inner for value in region.outputs):
                    raise VerifyError(f"{where}: its body gives a value that it does not compute")
        else:
            _verify_declared(op, where)
        known.update(op.outputs)


def _verify_region(region: Region, given: set[Value], made: set[Value], where: str) -> None:
    """A body works on the op's own inputs and outputs: the same values, not copies of them."""
    for value in region.inputs:
        if value not in given:
            raise VerifyError(f"{where}: its body reads {value}, which is not an input of the op")
    for value in region.outputs:
        if value not in made:
            raise VerifyError(f"{where}: its body gives {value}, which is not an output of the op")


def _verify_declared(op: Op, where: str) -> None:
    declared = operator_of(op)
    if len(op.sockets) != len(op.inputs):
        raise VerifyError(f"{where}: {len(op.inputs)} inputs, {len(op.sockets)} socket names")
    given = {name: op.sockets_named(name) for name in declared.inputs if op.sockets_named(name)}
    expected = declared.infer(given, op.params)
    found = [(value.shape, value.dtype) for value in op.outputs]
    if found != expected:
        raise VerifyError(f"{where}: its results are {found}, the declaration says {expected}")
