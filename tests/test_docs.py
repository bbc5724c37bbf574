"""Documentation that is output: the worked example is what the engine prints today."""

from __future__ import annotations

from pathlib import Path

import pytest

from munet.engine.device import REFERENCE
from munet.engine.dump import dump
from munet.engine.project import load_project

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "docs" / "worked-example.md"
STAGES = {
    "graph": "What was drawn: nodes, wires between named sockets.",
    "ir": """One step as single-assignment ops. Layers have expanded into primitive operators, the optimiser has
asked for gradients
and written the update of each parameter; every state says what it becomes. Behind `#` stands the origin: node, then part of it.
`watch` raises a flag should the loss or a gradient not be finite, and every state keeps its old value while it is up.""",
    "fused": """The same step as kernels. Each `fused` op has a body; what several kernels read cheaply stands in each of them.
`packed` is one element-wise body over the parameters one after the other.""",
    "schedule": """Levels: passes of a level have no hazard between them, a barrier stands between levels. `|`
separates ops that share a
dispatch, each on workgroups of its own.""",
    "memory": """Where every value lies. States of a group lie one after the other in the order of the parameters, so
that one pass
updates them all; the gradients are laid out the same way among the temporaries. A state and what it becomes share a place.""",
    "passes": "The list that an executor runs.",
    "glsl": "And the shaders. Names depend on what is computed only, so equal kernels are equal text and share a pipeline.",
}


def worked_example() -> str:
    graph = load_project(ROOT / "projects" / "xor.json")
    parts = [
        "# xor through every stage\n",
        "Real output of `munet dump projects/xor.json --stage S --device cpu`; `tests/test_docs.py` compares",
        "this page with it, and `pytest tests/test_docs.py --update-golden` writes it anew.\n",
    ]
    for stage, text in STAGES.items():
        fence = {"graph": "json", "glsl": "glsl"}.get(stage, "")
        parts.append(f"## {stage}\n\n{text}\n\n```{fence}\n{dump(graph, stage, REFERENCE).rstrip()}\n```\n")
    return "\n".join(parts)


def test_the_worked_example_is_true(request: pytest.FixtureRequest) -> None:
    text = worked_example()
    if request.config.getoption("--update-golden"):
        EXAMPLE.write_text(text, encoding="utf-8")
    differs = f"{EXAMPLE.name} differs; pytest --update-golden, then read the diff"
    assert EXAMPLE.read_text(encoding="utf-8") == text, differs
