"""Every sample of every operator alone on the device, compared with its NumPy reference in double precision.

One program an operator holds all its samples. The reference gets the same f32 inputs, so only the kernel's own rounding is
judged: a few units in the last place of the largest number involved, more for long sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from munet.engine.builder import Builder
from munet.engine.compile import compile_program
from munet.engine.dtypes import BOOL
from munet.engine.execute.vulkan.executor import VulkanExecutor
from munet.engine.ir.evaluate import run_op
from munet.engine.ir.module import Initial, Op, Source, Value
from munet.engine.kernels import Update
from munet.engine.operator import REGISTRY, Array, Operator
from munet.engine.passlist import Placement
from munet.engine.program import Program
from tests.device.validator import kernels_of, spirv_faults
from tests.nodes.cases import KERNEL_OPERATORS, Case, device_dtype

pytestmark = pytest.mark.device
RELATIVE = 1e-5  # elements: log, pow and the like are good to about 2e-6
OF_LARGEST = 2e-6  # of the largest element: sums of up to a few hundred terms that cancel


@pytest.fixture(scope="module")
def executor(cache: Path) -> Iterator[VulkanExecutor]:
    """One for all operators: starting one takes longer than running them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MUNET_CACHE_DIR", str(cache))
        with VulkanExecutor() as made:
            yield made


@pytest.mark.parametrize("off", [(), ("fuse", "join", "alias")], ids=["usual", "plain"])
@pytest.mark.parametrize("operator", KERNEL_OPERATORS, ids=lambda operator: operator.name)
def test_operator(executor: VulkanExecutor, operator: Operator, off: tuple[str, ...]):
    b = Builder(operator.name)
    cases = [Case(operator, number) for number in range(len(operator.samples))]
    ops: list[Op] = []
    arrays: dict[str, Array] = {}
    with b.active():
        for case in cases:
            ops.append(add_case(b, case))
            arrays |= {f"{case}/{i}": array for i, (_, array) in enumerate(case.inputs())}
        b.outputs |= {f"{case}.{i}": v for case, op in zip(cases, ops, strict=True) for i, v in enumerate(op.outputs)}
        module = b.finish()
    program = compile_program(module, executor.info, off=off, check=True)
    assert spirv_faults(kernels_of(program), executor.info) == []
    found = run(executor, program, arrays)
    for case, op in zip(cases, ops, strict=True):
        inputs = [rounded(array) for _, array in case.inputs()]
        for i, (value, expected) in enumerate(zip(op.outputs, run_op(op, inputs), strict=True)):
            compare(found[f"{case}.{i}"], expected, f"{case}, output {i}, {value}")


def add_case(b: Builder, case: Case) -> Op:
    """The op of a case; what it writes in place becomes a state."""
    op = case.add(b, f"{case}/")
    if isinstance(case.operator.kernel, Update):
        source = b.sources[f"{case}/0"]
        b.sources[source.name] = Source(source.name, "state", source.value, "records", op.output, Initial("zeros"))
    return op


def run(executor: VulkanExecutor, program: Program, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """One step; the outputs by name."""
    executor.load(program)
    for source in program.module.sources:
        stored = arrays[source.name].astype(device_dtype(arrays[source.name]).host)
        place = program.placements[source.value]
        if place.size_bytes:
            bits = stored.astype(np.uint32) if source.value.dtype is BOOL else stored
            executor.write(place.buffer, bits, offset_bytes=place.offset_bytes)
    executor.wait(executor.submit(program, first_step=0, steps=1, feeds={}))
    outputs = {name: read(executor, program.placements[v], v) for name, v in program.module.outputs.items()}
    executor.unload(program.name)
    return outputs


def read(executor: VulkanExecutor, place: Placement, value: Value) -> Array:
    dtype = np.dtype(np.uint32) if value.dtype is BOOL else value.dtype.host
    size = value.element_count * dtype.itemsize
    data = executor.read(place.buffer, offset_bytes=place.offset_bytes, size_bytes=size) if size else b""
    return np.frombuffer(data, dtype).reshape(value.shape)


def rounded(array: Array) -> Array:
    """As the device gets it, but in double precision."""
    return array.astype(np.float32).astype(np.float64) if array.dtype.kind == "f" else array


def compare(found: Array, expected: Array, what: str) -> None:
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected, err_msg=what)
        return
    finite = np.abs(expected[np.isfinite(expected)])
    atol = OF_LARGEST * float(finite.max(initial=0))
    np.testing.assert_allclose(found, expected, rtol=RELATIVE, atol=atol, err_msg=what)


