"""No operator of a graph runs on the host: training on Vulkan needs none of the NumPy meanings."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import pytest

from munet.engine.operator import REGISTRY, Operator
from munet.engine.session import Session
from tests.engine.drawings import PROJECTS


def forbidden(*args: Any, **params: Any) -> NoReturn:
    raise AssertionError("an operator was computed on the host")


@pytest.mark.parametrize("project", [path for path in PROJECTS if path.stem in ("xor", "spiral_mlp")], ids=lambda path: path.stem)
def test_vulkan_trains_and_evaluates_without_any_reference(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for declared in REGISTRY.values():
        if isinstance(declared, Operator):
            monkeypatch.setattr(declared, "function", forbidden)
    with Session.open(project, device="vulkan") as session:
        for _ in session.train(20):
            pass
        assert session.loss is not None and np.isfinite(session.loss)
        assert session.evaluate()


def test_the_reference_executor_does_need_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above could not fail if `function` were not what runs."""
    for declared in REGISTRY.values():
        if isinstance(declared, Operator):
            monkeypatch.setattr(declared, "function", forbidden)
    xor = next(path for path in PROJECTS if path.stem == "xor")
    with Session.open(xor, device="cpu") as session, pytest.raises(AssertionError, match="on the host"):
        for _ in session.train(1):
            pass
