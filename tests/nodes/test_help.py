"""The help of every kind of node: it has words, a formula, shapes and an example, and these say what the node computes."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import munet.nodes  # noqa: F401  # fills the registry
from munet.cli_operators import describe
from munet.declare import Array, Builder, Elementwise, Input, Output, Param, Sample, Value, layer, operator
from munet.engine.dtypes import F32
from munet.engine.example import Example, example_of
from munet.engine.formulas import MARK
from munet.engine.ir.module import Source
from munet.engine.operator import REGISTRY, Declaration, Layer, Operator
from munet.engine.shapes import Dims, parse_pattern
from tests.engine.running import command
from tests.nodes.mathematics import FUNCTIONS, code_of

ALL = [declared for name, declared in REGISTRY.items() if not name.startswith("test_")]  # other tests declare some
# Where there is nothing to write as a formula: data, the compiler's own, what joins nodes, and some that only rearrange.
WITHOUT_FORMULA = {"Sources", "", "Structure", "Shape"}
WITHOUT_EXAMPLE = {"Structure"}  # they compute nothing


@pytest.mark.parametrize("declared", ALL, ids=lambda declared: declared.name)
def test_everything_has_words_a_formula_and_an_example(declared: Declaration):
    assert declared.doc and MARK not in declared.doc
    assert declared.formula or declared.category in WITHOUT_FORMULA
    example = example_of(declared)
    assert (example is None) == (declared.category in WITHOUT_EXAMPLE)
    if example is not None:
        assert example.outputs and all(line.strip() for line in example.lines)
        assert example.inputs or not any(not socket.optional for socket in declared.inputs.values())
    assert f"{declared.name} ({declared.kind}" in describe(declared)


@pytest.mark.parametrize("name", [d.name for d in ALL if d.category not in WITHOUT_FORMULA | WITHOUT_EXAMPLE])
def test_the_examples_of_what_computes_tell_something(name: str):
    example = example_of(REGISTRY[name])
    assert example is not None
    for tensor in example.outputs:
        assert all(size for size in tensor.shape)
        if tensor.numbers is not None and name not in ("isnan", "isinf", "isfinite"):
            assert np.isfinite(np.asarray(tensor.numbers, float)).all()


# -- shapes --------------------------------------------------------------------------------------------------------------

LAYERS = [d for d in ALL if isinstance(d, Layer)]
RULE = re.compile(r"(\w+) = (.+?)(?=, \w+ (?:=|likewise)|$)")


def rules_of(doc: str) -> dict[str, str]:
    """Sizes that an output's words work out: "h_out = ..., w_out likewise"."""
    rules = dict(RULE.findall(doc))
    for name in re.findall(r"(\w+) likewise", doc):
        other = next(iter(rules))
        rules[name] = re.sub(rf"\b{other[0]}\b", name[0], rules[other])
    return rules


def expected_sizes(declared: Layer, dims: Dims, params: Mapping[str, Any], doc: str) -> dict[str, int]:
    """Sizes by name: of the inputs, of parameters, and worked out by the rules; "w" is the second of a pair."""
    sizes = {name: value for name, value in params.items() if isinstance(value, int)} | dims.sizes
    for name, rule in rules_of(doc).items():
        pairs = {
            key: value[1 if name[0] == "w" else 0] if not re.search(rf"\b{key}\[", rule) else value
            for key, value in params.items()
            if isinstance(value, tuple) and len(value) == 2
        }
        code = code_of(rule)
        sizes[name] = int(eval(compile(ast.Expression(code), rule, "eval"), FUNCTIONS | {**params, **sizes, **pairs}))  # noqa: S307
    return sizes


