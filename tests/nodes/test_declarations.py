"""Declarations that are wrong are refused at import, with file and line; what their functions raise is shown at the node."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from munet.declare import (
    Array,
    Builder,
    Contraction,
    Elementwise,
    Grads,
    Input,
    Live,
    Output,
    Param,
    Reduction,
    Sample,
    Value,
    layer,
    operator,
    optimiser,
)
from munet.engine.autodiff import gradients
from munet.engine.errors import DeclarationError
from munet.engine.ir.module import Initial
from munet.engine.operator import REGISTRY
from munet.engine.validate import validate
from tests.engine.drawings import drawing

ROOT = Path(__file__).resolve().parents[2]
HERE = re.escape(__file__) + r":\d+: "


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    """As it was before, afterwards."""
    before = dict(REGISTRY)
    yield
    REGISTRY.clear()
    REGISTRY.update(before)


def declare(name: str = "twice", **changes: Any) -> Any:
    entries: dict[str, Any] = {
        "category": "Activations",
        "inputs": {"x": Input("*any", "T:float")},
        "outputs": {"y": Output("*any")},
        "kernel": Elementwise("x + x"),
        "samples": [Sample({"x": [1.0, 2.0]})],
    } | changes

    def twice(x: Array) -> Array:
        """Two times x."""
        return x + x

    def twice_with(x: Array, a: float) -> Array:
        """Two times x."""
        return x + x

    return operator(name, **entries)(twice_with if "params" in changes else twice)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "class": ({"inputs": {"x": Input("*any", "T:flot")}}, "there is no class of dtypes 'flot'; known: any, number"),
    "dtype": ({"inputs": {"x": Input("*any", "f33")}, "outputs": {"y": Output("*any", "f32")}}, "there is no dtype 'f33'"),
    "output dtype": ({"outputs": {"y": Output("*any", "U")}}, "no input has the dtype 'U'"),
    "no samples": ({"samples": []}, "twice has no samples"),
    "default": ({"params": {"a": Param(2.0, max=1.0)}}, "the default does not fit: a is 2.0, a is at most 1.0"),
    "name": ({"name": "two times"}, "the name 'two times' is not made of letters, digits and _ alone"),
    "socket": ({"outputs": {"the y": Output("*any")}}, "the name 'the y'"),
    "live": ({"params": {"a": Live(1.0)}}, "only optimisers and schedules have live parameters"),
}


@pytest.mark.parametrize("changes, text", REFUSED.values(), ids=REFUSED)
def test_wrong_declarations_are_refused(changes: dict[str, Any], text: str):
    with pytest.raises(DeclarationError, match=HERE + ".*" + re.escape(text)):
        declare(**changes)
    assert "twice" not in REGISTRY


def test_an_operator_without_category_needs_no_samples():
    assert declare(category="", samples=[]).name == "twice"


def test_live_parameters_of_layers_are_refused_and_those_of_optimisers_are_not():
    def scaled(b: Builder, x: Value, a: float) -> Value:
        return x * a

    with pytest.raises(DeclarationError, match=HERE + "scaled.a is Live"):
        layer("scaled", category="Layers", inputs={"x": Input("*any")}, params={"a": Live(1.0)})(scaled)

    def down(w: Any, g: Any, s: Any, p: Any) -> Any:
        return w - p.lr * g

    assert optimiser("down", params={"lr": Live(0.1)})(down).params["lr"].live


KERNELS: dict[str, tuple[Callable[[], object], str]] = {
    "syntax": (lambda: Elementwise("x +"), "kernel expression 'x +'"),
    "unknown function": (lambda: Elementwise("sinn(x)"), "cannot be used in a kernel expression: sinn"),
    "unknown sign": (lambda: Elementwise("x @ x"), "cannot be used in a kernel expression: x @ x"),
    "fold": (lambda: Reduction("ad"), "unknown fold 'ad'"),
    "finish": (lambda: Reduction("add", finish="acc /"), "kernel expression 'acc /'"),
    "finish's names": (lambda: Reduction("add", finish="acc / n"), "n is neither acc nor count"),
    "contraction": (lambda: Contraction("z[m,n] += x[m,k"), "contraction 'z[m,n] += x[m,k'"),
    "no contraction": (lambda: Contraction("x"), "expected result[...] += product"),
}


@pytest.mark.parametrize("make, text", KERNELS.values(), ids=KERNELS)
def test_faults_in_kernels_name_file_and_line(make: Callable[[], object], text: str):
    with pytest.raises(DeclarationError, match=HERE + ".*" + re.escape(text)):
        make()


def gradient_of(rule: Callable[..., Grads]) -> None:
    declared = declare()
    declared.gradient(rule)
    b = Builder("test", training=True)
    with b.active(), b.at("node"):
        w = b.parameter("w", (), Initial("zeros"))
        gradients(b, declared(w), [w])


def test_a_gradient_for_an_unknown_socket_is_refused_at_first_use():
    def wrong(g: Value) -> Grads:
        return {"xx": g}

    with pytest.raises(DeclarationError, match=HERE + "the gradient of twice names 'xx', which is no input of it; its inputs: x"):
        gradient_of(wrong)


def test_a_gradient_with_too_many_values_is_refused():
    def wrong(g: Value) -> Grads:
        return {"x": [g, g]}

    with pytest.raises(DeclarationError, match=HERE + "the gradient of twice gives 2 values for 1 of 'x'"):
        gradient_of(wrong)


def test_what_a_layer_raises_is_a_problem_of_its_node():
    @layer("broken", category="Layers", inputs={"x": Input("*any")})
    def broken(b: Builder, x: Value) -> Value:
        raise KeyError("weigth")

    (problem,) = validate(drawing({"p": "xor", "l": "broken"}, "p.x -> l.x"))
    assert (problem.code, problem.node) == ("layer-failed", "l")
    assert re.search(r"broken raised KeyError: 'weigth' \(.*test_declarations.py:\d+\)", problem.found)


# -- own nodes ---------------------------------------------------------------------------------------------------------

OWN = '''
from munet.declare import Array, Elementwise, Input, Output, Sample, operator


@operator(
    "thrice",
    category="Activations",
    inputs={"x": Input("*any", "T:float")},
    outputs={"y": Output("*any")},
    kernel=Elementwise("x * 3.0"),
    samples=[Sample({"x": [1.0]})],
)
def thrice(x: Array) -> Array:
    """Three times x."""
    return 3 * x
'''


def munet_with(nodes: object, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "MUNET_NODES": str(nodes)}
    line = [sys.executable, "-m", "munet", *arguments]
    return subprocess.run(line, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_own_nodes_are_found_by_the_command(tmp_path: Path):
    (tmp_path / "mine.py").write_text(OWN)
    (tmp_path / "_hidden.py").write_text("raise RuntimeError")
    for place in (tmp_path, tmp_path / "mine.py", f"{tmp_path}{os.pathsep}{tmp_path / 'mine.py'}"):
        done = munet_with(place, "operators", "thrice")
        assert done.returncode == 0, done.stderr
        assert "Three times x." in done.stdout


@pytest.mark.parametrize(
    "text, expected",
    [
        (OWN.replace("T:float", "T:flot"), "mine.py:5: thrice.x: there is no class of dtypes 'flot'"),
        ("1 / 0", "mine.py: ZeroDivisionError: division by zero"),
        ("def", "mine.py: SyntaxError"),
    ],
)
def test_faults_in_own_nodes_name_the_file(tmp_path: Path, text: str, expected: str):
    (tmp_path / "mine.py").write_text(text)
    done = munet_with(tmp_path, "operators")
    assert done.returncode != 0
    assert expected in done.stderr.strip().splitlines()[-1]


def test_own_nodes_that_are_not_there():
    assert "there is no file or folder /nowhere/at/all" in munet_with("/nowhere/at/all", "operators").stderr


def test_the_example_in_the_documentation_works(tmp_path: Path):
    page = (ROOT / "docs" / "adding-an-operator.md").read_text(encoding="utf-8")
    match = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert match
    (tmp_path / "bent.py").write_text(match[1], encoding="utf-8")
    done = munet_with(tmp_path, "operators", "bent_identity")
    assert "nearly straight" in done.stdout, done.stderr


@pytest.mark.parametrize("module", ["munet_command", "munet", "munet.cli"])
def test_the_command_tells_of_a_faulty_file_without_a_traceback(tmp_path: Path, module: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text("raise RuntimeError('half written')\n")
    environment = os.environ | {"MUNET_NODES": str(file), "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    line = [sys.executable, "-m", module, "devices"]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "mine.py: RuntimeError: half written" in done.stderr and "Traceback" not in done.stderr
