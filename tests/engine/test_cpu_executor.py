"""The reference executor: planned arenas, rings, poison, what it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

import munet.nodes  # noqa: F401  # fills the registry
from munet.engine.builder import FEED_ROWS, Builder
from munet.engine.compile import compile_program
from munet.engine.device import REFERENCE
from munet.engine.dtypes import F32
from munet.engine.errors import DeviceError
from munet.engine.execute.cpu import ReferenceExecutor
from munet.engine.execute.storage import from_stored
from munet.engine.ir.evaluate import evaluate
from munet.engine.ir.module import Initial, Module
from munet.engine.operator import Array
from munet.engine.passlist import Placement
from munet.engine.program import BufferSpec, HostCall, Program
from munet.nodes.activations import relu
from munet.nodes.reductions import mean

SIZE = 37


def accumulating() -> Module:
    """Each step: total += relu(row of the feed); records the mean of total."""
    b = Builder("sum")
    with b.active():
        total = b.state("total", (SIZE,), initial=Initial("zeros"), group="sums")
        row = b.feed("rows", (SIZE,), F32)
        new = total + relu(row)
        b.set_result(total, new)
        b.record("mean", mean(new))
        return b.finish()


ROWS = np.random.default_rng(3).normal(size=(3000, SIZE)).astype(np.float32)


def totals(steps: int) -> Array:
    total = np.zeros(SIZE, np.float32)
    for row in ROWS[:steps]:
        total = total + np.maximum(row, 0)
    return total


@pytest.fixture
def program() -> Program:
    return compile_program(accumulating(), REFERENCE)


def submit(executor: ReferenceExecutor, program: Program, first: int, steps: int):
    return executor.submit(program, first_step=first, steps=steps, feeds={"rows": ROWS[first : first + steps]})


def state(executor: ReferenceExecutor, program: Program, name: str) -> Array:
    placement = program.state_placement(name)
    content = executor.read(placement.buffer, offset_bytes=placement.offset_bytes, size_bytes=placement.size_bytes)
    value = program.module.source(name).value
    return from_stored(content, value.dtype, value.shape)


def test_steps_states_and_records(program: Program):
    with ReferenceExecutor() as executor:
        executor.load(program)
        tickets = [submit(executor, program, first, 50) for first in range(0, 200, 50)]
        assert all(executor.poll(ticket) for ticket in tickets)
        rows = np.concatenate([executor.records(ticket) for ticket in tickets])
        np.testing.assert_array_equal(state(executor, program, "total"), totals(200))
        assert int(state(executor, program, "sum/step")) == 200
        assert rows.shape == (200, 1)
        assert rows[-1, 0] == np.float32(totals(200).mean())
        counters = executor.counters
        assert (counters.submits, counters.steps, counters.blocking_waits) == (4, 200, 0)
        assert counters.dispatches == 200 * program.pass_count
        assert counters.upload_bytes_feeds == 200 * SIZE * 4
        with pytest.raises(DeviceError, match="handed out before"):
            executor.records(tickets[0])


def test_rings_wrap_around(program: Program):
    with ReferenceExecutor() as executor:
        executor.load(program)
        step = 0
        for count in (FEED_ROWS, 700, 700, 1):
            executor.records(submit(executor, program, step, count))
            step += count
        np.testing.assert_array_equal(state(executor, program, "total"), totals(step))


def test_it_runs_as_the_module_is_meant(program: Program):
    module = accumulating()
    arrays: dict[str, Array] = {s.name: np.zeros(s.value.shape, s.value.dtype.host) for s in module.sources}
    arrays["rows"][: len(ROWS[:1])] = ROWS[:1]
    _, expected = evaluate(module, arrays)
    with ReferenceExecutor() as executor:
        executor.load(program)
        submit(executor, program, 0, 1)
        for name, array in expected.items():
            np.testing.assert_array_equal(state(executor, program, name), array, err_msg=name)


def test_poison_shows_a_value_that_is_read_when_its_bytes_are_free(program: Program):
    """Dead ranges as planned change nothing; declaring everything dead before each pass does."""
    temporary = next(spec for spec in program.buffers if spec.role == "temporary")
    spoiled = ((Placement(temporary.name, 0, temporary.size_bytes),),) * program.pass_count
    found = []
    for candidate in (program, replace(program, dead_ranges=spoiled)):
        with ReferenceExecutor() as executor:
            executor.load(candidate, poison=True)
            found.append(executor.records(submit(executor, candidate, 0, 3)))
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1]).any()


def test_programs_share_buffers_by_name(program: Program):
    other = replace(program, name="other", buffers=tuple(s for s in program.buffers))
    with ReferenceExecutor() as executor:
        executor.load(program)
        submit(executor, program, 0, 2)
        executor.load(other)
        np.testing.assert_array_equal(state(executor, other, "total"), totals(2))
        executor.unload("sum")
        np.testing.assert_array_equal(state(executor, other, "total"), totals(2))
        executor.unload("other")
        with pytest.raises(DeviceError, match="there is no buffer"):
            state(executor, other, "total")


def test_profile_counts_as_a_step(program: Program):
    with ReferenceExecutor() as executor:
        executor.load(program)
        _, times = executor.profile(program, first_step=0, feeds={"rows": ROWS[:1]})
        assert [time.index for time in times] == list(range(program.pass_count))
        np.testing.assert_array_equal(state(executor, program, "total"), totals(1))


@pytest.mark.parametrize(
    ("feeds", "steps", "text"),
    [
        ({}, 1, "missing"),
        ({"rows": ROWS[:1], "more": ROWS[:1]}, 1, "no feed more"),
        ({"rows": ROWS[:2]}, 1, "expected"),
        ({"rows": ROWS[:1].astype(np.float64)}, 1, "expected"),
        ({"rows": ROWS[:0]}, 0, "at least one step"),
        ({"rows": ROWS[: FEED_ROWS + 1]}, FEED_ROWS + 1, "do not fit"),
    ],
)
def test_feeds_that_do_not_fit(program: Program, feeds: Mapping[str, Array], steps: int, text: str):
    with ReferenceExecutor() as executor:
        executor.load(program)
        with pytest.raises(DeviceError, match=text):
            executor.submit(program, first_step=0, steps=steps, feeds=feeds)


def test_what_it_refuses(program: Program):
    executor = ReferenceExecutor()
    with pytest.raises(DeviceError, match="not loaded"):
        submit(executor, program, 0, 1)
    executor.load(program)
    buffer = program.buffers[0].name
    with pytest.raises(DeviceError, match="outside"):
        executor.read(buffer, offset_bytes=program.buffers[0].size_bytes, size_bytes=4)
    with pytest.raises(DeviceError, match="outside"):
        executor.write(buffer, np.zeros(1, np.uint8), offset_bytes=-1)
    with pytest.raises(DeviceError, match="no buffer nobody"):
        executor.write("nobody", np.zeros(1, np.uint8))
    bigger = tuple(BufferSpec(s.name, s.size_bytes + 16, s.role) for s in program.buffers)
    with pytest.raises(DeviceError, match="shares one of"):
        executor.load(replace(program, name="other", buffers=bigger))
    with pytest.raises(DeviceError, match="runs on the host"):
        executor.load(replace(program, stages=(HostCall("match", lambda values: values),)))
    executor.close()
    with pytest.raises(DeviceError, match="closed"):
        executor.load(program)