def shapes_of(declared: Layer, shapes: Mapping[str, tuple[int, ...]], given: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    b = Builder("shapes")
    with b.active(), b.at("node"):
        values = {name: b.source(Source(name, "data", Value(shape, F32, name))) for name, shape in shapes.items()}
        arguments = {name: values.get(name) for name in declared.inputs}
        found = declared.function(b, **arguments, **declared.checked_params(given))
    return {"y": found.shape}


GEOMETRIES: list[tuple[str, dict[str, tuple[int, ...]], dict[str, Any]]] = [
    ("Conv2d", {"x": (2, 4, 11, 13)}, {"kernel": (3, 2), "stride": (2, 3), "padding": (1, 2), "dilation": (2, 1), "groups": 2}),
    ("Conv1d", {"x": (2, 3, 17)}, {"out_channels": 5, "kernel": 4, "stride": 3, "padding": 2, "dilation": 2}),
    ("ConvTranspose2d", {"x": (2, 3, 5, 7)}, {"kernel": (3, 2), "stride": (2, 3), "padding": (1, 0), "output_padding": (1, 2)}),
    ("ConvTranspose2d", {"x": (2, 3, 5, 7)}, {"kernel": (2, 4), "dilation": (3, 1), "out_channels": 5}),
    ("max_pool2d", {"x": (2, 3, 11, 13)}, {"kernel": (3, 2), "stride": (2, 3), "padding": (1, 1)}),
    ("avg_pool2d", {"x": (2, 3, 11, 13)}, {"kernel": (3, 4), "stride": (1, 2), "padding": (0, 2)}),
    ("max_pool1d", {"x": (2, 3, 17)}, {"kernel": 3, "stride": 2, "padding": 1}),
    ("avg_pool1d", {"x": (2, 3, 17)}, {"kernel": 4, "stride": 3, "padding": 2}),
    ("adaptive_avg_pool2d", {"x": (2, 3, 6, 8)}, {"size": (3, 4)}),
    ("global_avg_pool2d", {"x": (2, 3, 5, 7)}, {}),
    ("pad2d", {"x": (2, 3, 5, 7)}, {"rows": (1, 2), "columns": (3, 5)}),
    ("resize", {"x": (2, 3, 5, 7)}, {"scale": 1.5}),
    ("resize", {"x": (2, 3, 5, 7)}, {"size": (9, 4)}),
    ("Linear", {"x": (2, 5, 7)}, {"out_features": 3}),
    ("uniform", {}, {"shape": (2, 3)}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "shapes", "given"), GEOMETRIES, ids=lambda value: value if isinstance(value, str) else "")
def test_the_rules_of_layers_shapes_are_right(name: str, shapes: dict[str, tuple[int, ...]], given: dict[str, Any]):
    declared = REGISTRY[name]
    assert isinstance(declared, Layer)
    dims, params = Dims(), declared.checked_params(given)
    for socket, shape in shapes.items():
        dims.match(name, socket, declared.inputs[socket].pattern, shape)
    dims.stars |= {key: value for key, value in params.items() if isinstance(value, tuple)}
    output = declared.outputs["y"]
    assert isinstance(output.pattern, str)
    dims.sizes = expected_sizes(declared, dims, params, output.doc)
    assert dims.build(output.pattern) == shapes_of(declared, shapes, given)["y"]


@pytest.mark.parametrize("declared", ALL, ids=lambda declared: declared.name)
def test_every_output_says_its_shape(declared: Declaration):
    """By names of the inputs and of parameters; by other names only with words that say what they are."""
    known = {word.lstrip("*") for socket in declared.inputs.values() for word in parse_pattern(socket.pattern)}
    rules = declared.shape_rule if isinstance(declared, Operator) else None
    for output in declared.outputs.values():
        if not isinstance(output.pattern, str):
            assert output.doc or not declared.category
            continue
        new = {w.lstrip("*") for w in parse_pattern(output.pattern) if not w.isdecimal()} - known - declared.params.keys()
        if declared.kind in ("layer", "operator"):
            assert not new or output.doc or rules is not None, new


@pytest.mark.parametrize("declared", LAYERS, ids=lambda declared: declared.name)
def test_examples_have_the_shapes_that_layers_declare(declared: Layer):
    example = example_of(declared)
    assert example is not None
    dims = Dims()
    for tensor in example.inputs:
        socket = declared.inputs[tensor.name]
        shape = tuple(size for size in tensor.shape if isinstance(size, int))
        dims.match(declared.name, tensor.name, socket.pattern, shape, bind_star=not socket.variadic)
    params = declared.checked_params({name: tuple(v) if isinstance(v, list) else v for name, v in example.params.items()})
    dims.stars |= {key: value for key, value in params.items() if isinstance(value, tuple)}
    for tensor in example.outputs:
        output = declared.outputs[tensor.name]
        assert isinstance(output.pattern, str)
        dims.sizes = expected_sizes(declared, dims, params, output.doc) if "_out" in output.pattern else dims.sizes
        sizes = {name: value for name, value in params.items() if isinstance(value, int)}
        try:
            expected = Dims({**sizes, **dims.sizes}, dims.stars).build(output.pattern)
        except KeyError:
            assert output.doc  # a name that words explain
            continue
        assert tensor.shape == expected


# -- examples ------------------------------------------------------------------------------------------------------------


def lines(name: str) -> tuple[str, ...]:
    example = example_of(REGISTRY[name])
    assert example is not None
    return example.lines


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("relu", ("x [-1 0.5 2] → y [0 0.5 2]",)),
        ("log", ("x [0.25 1 4] → y [-1.386 0 1.386]",)),
        ("logical_and", ("x [true true false false], y [true false true false] → z [true false false false]",)),
        ("isnan", ("x [nan inf -inf 0 1 -3e+38] → y [true false false false false false]",)),
        ("one_hot", ("x [2 0 1] → y [[0 0 1] [1 0 0] [0 1 0]]", "with count 3")),
        ("concat", ("x [1 2 3], x [2 3 4] → y [1 2 3 2 3 4]",)),
        ("Conv2d", ("x f32[2 8 8 8] → y f32[2 16 6 6]",
                    "with out_channels 16, kernel 3 × 3, stride 1 × 1, dilation 1 × 1, groups 1")),
        ("Linear", ("x f32[2 4] → y f32[2 64]", "with out_features 64")),
        ("mse_loss", ("prediction [1 2 3], target [2 3 4] → loss 1",)),
        ("digits", ("image u8[100 1 28 28], label u8[100]", "with batch 100")),
    ],
)  # fmt: skip
def test_examples_are_short_and_real(name: str, expected: tuple[str, ...]):
    assert lines(name) == expected


