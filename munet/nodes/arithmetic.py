"""Element-wise arithmetic, comparison and choice. Inputs broadcast as in NumPy; autodiff sums gradients of broadcast inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from munet.engine.declaring import not_differentiable, operator
from munet.engine.dtypes import BOOL, BY_NAME
from munet.engine.ir.module import Value
from munet.engine.kernels import Elementwise, View
from munet.engine.operator import Array, Choice, Grads, Input, Output, Sample
from munet.engine.scalar import apply, literal
from munet.nodes.samples import apart, normal, positive, truths, whole

ANY = {"x": Input("*any"), "y": Input("*any")}
PAIRS = [
    Sample({"x": normal(7, 11), "y": apart(7, 11)}),
    Sample({"x": normal(5, 1, 3), "y": apart(4, 1)}),
    Sample({"x": normal(1), "y": apart()}),
]
ARITHMETIC = "Arithmetic"


@operator("add", category=ARITHMETIC, inputs=ANY, outputs={"z": Output("*any")}, kernel=Elementwise("x + y"), samples=PAIRS)
def add(x: Array, y: Array) -> Array:
    """x + y."""
    return x + y


@add.gradient
def add_gradient(g: Value) -> Grads:
    return {"x": g, "y": g}


@operator("sub", category=ARITHMETIC, inputs=ANY, outputs={"z": Output("*any")}, kernel=Elementwise("x - y"), samples=PAIRS)
def sub(x: Array, y: Array) -> Array:
    """x - y."""
    return x - y


@sub.gradient
def sub_gradient(g: Value) -> Grads:
    return {"x": g, "y": -g}


@operator("mul", category=ARITHMETIC, inputs=ANY, outputs={"z": Output("*any")}, kernel=Elementwise("x * y"), samples=PAIRS)
def mul(x: Array, y: Array) -> Array:
    """x · y, element by element."""
    return x * y


@mul.gradient
def mul_gradient(g: Value, x: Value, y: Value) -> Grads:
    return {"x": g * y, "y": g * x}


@operator(
    "div",
    category=ARITHMETIC,
    inputs={"x": Input("*any", "T:float"), "y": Input("*any", "T:float")},
    outputs={"z": Output("*any")},
    kernel=Elementwise("x / y"),
    samples=PAIRS,
)
def div(x: Array, y: Array) -> Array:
    """x / y; division by zero gives an infinity, 0 / 0 is not a number."""
    return x / y


@div.gradient
def div_gradient(g: Value, y: Value, z: Value) -> Grads:
    return {"x": g / y, "y": -(g * z) / y}


@operator(
    "pow",
    category=ARITHMETIC,
    inputs={"x": Input("*any", "T:float"), "y": Input("*any", "T:float")},
    outputs={"z": Output("*any")},
    kernel=Elementwise("pow(x, y)"),
    samples=[
        Sample({"x": positive(7, 11), "y": normal(7, 11)}),
        Sample({"x": positive(3, 1), "y": normal(5)}),
        Sample({"x": [-2.0, -2.0, 0.0, 1.0], "y": [2.0, 3.0, 0.0, 5.0]}, gradient=False),
    ],
)
def power(x: Array, y: Array) -> Array:
    """x to the power y; a negative base needs a whole exponent, else the result is not a number. pow(0, 0) is 1."""
    return np.power(x, y)


@power.gradient
def power_gradient(g: Value, x: Value, y: Value, z: Value) -> Grads:
    return {"x": g * y * power(x, y - 1.0), "y": g * z * log(x)}


@operator(
    "neg",
    category=ARITHMETIC,
    inputs={"x": Input("*any")},
    outputs={"y": Output("*any")},
    kernel=Elementwise("-x"),
    samples=[Sample({"x": normal(7, 11)})],
)
def neg(x: Array) -> Array:
    """-x."""
    return -x


@neg.gradient
def neg_gradient(g: Value) -> Grads:
    return {"x": -g}


def _unary(
    name: str, expression: str, meaning: Any, doc: str, sample: Array, extra: list[float] | None = None, kind: str = "T:float"
) -> Any:
    samples = [Sample({"x": sample})] + ([Sample({"x": extra}, gradient=False)] if extra else [])

    def function(x: Array) -> Array:
        return meaning(x)

    function.__doc__ = doc
    return operator(
        name,
        category=ARITHMETIC,
        inputs={"x": Input("*any", kind)},
        outputs={"y": Output("*any")},
        kernel=Elementwise(expression),
        samples=samples,
    )(function)


exp = _unary("exp", "exp(x)", np.exp, "e to the power x.", normal(7, 11), [-90.0, 0.0, 88.0])
log = _unary(
    "log",
    "log(x)",
    np.log,
    "Natural logarithm; log(0) is minus infinity, below 0 it is not a number.",
    positive(7, 11),
    [1e-30, 1.0, 1e30],
)
sqrt = _unary("sqrt", "sqrt(x)", np.sqrt, "Square root; below 0 it is not a number.", positive(7, 11), [0.0, 4.0])
rsqrt = _unary("rsqrt", "rsqrt(x)", lambda x: 1 / np.sqrt(x), "1 / square root.", positive(7, 11))
sin = _unary("sin", "sin(x)", np.sin, "Sine of x in radians.", normal(7, 11), [-30.0, 0.0, 100.0])
cos = _unary("cos", "cos(x)", np.cos, "Cosine of x in radians.", normal(7, 11), [-30.0, 0.0, 100.0])
absolute = _unary("abs", "abs(x)", np.abs, "Absolute value; the gradient at 0 is 0.", apart(7, 11), [-2.0, 0.0], kind="T:number")
square = _unary("square", "x * x", np.square, "x · x.", normal(7, 11), kind="T:number")
reciprocal = _unary("reciprocal", "1.0 / x", lambda x: 1 / x, "1 / x.", positive(7, 11))


@exp.gradient
def exp_gradient(g: Value, y: Value) -> Grads:
    return {"x": g * y}


@log.gradient
def log_gradient(g: Value, x: Value) -> Grads:
    return {"x": g / x}


@sqrt.gradient
def sqrt_gradient(g: Value, y: Value) -> Grads:
    return {"x": g * 0.5 / y}


@rsqrt.gradient
def rsqrt_gradient(g: Value, x: Value, y: Value) -> Grads:
    return {"x": g * -0.5 * y / x}


@sin.gradient
def sin_gradient(g: Value, x: Value) -> Grads:
    return {"x": g * cos(x)}


@cos.gradient
def cos_gradient(g: Value, x: Value) -> Grads:
    return {"x": -(g * sin(x))}


@absolute.gradient
def abs_gradient(g: Value, x: Value) -> Grads:
    return {"x": g * sign(x)}


@square.gradient
def square_gradient(g: Value, x: Value) -> Grads:
    return {"x": g * 2.0 * x}


@reciprocal.gradient
def reciprocal_gradient(g: Value, y: Value) -> Grads:
    return {"x": -(g * y * y)}


@operator(
    "sign",
    category=ARITHMETIC,
    inputs={"x": Input("*any")},
    outputs={"y": Output("*any")},
    kernel=Elementwise("sign(x)"),
    samples=[Sample({"x": apart(7, 11)}), Sample({"x": [-3.0, 0.0, 3.0]}, gradient=False)],
)
def sign(x: Array) -> Array:
    """-1, 0 or 1.

    Formula: y = 1 if x > 0, else −1 if x < 0, else 0
    """
    return np.sign(x)


@sign.gradient
def sign_gradient(g: Value) -> Grads:
    return {"x": None}


@operator(
    "maximum",
    category=ARITHMETIC,
    inputs=ANY,
    outputs={"z": Output("*any")},
    kernel=Elementwise("max(x, y)"),
    samples=[
        Sample({"x": apart(7, 11), "y": apart(7, 11, seed=8) + 0.02}),
        Sample({"x": [1.0, -1.0], "y": [1.0, 2.0]}, gradient=False),
    ],
)
def maximum(x: Array, y: Array) -> Array:
    """The larger of the two; not a number if either is. Where they are equal each gets half of the gradient."""
    return np.maximum(x, y)


@maximum.gradient
def maximum_gradient(g: Value, x: Value, y: Value) -> Grads:
    share = where(equal(x, y), 0.5, where(greater(x, y), 1.0, 0.0))
    return {"x": g * share, "y": g * (1.0 - share)}


@operator(
    "minimum",
    category=ARITHMETIC,
    inputs=ANY,
    outputs={"z": Output("*any")},
    kernel=Elementwise("min(x, y)"),
    samples=[
        Sample({"x": apart(7, 11), "y": apart(7, 11, seed=8) + 0.02}),
        Sample({"x": [1.0, -1.0], "y": [1.0, 2.0]}, gradient=False),
    ],
)
def minimum(x: Array, y: Array) -> Array:
    """The smaller of the two; not a number if either is. Where they are equal each gets half of the gradient."""
    return np.minimum(x, y)


@minimum.gradient
def minimum_gradient(g: Value, x: Value, y: Value) -> Grads:
    share = where(equal(x, y), 0.5, where(less(x, y), 1.0, 0.0))
    return {"x": g * share, "y": g * (1.0 - share)}


COMPARED = [
    Sample({"x": whole(7, 11, high=3).astype(float), "y": whole(7, 11, high=3, seed=8).astype(float)}),
    Sample({"x": whole(3, 1, high=3), "y": whole(4, high=3)}),
]


def _comparison(name: str, sign_text: str, meaning: Any) -> Any:
    def function(x: Array, y: Array) -> Array:
        return meaning(x, y)

    function.__doc__ = f"x {sign_text} y, as truth values."
    return operator(
        name,
        category="Comparison",
        inputs=ANY,
        outputs={"z": Output("*any", "bool")},
        kernel=Elementwise(f"x {sign_text} y"),
        samples=COMPARED,
        gradient=not_differentiable("its result is a truth value"),
    )(function)


equal = _comparison("equal", "==", np.equal)
not_equal = _comparison("not_equal", "!=", np.not_equal)
less = _comparison("less", "<", np.less)
less_equal = _comparison("less_equal", "<=", np.less_equal)
greater = _comparison("greater", ">", np.greater)
greater_equal = _comparison("greater_equal", ">=", np.greater_equal)


@operator(
    "where",
    category="Comparison",
    inputs={"test": Input("*any", "bool"), "x": Input("*any", "T:any"), "y": Input("*any", "T:any")},
    outputs={"z": Output("*any")},
    kernel=Elementwise("x if test else y"),
    samples=[
        Sample({"test": truths(7, 11), "x": normal(7, 11), "y": normal(7, 11, seed=8)}),
        Sample({"test": truths(5, 1), "x": normal(3), "y": normal(5, 3, seed=8)}),
    ],
)
def where(test: Array, x: Array, y: Array) -> Array:
    """x where `test` holds, else y."""
    return np.where(test, x, y)


@where.gradient
def where_gradient(g: Value, test: Value) -> Grads:
    return {"test": None, "x": where(test, g, 0.0), "y": where(test, 0.0, g)}


def _cast(site: Any, index: Any) -> Any:
    target = site.params["dtype"]
    loaded = site.load("x", index)
    if target == "bool":
        return loaded if loaded.dtype is BOOL else apply("!=", loaded, literal(0, loaded.dtype))
    return apply(target, loaded)


@operator(
    "cast",
    category="Comparison",
    inputs={"x": Input("*any", "T:any")},
    outputs={"y": Output("*any", lambda dtypes, params: BY_NAME[params["dtype"]])},
    params={"dtype": Choice("f32", "i32", "u32", "bool")},
    kernel=View(_cast),
    samples=[
        Sample({"x": whole(7, 11, high=200).astype(np.uint8)}),
        Sample({"x": [-1.5, 2.5]}, {"dtype": "i32"}, gradient=False),
        Sample({"x": truths(9)}),
        Sample({"x": [-0.5, 0.0, 3.0]}, {"dtype": "bool"}, gradient=False),
    ],
)
def cast(x: Array, dtype: str) -> Array:
    """The same numbers as another dtype; fractions are cut off towards zero. As bool: what is not 0.

    Formula: y = x, as numbers of `dtype`
    """
    return x.astype(BY_NAME[dtype].host)


@cast.gradient
def cast_gradient(g: Value, x: Value) -> Grads:
    return {"x": g if x.dtype is g.dtype else None}


@operator(
    "stop_gradient",
    category=ARITHMETIC,
    inputs={"x": Input("*any", "T:any")},
    outputs={"y": Output("*any")},
    kernel=Elementwise("x"),
    samples=[Sample({"x": normal(7, 11)}, gradient=False)],
)
def stop_gradient(x: Array) -> Array:
    """x, through which no gradient flows."""
    return x


@stop_gradient.gradient
def stop_gradient_gradient(g: Value) -> Grads:
    return {"x": None}
