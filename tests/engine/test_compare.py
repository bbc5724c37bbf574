"""The comparison tool: silent where all is well, and it names the pass and the node of a wrong kernel, not a later one."""

from __future__ import annotations

from dataclasses import replace

import pytest

import munet
from munet.engine.compare import compare
from munet.engine.passlist import ComputePass, PassList
from tests.engine.running import DEVICES, finish, xor

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(len(DEVICES) < 2, reason="there is no Vulkan device"),
    pytest.mark.usefixtures("own_cache"),
]


def spoilt(session: munet.Session, found: str, instead: str) -> list[int]:
    """Change the GLSL of passes that contain `found`; gives their numbers."""
    numbers: list[int] = []

    def change(index: int, p: ComputePass) -> ComputePass:
        if found not in p.kernel.glsl:
            return p
        numbers.append(index)
        return replace(p, kernel=replace(p.kernel, glsl=p.kernel.glsl.replace(found, instead)))

    (passes,) = session.program.pass_lists
    program = replace(session.program, stages=(PassList(tuple(change(i, p) for i, p in enumerate(passes))),))
    session.executor.load(program)
    session._training.program = program
    return numbers


def test_right_kernels_agree():
    with munet.Session.open(xor()) as session:
        finish(session, 3)
        result = compare(session, 3)
        assert result.differences == () and result.passes == session.program.pass_count
        assert 0 <= result.largest < 0.1


def test_a_wrong_kernel_is_named():
    with munet.Session.open(xor()) as session:
        wrong = spoilt(session, "mu_tanh(", "1.01 * mu_tanh(")
        differences = compare(session).differences
        assert wrong and {d.index for d in differences} == set(wrong)
        assert {d.node for d in differences} <= {"one", "bend"}
        assert f"pass {wrong[0]}" in str(differences[0]) and "differs by" in str(differences[0])


def test_not_a_number_is_a_difference():
    with munet.Session.open(xor()) as session:
        spoilt(session, "mu_tanh(", "(0.0 / 0.0) * mu_tanh(")
        assert any(d.error == float("inf") for d in compare(session).differences)
