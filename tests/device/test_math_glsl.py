"""include/math.glsl and random.glsl on the device against NumPy: documented bounds, special values exact, bits of Philox.

What the bounds presume of a device's own arithmetic is measured first, and only a device found wanting gets the additions
that math.glsl names.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from munet.engine import philox
from munet.engine.assets import shaders_root
from munet.engine.errors import DeviceUnavailable
from munet.engine.execute.base import Array
from munet.engine.execute.vulkan.executor import VulkanExecutor
from tests.device.arithmetic import SMALLEST, Arithmetic, flushed, measure
from tests.device.harness import LOCAL_SIZE, run_kernel

pytestmark = pytest.mark.device

INF, NAN = np.inf, np.nan
_erf, _erfc = (np.vectorize(function, otypes=[np.float64]) for function in (math.erf, math.erfc))


def sigmoid(x: Array) -> Array:
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1.0) / (1.0 + e)


REFERENCES: dict[str, Callable[[Array], Array]] = {
    **{name: getattr(np, name) for name in ("exp", "expm1", "exp2", "log", "log1p", "log2", "sqrt", "sin", "cos", "tan")},
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{name: getattr(np, name) for name in ("sinh", "cosh", "tanh")},
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "erf": _erf,
    "erfc": _erfc,
    "sigmoid": sigmoid,
    "softplus": lambda x: np.logaddexp(x, 0.0),
}
EXACT: dict[str, Callable[[Array], Array]] = {
    **{name: getattr(np, name) for name in ("abs", "sign", "floor", "ceil", "trunc", "isnan", "isinf", "isfinite")},
    "round": np.rint,
}
UNARY = (*REFERENCES, *EXACT)
EXACT_PAIRS: dict[str, Callable[[Array, Array], Array]] = {
    "max": np.maximum,
    "min": np.minimum,
    "mod": np.mod,
    "fmod": np.fmod,
    "floordiv": np.floor_divide,
}
PAIRS = ("pow", "atan2", *EXACT_PAIRS)
INTEGER_PAIRS = ("max", "min", "mod", "fmod", "floordiv", "pow")
DIVISION_ULP = 3.0  # what a division of 2.5 ulp adds to the functions marked (/)


@pytest.fixture(scope="module")
def executor() -> Iterator[VulkanExecutor]:
    try:
        opened = VulkanExecutor()
    except DeviceUnavailable as reason:
        pytest.skip(str(reason))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def arithmetic(executor: VulkanExecutor) -> Arithmetic:
    return measure(executor)


def kernel(body: str, inputs: int, dtype: str = "float", include: str = "math.glsl", fast: bool = False) -> str:
    """`body` computes y[...] of element i < n from x0[i], x1[i] ...: bindings in order, y last."""
    buffers = "".join(f"layout(binding = {k}, std430) readonly buffer X{k} {{ {dtype} x{k}[]; }};\n" for k in range(inputs))
    return f"""#version 450
{"#define MU_FAST_MATH" if fast else ""}
#include "{include}"
layout(local_size_x = {LOCAL_SIZE}) in;
{buffers}layout(binding = {inputs}, std430) writeonly buffer Y {{ {dtype} y[]; }};
layout(push_constant, std430) uniform Push {{ uint n; }};
void main() {{
    uint i = gl_GlobalInvocationID.x;
    if (i >= n)
        return;
{body}}}
"""


def call_all(executor: VulkanExecutor, names: tuple[str, ...], *args: Array, fast: bool = False) -> dict[str, Array]:
    """Every named function over the arguments, in one dispatch."""
    dtype = {"f": "float", "i": "int", "u": "uint"}[args[0].dtype.kind]
    values = ", ".join(f"x{k}[i]" for k in range(len(args)))
    body = "".join(f"    y[{k}u * n + i] = {dtype}(mu_{name}({values}));\n" for k, name in enumerate(names))
    out = np.zeros((len(names), len(args[0])), args[0].dtype)
    run_kernel(executor, kernel(body, len(args), dtype, fast=fast), list(args), [out], len(args[0]))
    return dict(zip(names, out, strict=True))


def ulps(got: Array, exact: Array) -> Array:
    """Distance in units in the last place of the exact result; infinity counts as 2^128. NaN must meet NaN."""
    np.testing.assert_array_equal(np.isnan(got), np.isnan(exact))
    g, e = (np.clip(np.where(np.isnan(v), 0.0, v.astype(np.float64)), -(2.0**128), 2.0**128) for v in (got, exact))
    exponent = np.floor(np.log2(np.maximum(np.abs(e), 2.0**-126)))
    return np.abs(g - e) / 2.0 ** (np.minimum(exponent, 127) - 23)


def documented(name: str, arithmetic: Arithmetic) -> float:
    """The bound in ulp that stands above a function in math.glsl, with the addition for (/) where the device needs it."""
    text = (shaders_root() / "include" / "math.glsl").read_text(encoding="utf-8")
    found = re.search(rf"// (?:As mu_sin: )?([\d.]+) ulp( \(/\))?.*\nfloat mu_{name}\(", text)
    assert found, f"mu_{name} has no bound"
    return float(found[1]) + (DIVISION_ULP if found[2] and not arithmetic.divides_exactly else 0.0)


@pytest.fixture(scope="module")
def arguments() -> Array:
    """All exponents and signs, NaN and infinities among them; dense ranges; multiples of pi / 2; ends of domains."""
    rng = np.random.default_rng(7)
    everywhere = np.arange(0, 2**32, 2**15, dtype=np.uint64) + rng.integers(0, 2**15, 2**17).astype(np.uint64)
    dense = [rng.uniform(-scale, scale, 12000) for scale in (1, 2, 10, 100, 1000, 1e5)]
    turns = np.arange(1, 3000) * (np.pi / 2)
    edges = [0.0, -0.0, 1, -1, INF, -INF, NAN, 2.0**-149, -(2.0**-149), 2.0**-126, 3.4028235e38, -3.4028235e38]
    edges += [0.5, -0.5, 1.5, 2.5, -2.5, 88.72284, 88.7229, -87.5, -103.97, 89, 1e8, 4095.9998, 4096, 0.625, 0.9, 8388609]
    near_one = 1.0 + rng.uniform(-1e-2, 1e-2, 6000)
    parts = [np.array(edges), *dense, turns, near_one]
    return np.concatenate([*[part.astype(np.float32) for part in parts], everywhere.astype(np.uint32).view(np.float32)])


@pytest.fixture(scope="module")
def results(executor: VulkanExecutor, arguments: Array) -> dict[str, Array]:
    return call_all(executor, UNARY, arguments)


def further_error(name: str, x: Array, exact: Array) -> Array:
    """What sin, cos and tan add: below 4096 the reduced argument is 2^-36 off; from there on sin and cos get 1.5 ulp more."""
    if name not in ("sin", "cos", "tan"):
        return np.zeros(len(x))
    slope = 1.0 + exact**2 if name == "tan" else 1.0
    reduction = 2.0**-36 * slope / np.spacing(np.abs(exact).astype(np.float32))
    return np.nan_to_num(np.where(np.abs(x) < 4096, reduction, 1.5 * (name != "tan")), nan=0.0)


@pytest.mark.parametrize("name", REFERENCES)
def test_unary_function_stays_within_its_documented_bound(
    name: str, arithmetic: Arithmetic, arguments: Array, results: dict[str, Array]
) -> None:
    with np.errstate(all="ignore"):
        got, exact = arithmetic.settled(results[name], REFERENCES[name], arguments.astype(np.float64))
        error = ulps(got, exact)
        bound = documented(name, arithmetic) + further_error(name, arguments, exact)
    worst = int(np.argmax(error - bound))
    assert error[worst] <= bound[worst], f"mu_{name}({arguments[worst]!r}) = {results[name][worst]!r}: {error[worst]:.3f} ulp"


@pytest.mark.parametrize("name", EXACT)
def test_rounding_sign_and_bit_tests_are_exact(
    name: str, arithmetic: Arithmetic, arguments: Array, results: dict[str, Array]
) -> None:
    with np.errstate(invalid="ignore"):
        got, expected = arithmetic.settled(results[name], EXACT[name], arguments)
        np.testing.assert_array_equal(got, expected.astype(np.float32))


SPECIAL = {
    "exp": {89.0: INF, -INF: 0.0, INF: INF, 0.0: 1.0, -104.0: 0.0},
    "expm1": {INF: INF, -INF: -1.0, -50.0: -1.0, 0.0: 0.0},
    "log": {0.0: -INF, -1.0: NAN, INF: INF, -INF: NAN, 1.0: 0.0},
    "log1p": {-1.0: -INF, -2.0: NAN, INF: INF, 0.0: 0.0},
    "log2": {0.0: -INF, 8.0: 3.0, -1.0: NAN},
    "exp2": {-149.0: 2.0**-149, 127.0: 2.0**127, 128.0: INF, 3.0: 8.0},
    "sqrt": {-1.0: NAN, 0.0: 0.0, INF: INF, 2.0**-148: 2.0**-74},
    "rsqrt": {0.0: INF, INF: 0.0, -1.0: NAN, 4.0: 0.5},
    "sin": {INF: NAN, -INF: NAN, 0.0: 0.0},
    "cos": {INF: NAN, -INF: NAN, 0.0: 1.0},
    "tan": {INF: NAN, 0.0: 0.0},
    "asin": {1.0001: NAN, -1.0001: NAN, 0.0: 0.0},
    "acos": {1.0: 0.0, 1.0001: NAN},
    "acosh": {1.0: 0.0, 0.999: NAN, INF: INF},
    "atanh": {1.0: INF, -1.0: -INF, 1.5: NAN, 1e10: NAN, INF: NAN},
    "sinh": {INF: INF, -INF: -INF, 90.0: INF},
    "cosh": {INF: INF, -INF: INF, -90.0: INF},
    "tanh": {INF: 1.0, -INF: -1.0, 100.0: 1.0, -100.0: -1.0},
    "erf": {INF: 1.0, -INF: -1.0, 0.0: 0.0},
    "erfc": {INF: 0.0, -INF: 2.0, 0.0: 1.0},
    "sigmoid": {INF: 1.0, -INF: 0.0, 0.0: 0.5},
    "softplus": {INF: INF, -INF: 0.0, 200.0: 200.0},
    "sign": {-0.5: -1.0, 0.0: 0.0},
    "round": {0.5: 0.0, 1.5: 2.0, 2.5: 2.0, -0.5: 0.0},
}


@pytest.mark.parametrize("fast", [False, True], ids=["own", "built-in"])
def test_special_values(executor: VulkanExecutor, arithmetic: Arithmetic, fast: bool) -> None:
    points = [*sorted({x for table in SPECIAL.values() for x in table}), -0.0, NAN]
    got = call_all(executor, UNARY, np.array(points, np.float32), fast=fast)
    where = {x: k for k, x in enumerate(points[:-2])}  # without -0.0, which is the same key as 0.0
    for name, table in SPECIAL.items():
        assert np.isnan(got[name][-1]), f"mu_{name} drops NaN"
        if not arithmetic.keeps_subnormals:
            table = {x: y for x, y in table.items() if x == 0 or abs(x) >= SMALLEST}
        values = np.array([got[name][where[x]] for x in table])
        expected = np.array(list(table.values()), np.float32)
        if fast:  # lavapipe's log2 takes subnormals for 2^-127, so the table has none
            np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-6, err_msg=name)
        else:
            kept = expected if arithmetic.keeps_subnormals else flushed(expected)
            np.testing.assert_array_equal(values, kept, err_msg=name)


def test_odd_functions_keep_the_sign_of_zero(executor: VulkanExecutor) -> None:
    names = ("sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "erf", "expm1", "log1p", "sqrt")
    for name, values in call_all(executor, names, np.array([-0.0, 0.0], np.float32)).items():
        assert np.signbit(values).tolist() == [True, False], name


def test_floats_are_what_the_device_was_asked_for(executor: VulkanExecutor, arithmetic: Arithmetic) -> None:
    """A mode that got lost on its way to the driver would not be noticed elsewhere."""
    if "subnormals_f32" in executor.info.features:
        assert arithmetic.keeps_subnormals
    if "nonfinite_f32" in executor.info.features:
        x, y = np.array([NAN, INF, -INF, 1.5], np.float32), np.empty(4, np.float32)
        run_kernel(executor, kernel("    y[i] = x0[i] - x0[i];\n", 1), [x], [y], 4)
        np.testing.assert_array_equal(y, [NAN, NAN, NAN, 0.0])


@pytest.fixture(scope="module")
def pairs() -> tuple[Array, Array]:
    """Every pair of special values; both signs and many sizes; close exponents, as remainders and angles like them."""
    special = np.array([0.0, -0.0, 1, -1, 2, -2, 3, -3, 0.5, -0.5, 1 / 3, -8, INF, -INF, NAN, 2.0**-149, 1e38, -1e38, 16777217])
    rng = np.random.default_rng(11)
    a, b = (grid.ravel() for grid in np.meshgrid(special, special))
    sizes = rng.integers(-30, 30, (2, 30000))
    wild = rng.uniform(-1, 1, (2, 30000)) * 2.0**sizes
    mild = rng.uniform(-10, 10, (2, 30000))
    bases = np.concatenate([rng.uniform(0, 3, 20000), 1.0 + rng.uniform(-1e-3, 1e-3, 20000)])
    exponents = np.concatenate([rng.uniform(-80, 80, 20000), rng.uniform(-1e5, 1e5, 20000)])
    whole = rng.integers(-40, 40, (2, 10000))
    x = np.concatenate([a, wild[0], mild[0], bases, whole[0]]).astype(np.float32)
    y = np.concatenate([b, wild[1], mild[1], exponents, whole[1]]).astype(np.float32)
    return x, y


@pytest.fixture(scope="module")
def pair_results(executor: VulkanExecutor, pairs: tuple[Array, Array]) -> dict[str, Array]:
    return call_all(executor, PAIRS, *pairs)


@pytest.mark.parametrize("name", ["pow", "atan2"])
def test_pow_and_atan2_stay_within_their_bounds(
    name: str, arithmetic: Arithmetic, pairs: tuple[Array, Array], pair_results: dict[str, Array]
) -> None:
    with np.errstate(all="ignore"):
        function = np.power if name == "pow" else np.arctan2
        error = ulps(*arithmetic.settled(pair_results[name], function, *(side.astype(np.float64) for side in pairs)))
    worst, bound = int(np.argmax(error)), documented(name, arithmetic)
    assert error[worst] <= bound, f"mu_{name}({pairs[0][worst]!r}, {pairs[1][worst]!r}): {error[worst]:.3f} ulp"


@pytest.mark.parametrize("name", EXACT_PAIRS)
def test_order_and_remainders_equal_numpy(
    name: str, arithmetic: Arithmetic, pairs: tuple[Array, Array], pair_results: dict[str, Array]
) -> None:
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(*arithmetic.settled(pair_results[name], EXACT_PAIRS[name], *pairs))


@pytest.mark.parametrize("fast", [False, True], ids=["own", "built-in"])
def test_special_powers_and_angles(executor: VulkanExecutor, fast: bool) -> None:
    x = np.array([-2, -2, 0, -8, 0, -2, 0, NAN, NAN, 1, -1, -INF, -0.0, 2, 2], np.float32)
    y = np.array([2, 3, 0, 1 / 3, -1, 2.5, NAN, 0, 1, NAN, INF, 3, -3, 200, -200], np.float32)
    power = [4, -8, 1, NAN, INF, NAN, NAN, 1, NAN, 1, 1, -INF, -INF, INF, 0]
    got = call_all(executor, ("pow", "atan2", "max", "min"), x, y, fast=fast)
    np.testing.assert_array_equal(got["pow"], np.array(power, np.float32))
    np.testing.assert_allclose(got["atan2"], np.arctan2(x, y), rtol=1e-6)
    assert got["atan2"][2] == 0.0
    np.testing.assert_array_equal(got["max"], np.maximum(x, y))
    np.testing.assert_array_equal(got["min"], np.minimum(x, y))


@pytest.mark.parametrize("fast", [False, True], ids=["own", "built-in"])
def test_clamp_keeps_nan(executor: VulkanExecutor, fast: bool) -> None:
    x = np.array([NAN, -5, 0.25, 5, INF, 0, 1, 2], np.float32)
    low = np.array([-1, -1, -1, -1, -1, NAN, -1, 3], np.float32)
    high = np.array([1, 1, 1, 1, 1, 1, NAN, 1], np.float32)
    got = call_all(executor, ("clamp",), x, low, high, fast=fast)["clamp"]
    np.testing.assert_array_equal(got, np.array([NAN, -1, 0.25, 1, 1, NAN, NAN, 1], np.float32))


def test_built_ins_are_close_where_they_are_chosen(executor: VulkanExecutor) -> None:
    names = ("exp", "exp2", "log", "log2", "sin", "cos", "tan", "tanh", "sqrt", "sigmoid")
    x = np.linspace(0.1, 1.5, 1009, dtype=np.float32)
    for name, values in call_all(executor, names, x, fast=True).items():
        np.testing.assert_allclose(values, REFERENCES[name](x.astype(np.float64)), rtol=1e-4, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
def test_integer_functions_equal_numpy(executor: VulkanExecutor, dtype: type) -> None:
    limits = np.iinfo(dtype)
    special = np.array([0, 1, 2, 3, 7, 46341, limits.max, limits.max - 1, limits.min, limits.min + 1], dtype)
    special = np.unique(np.concatenate([special, -special])) if dtype is np.int32 else special
    small = np.random.default_rng(3).integers(-40 if dtype is np.int32 else 0, 40, (2, 4000))
    a, b = (np.concatenate([grid.ravel(), small[k]]).astype(dtype) for k, grid in enumerate(np.meshgrid(special, special)))
    got = call_all(executor, INTEGER_PAIRS, a, b)
    with np.errstate(all="ignore"):
        for name, function in EXACT_PAIRS.items():
            np.testing.assert_array_equal(got[name], function(a, b), err_msg=name)
        raised = b >= 0
        np.testing.assert_array_equal(got["pow"][raised], np.power(a[raised], b[raised]))
    ones = np.where(np.abs(a) == 1, np.where((a == -1) & (b % 2 != 0), -1, 1), 0)
    np.testing.assert_array_equal(got["pow"][~raised], ones[~raised].astype(dtype))
    single = call_all(executor, ("abs", "sign", "floor", "ceil", "round", "trunc"), a)
    np.testing.assert_array_equal(single["abs"], np.abs(a))
    np.testing.assert_array_equal(single["sign"], np.sign(a))
    for name in ("floor", "ceil", "round", "trunc"):
        np.testing.assert_array_equal(single[name], a, err_msg=name)
    np.testing.assert_array_equal(call_all(executor, ("clamp",), a, b, b)["clamp"], b)


def test_philox_equals_numpy_for_any_counter_and_key(executor: VulkanExecutor) -> None:
    n = 1009
    drawn = np.random.default_rng(5).integers(0, 2**32, (6, n), dtype=np.uint32)
    drawn[:, :2] = [0, 2**32 - 1]
    counter = ", ".join(f"x0[{k}u * n + i]" for k in range(4))
    body = f"""    uvec4 words = mu_philox(uvec4({counter}), uvec2(x0[4u * n + i], x0[5u * n + i]));
    for (uint k = 0u; k < 4u; k++)
        y[k * n + i] = words[k];
