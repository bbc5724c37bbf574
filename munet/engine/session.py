"""Session: a project opened on a device; trains, evaluates, saves, and tells what happens as events. Knows no window.

    with Session.open("projects/xor.json") as session:
        for event in session.train(500):
            ...
        session.evaluate(); session.save("xor.safetensors")

Steps are submitted many at a time and ahead of what has finished; nothing waits per step. A session belongs to one thread.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any

import numpy as np

from munet.engine.builder import FAILED, STAMP, STAMP_RANGE
from munet.engine.checkpoint import Header, check_states, hash_of, read_checkpoint, write_checkpoint
from munet.engine.compile import compile_program
from munet.engine.diagnose import find_culprit
from munet.engine.errors import (
    CheckpointError,
    MunetError,
    NonFiniteError,
    OutOfDeviceMemory,
    Problem,
    ProjectError,
    ShapeError,
)
from munet.engine.evaluation import Evaluation, ring_capacity, write_data
from munet.engine.events import Evaluated, Event, Finished, Progress, Saved
from munet.engine.execute.base import Array, Executor, Ticket
from munet.engine.execute.choose import open_executor
from munet.engine.execute.storage import from_stored, to_stored
from munet.engine.feeding import ShuffledOrder, scalar_rows
from munet.engine.files import PathLike
from munet.engine.graph import Graph
from munet.engine.initial import draw
from munet.engine.ir.module import Source
from munet.engine.lower import Lowered, lower
from munet.engine.operator import REGISTRY
from munet.engine.pacing import Pace
from munet.engine.program import Program
from munet.engine.project import dump_project, load_project
from munet.engine.runfolder import RunFolder
from munet.engine.validate import validate

_RATE_OVER = 12  # submits over which the speed is taken: several may arrive at once
_NOT_SAVED = "records"  # the group of the metric ring: what is in it has been read


@dataclass
class Totals:
    """What training has cost since the session was opened; evaluations and checkpoints are not in it."""

    steps: int = 0
    submits: int = 0
    blocking_waits: int = 0
    gpu_ms: float = 0.0
    timed_steps: int = 0
    wall_s: float = 0.0


class Session:
    """Made by `open`. `step_count` counts the steps of the run, those before a resume included."""

    def __init__(self, graph: Graph, executor: Executor, lowered: Lowered, program: Program, seed: int, off: Collection[str]):
        self.graph, self.executor, self.program, self.seed = graph, executor, program, seed
        self.step_count = 0
        self.live: dict[str, float] = dict(lowered.live)
        self.metrics: dict[str, float] = {}  # of the last finished step
        self.evaluation: dict[str, float] = {}  # of the last evaluation
        self.totals = Totals()
        self.lowering_ms = 0.0
        self._lowered, self._off = lowered, off
        self._pace = Pace(program, executor.info, ring_capacity(program))
        self._flights: deque[Ticket] = deque()
        self._arrivals: deque[tuple[float, int]] = deque(maxlen=_RATE_OVER)  # (time, steps done), of the last submits
        self._stopping = False
        self._closed = False
        self._evaluation: Evaluation | None = None
        self._orders: dict[str, ShuffledOrder] = {}
        self._start_orders()

    @classmethod
    def open(
        cls,
        project: PathLike | Graph,
        device: str = "auto",
        *,
        seed: int | None = None,
        off: Collection[str] = (),
        poison: bool = False,
    ) -> Session:
        """Lower, compile and load a project; its states start as drawn from the seed (the project's own unless given).

        device  "auto" takes the best Vulkan device, "vulkan:N" that one, "cpu" the NumPy reference
        off     transforms to leave out;  poison: fill dead byte ranges with NaN before each pass (tests)
        Raises ProjectError with all problems, DeviceError kinds, ShaderError.
        """
        graph = project if isinstance(project, Graph) else load_project(project)
        started = time.perf_counter()
        try:
            if not graph.nodes:
                raise ProjectError(validate(graph))
            lowered = lower(graph, "train")
        except ProjectError as error:
            file = "" if isinstance(project, Graph) else str(project)
            raise ProjectError([problem.at(file=file) for problem in error.problems]) from None
        lowering_s = time.perf_counter() - started
        executor = open_executor(device)
        try:
            started = time.perf_counter()
            program = compile_program(lowered.module, executor.info, off=off)
            lowering_s += time.perf_counter() - started
            executor.load(program, poison=poison)
            session = cls(graph, executor, lowered, program, graph.run.seed if seed is None else seed, off)
            session.lowering_ms = 1000 * lowering_s
            write_data(executor, program, lowered)
            session._write_states({state.name: draw(state, session.seed) for state in session._saved_states()})
        except BaseException:
            executor.close()
            raise
        return session

    # -- training ------------------------------------------------------------------------------------------------------

    def train(self, steps: int) -> Iterator[Event]:
        """Train so many more steps; yields Progress as results arrive, then Finished. Ends early after `stop()`."""
        self._stopping = False
        yield from self._train(steps, wait=True)

    def run(self, total: int | None = None, folder: RunFolder | None = None) -> Iterator[Event]:
        """The project's recipe: train until the run has `total` steps; evaluate and save as its settings say, and at the end."""
        settings = self.graph.run
        total = settings.steps if total is None else total
        self._stopping, started = False, time.perf_counter()
        while self.step_count < total and not self._stopping:
            end = min(
                total, *(_next_multiple(self.step_count, every) for every in (settings.evaluate_every, settings.checkpoint_every))
            )
            for event in self._train(end - self.step_count, wait=end == total):
                if isinstance(event, Progress):
                    if folder:
                        folder.report(event.step, event.metrics)
                    yield event
            done = self.step_count == total
            if not self._stopping and (done or _is_multiple(self.step_count, settings.evaluate_every)):
                yield from self._evaluated(folder)
            if folder and (done or self._stopping or _is_multiple(self.step_count, settings.checkpoint_every)):
                self.save(folder.checkpoint)
                yield Saved(str(folder.checkpoint), self.step_count)
        yield Finished(self.step_count, dict(self.metrics), time.perf_counter() - started, self._stopping)

    def stop(self) -> None:
        """Submit nothing more: training ends after the steps that are under way. May be called from a signal handler."""
        self._stopping = True

    def evaluate(self) -> dict[str, float]:
        """Means of the metrics over all held-out samples; {} where the project records none. Training is not disturbed."""
        self._ensure_open()
        if self._evaluation is None:
            self._evaluation = Evaluation(self.graph, self.executor, self.program, self._off)
            self.live = self._evaluation.live | self.live
        self.evaluation = self._evaluation.run(self.live, self.step_count)
        return dict(self.evaluation)

    def set(self, node: str, param: str, value: float) -> None:
        """Change a live parameter; it takes effect with the next submit, without compiling. Raises ProjectError."""
        key = f"{node}.{param}"
        known = self.graph.nodes.get(node)
        if known is None:
            raise _refused("unknown-node", f'there is no node "{node}"', f"nodes: {', '.join(self.graph.nodes)}", "", "")
        declared = REGISTRY[known.operator]
        if param not in declared.params:
            rule = f"its parameters: {', '.join(declared.params) or 'none'}"
            raise _refused("unknown-parameter", f"{declared.name} has no parameter {param!r}", rule, node, "")
        if key not in self.live:
            found = f"{param} of {declared.name} cannot change while the project runs"
            raise _refused("not-live", found, "it decides how the project is compiled", node, param)
        try:
            self.live[key] = float(declared.params[param].check(param, value))
        except ShapeError as error:
            raise ProjectError([error.problem.at(node=node)]) from None

    # -- states --------------------------------------------------------------------------------------------------------

    def state(self, name: str) -> Array:
        """A copy of one state as it is after all steps submitted so far. Raises KeyError."""
        source = self.program.module.source(name)
        placement = self.program.state_placement(name)
        content = self.executor.read(placement.buffer, offset_bytes=placement.offset_bytes, size_bytes=placement.size_bytes)
        return from_stored(content, source.value.dtype, source.value.shape).copy()

    def states(self) -> dict[str, Array]:
        """Copies of all states by name: parameters, moments, counters."""
        self._ensure_open()
        buffers: dict[str, bytes] = {}
        found: dict[str, Array] = {}
        for source in self._saved_states():
            placement = self.program.state_placement(source.name)
            if placement.buffer not in buffers:
                buffers[placement.buffer] = self.executor.read(placement.buffer)
            content = buffers[placement.buffer][placement.offset_bytes : placement.end_bytes]
            found[source.name] = from_stored(content, source.value.dtype, source.value.shape).copy()
        return found

    def save(self, path: PathLike) -> None:
        """Write a checkpoint, whole or not at all. Raises ProjectError when the file cannot be written."""
        text = dump_project(self.graph)
        header = Header(
            seed=self.seed,
            step=self.step_count,
            live=dict(self.live),
            drawn=dict(self._lowered.live),
            device=self.executor.info.name,
            project=text,
            project_sha256=hash_of(text),
        )
        write_checkpoint(path, self.states(), header)

    def load(self, path: PathLike) -> Header:
        """Go on from a checkpoint: states, step, seed and live values. Raises CheckpointError; nothing has changed then.

        A live value that the drawing now gives otherwise than when the checkpoint was written is taken from the drawing.
        """
        self._ensure_open()
        arrays, header = read_checkpoint(path)
        saved = self._saved_states()
        expected = {s.name: np.broadcast_to(np.zeros((), s.value.dtype.host), s.value.shape) for s in saved}
        check_states(str(path), expected, arrays)
        counter = arrays.get(f"{self.program.name}/step")
        if counter is not None and int(counter) != header.step:
            raise CheckpointError(f"{path}: its header says step {header.step}, its counter says {int(counter)}")
        self._write_states(arrays)
        self.step_count, self.seed = header.step, header.seed
        for key, value in header.live.items():
            if key in self.live and header.drawn.get(key) == self._lowered.live.get(key):
                self.live[key] = float(value)
        self._start_orders()
        return header

    # -- reports -------------------------------------------------------------------------------------------------------

    @property
    def loss(self) -> float | None:
        """The training loss of the last finished step."""
        for name, node in self.graph.nodes.items():
            declared = REGISTRY.get(node.operator)
            if declared is not None and declared.role == "loss":
                for column in (name, *declared.outputs):
                    if column in self.metrics:
                        return self.metrics[column]
        return None

    def report(self) -> dict[str, Any]:
        """Figures of the run as plain data: what `munet run --json` prints."""
        totals, counters, memory = self.totals, self.executor.counters, self.program.memory
        timed = totals.timed_steps
        return {
            "device": self.executor.info.name,
            "steps": self.step_count,
            "loss": self.loss,
            "metrics": dict(self.metrics),
            "evaluation": dict(self.evaluation),
            "seed": self.seed,
            "passes_per_step": self.program.pass_count,
            "levels_per_step": self.program.level_count,
            "submits": totals.submits,
            "blocking_waits": totals.blocking_waits,
            "arena_bytes": memory.arena_bytes,
            "arena_bytes_without_aliasing": memory.arena_bytes_without_aliasing,
            "arena_lower_bound": memory.arena_lower_bound,
            "gpu_ms_per_step": totals.gpu_ms / timed if timed else None,
            "wall_ms_per_step": 1000 * totals.wall_s / totals.steps if totals.steps else None,
            "cold_start_ms": {"lowering": self.lowering_ms, "shaders": counters.shaders_ms, "device": counters.device_ms},
            "shader_compiles": counters.shader_compiles,
            "counters": asdict(counters),
        }

    def close(self) -> None:
        """Free everything on the device; the session is unusable afterwards."""
        if not self._closed:
            self._closed = True
            self.executor.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # -- inside --------------------------------------------------------------------------------------------------------

    def _train(self, steps: int, *, wait: bool) -> Iterator[Event]:
        """As `train`. `wait`: block for the last submit, the only wait there is; else it is polled for like the others."""
        self._ensure_open()
        end, started = self.step_count + max(0, steps), time.perf_counter()
        self._arrivals.clear()
        self._arrivals.append((started, self.step_count - sum(ticket.steps for ticket in self._flights)))
        while self._flights or (self.step_count < end and not self._stopping):
            if self.step_count < end and not self._stopping:
                self._submit_ahead(end)
            if wait and len(self._flights) == 1 and (self.step_count >= end or self._stopping):
                before = self.executor.counters.blocking_waits
                self.executor.wait(self._flights[0])
                self.totals.blocking_waits += self.executor.counters.blocking_waits - before
            arrived = False
            while self._flights and self.executor.poll(self._flights[0]):
                arrived = True
                yield self._take(self._flights.popleft())
            if self._flights and not arrived:
                time.sleep(self._pace.nap_s)
        elapsed_s = time.perf_counter() - started
        self.totals.wall_s += elapsed_s
        yield Finished(self.step_count, dict(self.metrics), elapsed_s, self.step_count < end)

    def _submit_ahead(self, end: int) -> None:
        """Submit as far ahead as is sensible; the steps in flight stay together within the rings."""
        while self.step_count < end and self._pace.may_start(len(self._flights)):
            room = self._pace.capacity - sum(ticket.steps for ticket in self._flights)
            count = min(self._pace.steps(), end - self.step_count, room)
            if count < 1 or (self._flights and count < min(self._pace.steps(), end - self.step_count) // 2):
                return  # a bigger submit will fit soon
            feeds = self.feeds(self.step_count, count)
            self._flights.append(self.executor.submit(self.program, first_step=self.step_count, steps=count, feeds=feeds))
            self.step_count += count
            self.totals.submits += 1

    def feeds(self, first_step: int, steps: int) -> dict[str, Array]:
        """The rows that the host feeds for these steps, by feed."""
        feeds: dict[str, Array] = {}
        for feed in self.program.feeds:
            if feed.name in self._orders:
                feeds[feed.name] = self._orders[feed.name].rows(first_step, steps)
            else:
                feeds[feed.name] = scalar_rows(self._lowered.scalars, first_step, steps, self.live)
        return feeds

    def _take(self, ticket: Ticket) -> Progress:
        """The results of a finished submit."""
        now, done = time.perf_counter(), ticket.first_step + ticket.steps
        elapsed_s = now - self._arrivals[-1][0]
        self._arrivals.append((now, done))
        rows, gpu_ms = self.executor.records(ticket), self.executor.gpu_ms(ticket)
        self._pace.measured(ticket.steps, 1000 * elapsed_s if gpu_ms is None else gpu_ms)
        self.totals.steps += ticket.steps
        if gpu_ms is not None:
            self.totals.gpu_ms += gpu_ms
            self.totals.timed_steps += ticket.steps
        names = self.program.records.names if self.program.records else ()
        shown = [i for i, name in enumerate(names) if not name.startswith("_")]
        failed = self._failed_step(ticket, rows, names)
        if failed is not None:
            raise self._stopped_at(failed)
        names, rows = tuple(names[i] for i in shown), rows[:, shown]
        self.metrics = {name: float(value) for name, value in zip(names, rows[-1], strict=True)}
        since, before = self._arrivals[0]
        return Progress(done, dict(self.metrics), rows, names, (done - before) / max(now - since, 1e-9))

    def _failed_step(self, ticket: Ticket, rows: Array, names: Sequence[str]) -> int | None:
        """The step (from 0) of a submit at which the states began to stand still, None if all went well."""
        if FAILED not in names:
            return None
        failed, stamps = rows[:, names.index(FAILED)] != 0, rows[:, names.index(STAMP)]
        expected = (ticket.first_step + np.arange(ticket.steps)) % STAMP_RANGE + 1
        wrong = failed | (stamps != expected)
        return ticket.first_step + int(np.argmax(wrong)) if wrong.any() else None

    def _stopped_at(self, step: int) -> NonFiniteError:
        """Bring the session to the state before the failed step, and say what made it fail."""
        for ticket in self._flights:
            self.executor.wait(ticket)
        self._flights.clear()
        self.step_count = step
        flag = self.program.state_placement(f"{self.program.name}/failed")
        try:
            culprit = find_culprit(self.executor, self._lowered.module, self.program, step, self.feeds(step, 1))
        except OutOfDeviceMemory as error:
            return NonFiniteError(step + 1, f"a number is not finite; which one cannot be found, as a replay does not fit ({error})")
        finally:
            self.executor.write(flag.buffer, np.zeros(1, np.int32), offset_bytes=flag.offset_bytes)
        if culprit is None:
            return NonFiniteError(step + 1, "a number is not finite, but none is when the step is replayed op by op")
        return NonFiniteError(step + 1, culprit.text, node=culprit.node, operator=culprit.op.operator)

    def _evaluated(self, folder: RunFolder | None) -> Iterator[Event]:
        metrics = self.evaluate()
        if metrics:
            if folder:
                folder.report(self.step_count, metrics, split="test")
            yield Evaluated(self.step_count, metrics)

    def _start_orders(self) -> None:
        self._orders = {
            feeding.feed: ShuffledOrder(feeding.node, feeding.dataset.train_count, feeding.batch, self.seed)
            for feeding in self._lowered.sources
        }

    def _saved_states(self) -> list[Source]:
        return [state for state in self.program.module.states if state.group != _NOT_SAVED]

    def _write_states(self, arrays: Mapping[str, Array]) -> None:
        """One write for each buffer of states."""
        sizes = {spec.name: spec.size_bytes for spec in self.program.buffers}
        contents: dict[str, Array] = {}
        for source in self._saved_states():
            placement = self.program.state_placement(source.name)
            if placement.buffer not in contents:
                contents[placement.buffer] = np.zeros(sizes[placement.buffer], np.uint8)
            stored = np.ascontiguousarray(to_stored(arrays[source.name], source.value.dtype)).reshape(-1).view(np.uint8)
            contents[placement.buffer][placement.offset_bytes : placement.end_bytes] = stored
        for buffer, content in contents.items():
            self.executor.write(buffer, content)

    def _ensure_open(self) -> None:
        if self._closed:
            raise MunetError("the session is closed")


def _refused(code: str, found: str, rule: str, node: str, param: str) -> ProjectError:
    return ProjectError([Problem(code, found, rule=rule, node=node, socket=param)])


def _is_multiple(step: int, every: int) -> bool:
    return every > 0 and step % every == 0


def _next_multiple(step: int, every: int) -> int:
    """The next step at which something is due that is done every so many steps; far away if it never is."""
    return (step // every + 1) * every if every > 0 else 2**62
