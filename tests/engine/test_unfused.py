"""The step without fusion: every op a pass, and each found again in the passes that run."""

from __future__ import annotations

import pytest

from munet import Session
from munet.engine.profiling import plain_ops


@pytest.mark.parametrize("project", ["xor", "digits_lenet"])
def test_every_op_is_a_pass_and_is_found_again(project: str) -> None:
    with Session.open(project, "cpu") as session:
        found = session.unfused()
        passes = session.passes
        ops = [op for p in session.program.pass_lists[0] for op in (*plain_ops(p), *p.riders)]
    assert found.unfused.passes == len(found.ops) > 3 * len(passes)
    assert found.fused.passes == len(passes) and found.fused.levels == 1 + max(p.level for p in passes)
    assert found.fused.bytes_moved == sum(p.bytes_read + p.bytes_written for p in passes)
    assert found.unfused.bytes_moved == sum(op.bytes_moved for op in found.ops)
    assert found.unfused.levels > found.fused.levels and found.unfused.arena_bytes > found.fused.arena_bytes
    fused_names = {op.operator for op in ops}
    for op in found.ops:
        assert all(0 <= index < len(passes) for index in op.passes)
        assert op.passes or op.operator not in ("convolution", "tanh", "relu", "log", "exp", "pick")
    assert {op.operator for op in found.ops if op.passes} <= fused_names
    for index in range(len(passes)):
        assert found.of_pass(index)


def test_ops_of_a_node() -> None:
    with Session.open("digits_lenet", "cpu") as session:
        found = session.unfused()
        relu = next(p for p in session.passes if "relu 1" in p.nodes)
    ops = found.of("relu 1")
    forward = [op for op in ops if not op.backward]
    assert [op.operator for op in forward] == ["relu"]
    assert relu.index in forward[0].passes and forward[0].shape == (100, 6, 28, 28)
    assert any(op.backward for op in ops)
    assert not found.of("no such node")