# -- shapes that samples do not have ---------------------------------------------------------------------------------------


def on_device(executor: VulkanExecutor, operator: str, arrays: list[Array], times: int = 1, **params: Any) -> list[Array]:
    """The operator's result, computed `times` times."""
    b = Builder(f"shape {operator}")
    with b.active():
        inputs = [b.source(Source(str(i), "data", Value(a.shape, device_dtype(a), str(i)))) for i, a in enumerate(arrays)]
        b.outputs["y"] = REGISTRY[operator](*inputs, **params)  # type: ignore[operator]  # an Operator
        program = compile_program(b.finish(), executor.info, check=True)
    return [run(executor, program, {str(i): a for i, a in enumerate(arrays)})["y"] for _ in range(times)]


@pytest.mark.parametrize("columns", [1, 31, 32, 33, 255, 256, 257, 1025, 70_001])
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min"])
def test_rows_of_any_length_give_the_same_bits_each_time(executor: VulkanExecutor, name: str, columns: int):
    x = np.random.default_rng(columns).normal(size=(3, columns)).astype(np.float32)
    first, *others = on_device(executor, name, [x], times=20 if columns < 2000 else 3, axes=(1,))
    assert all(other.tobytes() == first.tobytes() for other in others)
    reference = getattr(np, name)(x.astype(np.float64), axis=1)
    # The sum's error grows with the size of its terms: about the square root of their number times their spread.
    np.testing.assert_allclose(first, reference, rtol=1e-5, atol=1e-6 * columns**0.5)


@pytest.mark.parametrize("rows", [1, 65_537, 262_147])
def test_more_rows_than_a_grid_has_workgroups(executor: VulkanExecutor, rows: int):
    x = np.random.default_rng(rows).normal(size=(rows, 3)).astype(np.float32)
    np.testing.assert_allclose(on_device(executor, "sum", [x], axes=(1,))[0], x.astype(np.float64).sum(1), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(on_device(executor, "neg", [x])[0], -x)


EMPTY = np.zeros((0, 3), np.float32)


@pytest.mark.parametrize(
    ("name", "arrays", "params", "expected"),
    [
        ("relu", [EMPTY], {}, EMPTY),
        ("transpose", [EMPTY], {}, EMPTY.T),
        ("sum", [EMPTY], {"axes": (0,)}, np.zeros(3)),
        ("sum", [EMPTY], {"axes": (1,)}, np.zeros(0)),
        ("concat", [EMPTY, np.ones((2, 3), np.float32)], {"axis": 0}, np.ones((2, 3))),
        ("matmul", [EMPTY.T, EMPTY], {}, np.zeros((3, 3))),
        ("matmul", [EMPTY, np.ones((3, 5), np.float32)], {}, np.zeros((0, 5))),
        ("pad", [EMPTY], {"axis": 0, "before": 2}, np.zeros((2, 3))),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_empty_tensors(executor: VulkanExecutor, name: str, arrays: list[Array], params: dict[str, Any], expected: Array):
    (found,) = on_device(executor, name, arrays, **params)
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


def test_not_a_number_is_kept(executor: VulkanExecutor):
    """GLSL's own max(NaN, 0) is 0, which would hide that training has broken down."""
    x = np.array([np.nan, -1.0, 2.0, np.inf], np.float32)
    for name in ("relu", "sum", "max", "min", "mean", "tanh", "sigmoid", "silu", "softplus", "abs", "neg", "exp", "square"):
        (found,) = on_device(executor, name, [x])
        assert np.isnan(found.flat[0]), name
    for name in ("maximum", "minimum", "add", "mul", "pow"):
        (found,) = on_device(executor, name, [x, np.full(4, 0.5, np.float32)])
        assert np.isnan(found[0]), name