@pytest.fixture
def registry() -> Iterator[None]:
    before = dict(REGISTRY)
    yield
    REGISTRY.clear()
    REGISTRY.update(before)


def declared_with(meaning: Callable[..., Array], **changes: Any) -> Operator:
    def own(x: Array) -> Array:
        """Words."""
        return meaning(x)

    entries: dict[str, Any] = {
        "category": "Activations", "inputs": {"x": Input("*any", "T:float")}, "outputs": {"y": Output("*any")},
        "kernel": Elementwise("x + x"), "samples": [Sample({"x": [1.0, 5.0]})],
    }  # fmt: skip
    return operator("own", **entries | changes)(own)


@pytest.mark.usefixtures("registry")
def test_own_operators_get_help_without_asking():
    declared = declared_with(lambda x: x + x)
    assert declared.formula == ("y = x + x",)
    assert _of(declared).lines == ("x [-1 0.5 2] → y [-2 1 4]",)


@pytest.mark.usefixtures("registry")
def test_an_example_of_ones_own_goes_first():
    assert _of(declared_with(lambda x: x + x, example=Sample({"x": [3.0]}))).lines == ("x [3] → y [6]",)


@pytest.mark.usefixtures("registry")
def test_what_refuses_all_inputs_raises_nothing():
    def refused(x: Array) -> Array:
        raise ValueError("only primes")

    assert _of(declared_with(refused)).lines == ("x f32[2 8] → y f32[2 8]",)  # shapes are known without it

    @layer("choosy", category="Layers", inputs={"x": Input("a b c d e", "T:float")}, params={"k": Param(3)})
    def choosy(b: Builder, x: Value, k: int) -> Value:
        """Words."""
        raise LookupError(k)

    assert example_of(choosy) is None


def _of(declared: Declaration) -> Example:
    example = example_of(declared)
    assert example is not None
    return example


def test_the_command_tells_it():
    shown = command("operators", "Conv2d").stdout
    assert "Formula\n    y[n, o, p, q] = bias[o] + Σ_c,r,s" in shown and "Example\n    x f32[2 8 8 8] → y f32[2 16 6 6]" in shown
    facts = json.loads(command("operators", "isnan", "--json").stdout)
    assert facts["formula"] == ["y = isnan(x)"] and facts["example"]["inputs"][0]["numbers"][:2] == ["nan", "inf"]
    everything = json.loads(command("operators", "--json").stdout)
    assert all(entry["example"] for entry in everything["operators"] if entry["category"] not in WITHOUT_EXAMPLE)