"""
    got = np.zeros((4, n), np.uint32)
    run_kernel(executor, kernel(body, 1, "uint", "random.glsl"), [drawn], [got], n)
    for k in range(n):
        key = (int(drawn[4, k]), int(drawn[5, k]))
        assert got[:, k].tolist() == philox.philox(drawn[:4, k], key).tolist()


def random_values(executor: VulkanExecutor, key: philox.Key, step: int, elements: Array) -> Array:
    """Words, uniform and normal of some elements: uint32 [6, n]."""
    body = f"""    uvec4 words = mu_random_words(uvec2({key[0]}u, {key[1]}u), {step}u, x0[i]);
    for (uint k = 0u; k < 4u; k++)
        y[k * n + i] = words[k];
    y[4u * n + i] = floatBitsToUint(mu_uniform(words.x));
    y[5u * n + i] = floatBitsToUint(mu_normal(words.xy));
"""
    out = np.zeros((6, len(elements)), np.uint32)
    run_kernel(executor, kernel(body, 1, "uint", "random.glsl"), [elements], [out], len(elements))
    return out


def test_random_words_and_uniforms_equal_numpy_bit_for_bit(executor: VulkanExecutor) -> None:
    key, step = philox.stream_key(41, ("dropout 1",)), 4_000_000_007 % 2**32
    elements = np.concatenate([np.arange(50021, dtype=np.uint32), np.array([2**31, 2**32 - 1], np.uint32)])
    got = random_values(executor, key, step, elements)
    words = philox.random_words(key, step, elements)
    np.testing.assert_array_equal(got[:4].T, words)
    np.testing.assert_array_equal(got[4].view(np.float32), philox.to_uniform(words[:, 0]))
    np.testing.assert_allclose(got[5].view(np.float32), philox.to_normal(words), rtol=0, atol=1e-6)
