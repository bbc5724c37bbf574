"""The registry's samples as test cases: their inputs as arrays, and the op they make in a builder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import munet.nodes  # noqa: F401  # fills the registry
from munet.engine.builder import Builder
from munet.engine.dtypes import F32, F64, DType, of_array
from munet.engine.ir.module import Op, Source, Value
from munet.engine.kernels import Watch
from munet.engine.operator import REGISTRY, Array, Operator, Sample


@dataclass(frozen=True)
class Case:
    """One sample of an operator."""

    operator: Operator
    number: int

    def __str__(self) -> str:
        return f"{self.operator.name}-{self.number}"

    @property
    def sample(self) -> Sample:
        return self.operator.samples[self.number]

    def inputs(self) -> list[tuple[str, Array]]:
        """Sockets with their arrays in declared order, variadic sockets several times; floats in double precision."""
        given: list[tuple[str, Array]] = []
        for socket, declared in self.operator.inputs.items():
            if socket not in self.sample.inputs:
                continue
            value = self.sample.inputs[socket]
            given += [(socket, np.asarray(array)) for array in (value if declared.variadic else [value])]
        return given

    def add(self, b: Builder, prefix: str = "") -> Op:
        """The operator's op, its inputs as data sources "<prefix>0", "<prefix>1", ..."""
        wired: dict[str, list[Value]] = {}
        for position, (socket, array) in enumerate(self.inputs()):
            name = f"{prefix}{position}"
            value = b.source(Source(name, "data", Value(array.shape, device_dtype(array), name)))
            wired.setdefault(socket, []).append(value)
        b.add_op(self.operator, wired, self.sample.params)
        return b.ops[-1]


def device_dtype(array: Array) -> DType:
    """Samples are written in double precision, devices compute in f32."""
    found = of_array(array)
    return F32 if found is F64 else found


OPERATORS = [declared for declared in REGISTRY.values() if isinstance(declared, Operator)]
CASES = [Case(operator, number) for operator in OPERATORS for number in range(len(operator.samples))]
# A watch has no kernel of its own: see tests/engine/test_non_finite.py.
KERNEL_CASES = [case for case in CASES if not isinstance(case.operator.kernel, Watch)]
KERNEL_OPERATORS = [operator for operator in OPERATORS if not isinstance(operator.kernel, Watch)]
