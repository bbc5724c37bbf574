"""Session: a project opened on a device; trains, evaluates, predicts, saves, and tells what happens as events. Knows no window.

    with Session.open("projects/xor.json") as session:
        for event in session.train(500):
            ...
        session.evaluate(); session.save("xor.safetensors")

Steps are submitted many at a time and ahead of what has finished; nothing waits per step. A session belongs to one thread; only
`stop`, `pause`, `resume` and `events` may be called from others.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import ArrayLike

from munet.engine import inspect
from munet.engine.assets import bundled_project
from munet.engine.backward import Backward, Gradients
from munet.engine.checkpoint import HELD_OUT, Header, hash_of, write_arrays, write_checkpoint
from munet.engine.compile import compile_program
from munet.engine.errors import MunetError, Problem, ProjectError
from munet.engine.evaluation import Evaluation, write_data
from munet.engine.events import Carried, Evaluated, Event, EventPage, EventRing, Finished
from munet.engine.execute.base import Array, Executor, PassTime
from munet.engine.execute.choose import open_executor
from munet.engine.files import PathLike
from munet.engine.graph import Graph, Node
from munet.engine.initial import draw
from munet.engine.limits import Limits, measured_limits
from munet.engine.livevalues import Number, change_live
from munet.engine.looking import TensorView, held_out, look, predictions, tensors_of
from munet.engine.lower import Lowered, lower
from munet.engine.operator import REGISTRY, Optimiser
from munet.engine.prediction import Histogram, Looker, Summary, histogram, summary
from munet.engine.profiling import Timings, timings_of
from munet.engine.program import Program
from munet.engine.project import dump_project, load_project
from munet.engine.recipe import Recipe, follow
from munet.engine.renaming import renaming
from munet.engine.replacing import Running, succeed
from munet.engine.reporting import loss_of, report_of
from munet.engine.restoring import restored, restored_weights
from munet.engine.runfolder import RunFolder
from munet.engine.stages import Report, silent, within
from munet.engine.states import is_weight, read_states, read_value, saved_states, write_states
from munet.engine.training import Totals, Training
from munet.engine.unfused import Unfused, unfused
from munet.engine.validate import validate


class Session:
    """Made by `open`. `step_count` counts the steps of the run, those before a resume included."""

    def __init__(
        self, graph: Graph, executor: Executor, lowered: Lowered, program: Program, seed: int, off: Collection[str], poison: bool
    ):
        self.graph, self.executor = graph, executor
        self.lowering_ms = 0.0
        self.evaluated = Evaluated(0, {})  # the last evaluation
        self._ring = EventRing()
        self._training = Training(executor, lowered, program, seed, self._ring.add)
        self._off, self._poison = off, poison
        self._drawings = 1  # how many this session has had
        self._closed = False
        self._evaluation: Evaluation | None = None
        self._looker: Looker | None = None
        self._backward: Backward | None = None
        self._timings: Timings | None = None
        self._followed: ref[Recipe] | None = None  # lives as long as the run that follows it

    @classmethod
    def open(
        cls,
        project: PathLike | Graph,
        device: str = "auto",
        *,
        seed: int | None = None,
        weights: PathLike | None = None,
        off: Collection[str] = (),
        poison: bool = False,
        progress: Report | None = None,
    ) -> Session:
        """Lower, compile and load a project, a file or a shipped one's name; its states start as drawn from the seed.

        seed     the project's own unless given
        device   "auto" takes the best Vulkan device, "vulkan:N" that one, "cpu" the NumPy reference
        weights  file to take parameters from, in place of the one that the project names; "" for none
        off      transforms to leave out;  poison: fill dead byte ranges with NaN before each pass (tests)
        progress hears how far it is, as ("compiling shaders 3/38", 0.42); what it raises ends the opening
        Raises ProjectError with all problems, CheckpointError, DeviceError kinds, ShaderError.
        """
        if not isinstance(project, Graph) and not Path(project).exists():
            project = bundled_project(str(project)) or project
        graph = project if isinstance(project, Graph) else load_project(project)
        report, started = progress or silent, time.perf_counter()
        report("lowering", 0.0)
        try:
            if not graph.nodes:
                raise ProjectError(validate(graph))
            lowered = lower(graph, "train")
        except ProjectError as error:
            file = "" if isinstance(project, Graph) else str(project)
            raise ProjectError([problem.at(file=file) for problem in error.problems]) from None
        lowering_s = time.perf_counter() - started
        report("opening the device", 0.08)
        executor = open_executor(device)
        try:
            started = time.perf_counter()
            program = compile_program(lowered.module, executor.info, off=off, report=within(report, 0.1, 0.3))
            lowering_s += time.perf_counter() - started
            executor.load(program, poison=poison, report=within(report, 0.3, 0.95))
            report("loading data", 0.95)
            session = cls(graph, executor, lowered, program, graph.run.seed if seed is None else seed, off, poison)
            session.lowering_ms = 1000 * lowering_s
            write_data(executor, program, lowered)
            write_states(executor, program, {state.name: draw(state, session.seed) for state in saved_states(program)})
            if weights is None and graph.run.initial_weights:
                weights = Path("" if isinstance(project, Graph) else project).parent / graph.run.initial_weights
            if weights:
                session.start_from(weights)
        except BaseException:
            executor.close()
            raise
        return session

    # -- training ------------------------------------------------------------------------------------------------------

    def train(self, steps: int) -> Iterator[Event]:
        """Train so many more steps; yields Progress as results arrive, then Finished. Ends early after `stop()`.

        While paused it yields Paused each time that more is asked for, so that its caller can do other things meanwhile.
        """
        _whole("steps", steps)
        self._training.stopping = False
        for event in self.steps_until(self.step_count + steps):
            yield self.tell(event) if isinstance(event, Finished) else event

    def run(self, total: int | None = None, folder: RunFolder | None = None) -> Iterator[Event]:
        """The project's recipe: train until the run has `total` steps; evaluate and save as its settings say, and at the end.

        Steps that `step`, `profile` and `timings` make in between count, and what is due at one of them is done there.
        """
        self._training.stopping = False
        recipe = Recipe(self, self.graph.run.steps if total is None else total, folder)
        self._followed = ref(recipe)
        return follow(self, recipe, folder)

    def step(self, count: int = 1) -> dict[str, float]:
        """Train so many steps, also while paused, and give the metrics of the last; waits for them."""
        self._ensure_open()
        _whole("count", count)
        self._training.stopping = False
        recipe, end = self._recipe(), self.step_count + count
        while True:
            if recipe:
                recipe.overtake()
            part = min(end, recipe.next_due) if recipe else end
            for event in self._training.steps(part - self.step_count, heed_pause=False):
                if recipe:
                    recipe.heard(event)
            if self.step_count >= end or self.stopping:
                break
        if recipe:
            recipe.overtake()
        return dict(self.metrics)

    def overtaken(self) -> list[Event]:
        """What the run that is held has to tell of steps that `step` or `profile` made; else it does when it goes on."""
        recipe = self._recipe()
        return list(recipe.untold()) if recipe else []

    def arrived(self) -> list[Event]:
        """Wait for what is under way; the events that nobody was given yet."""
        self._ensure_open()
        return self._training.arrived()

    def steps_until(self, end: int, *, wait: bool = True) -> Iterator[Event]:
        """Train until the run has `end` steps. `wait`: block for the last submit; else it is polled for like the others."""
        self._ensure_open()
        yield from self._training.steps(end - self.step_count, wait=wait)

    def stop(self) -> None:
        """Submit nothing more: training ends after the steps that are under way. May be called from a signal handler."""
        self._ensure_open()
        self._training.stopping = True

    def pause(self) -> None:
        """Submit nothing until `resume()`. Evaluating, predicting, tapping, saving and `step` go on working."""
        self._ensure_open()
        self._training.paused = True

    def resume(self) -> None:
        self._training.paused = False

    def evaluate(self) -> dict[str, float]:
        """Means of the metrics over all held-out samples; {} where the project records none. Training is not disturbed."""
        self._ensure_open()
        if self._evaluation is None:
            self._evaluation = Evaluation(self.graph, self.executor, self.program, self._off)
            self._training.live = self._evaluation.live | self.live
        self.evaluated = Evaluated(self.step_count, self._evaluation.run(self.live, self.step_count))
        self.tell(self.evaluated)
        return dict(self.evaluated.metrics)

    def set(self, node: str, param: str, value: Number) -> None:
        """Change a live parameter; it takes effect with the next submit, without compiling. Raises ProjectError.

        A parameter that a subgraph gives out is changed at the nodes inside.
        """
        self._ensure_open()
        change_live(self.live, self.graph, self._lowered.flat, (node, param), value)

    def replace(self, graph: Graph, *, renamed: Mapping[str, str] | None = None, progress: Report | None = None) -> Carried:
        """Go on with another drawing. It is compiled while what is under way runs on; states move on the device.

        renamed  new paths of nodes by those they had, {"linear 1": "dense", "conv": "block/conv"}: they keep states and live
                 values; the path of a subgraph's node stands for all inside. Others are the same node if the path is the same
        Gives the names of the states that were kept, those that start anew, and those dropped. `progress` is as in `open`.
        Raises what `open` raises; the session goes on as it was then.
        """
        self._ensure_open()
        renames = renaming(renamed)
        training = self._training
        before = Running(training.lowered, training.program)
        number = self._drawings + 1
        hook = progress or silent
        after = succeed(self.executor, before, graph, number, renames=renames, off=self._off, poison=self._poison, report=hook)
        try:
            training.drain()
        except MunetError:
            self.executor.unload(after.running.program.name)
            raise
        after.move(self.executor, before.program, self.seed)
        if self._evaluation:
            self._evaluation.close()
        for made in (self._looker, self._backward):
            if made:
                made.close()
        self.executor.unload(before.program.name)
        self._evaluation = self._looker = self._backward = self._timings = None
        self.graph, self._drawings = graph, number
        training.take_over(after.running.lowered, after.running.program, renames)
        carried = Carried(self.step_count, "drawing", after.kept, after.started, after.dropped)
        self.tell(carried)
        return carried

    # -- looking -------------------------------------------------------------------------------------------------------

    def predict(
        self, inputs: Mapping[str, ArrayLike] | None = None, nodes: str | Sequence[str] | None = None
    ) -> dict[str, Array]:
        """What the network makes of arrays that stand for its sources' outputs, any number of samples; training goes on unseen.

        inputs  by "node.socket", or by node for its first output; None: all held-out samples, batch by batch
        nodes   "node" or "node.socket" to give; unless given, all outputs that lead nowhere
        The results are by "node.socket". Dropout and noise are off, norms use their running statistics.
        """
        self._ensure_open()
        nodes = [nodes] if isinstance(nodes, str) else nodes
        looker = self._looking()
        if inputs is not None:
            return looker.predict(inputs, nodes, self.live, self.step_count)
        return predictions(looker, self._lowered, held_out(self._lowered), nodes, self.live, self.step_count)

    def samples(self, count: int | None = None) -> dict[str, Array]:
        """Held-out samples by "node.socket" of the sources: all, or `count` of them, always the same ones."""
        if count is not None:
            _whole("count", count, least=1)
        return dict(held_out(self._lowered, count))

    def look(self, sockets: str | Sequence[str], samples: int = 64) -> dict[str, Array]:
        """What sockets, "node.socket", hold for so many of the held-out samples, those of sources included; else as `predict`."""
        self._ensure_open()
        names = [sockets] if isinstance(sockets, str) else sockets
        return look(self._looking(), self._lowered, names, held_out(self._lowered, samples), self.live, self.step_count)

    def gradients(self, whole: str | Sequence[str] = ()) -> Gradients:
        """Gradients of the loss in the next step of training: norms of all, and those named in `whole` as arrays.

        Names are those of parameters, "node/weight", and of sockets between them and the loss, "node.socket". Limits and averages
        of the optimiser are not in them. Changes nothing, and counts no step.
        """
        self._ensure_open()
        if self._backward is None:
            self._backward = Backward(self.graph, self.executor, self._lowered, self.program, self._off)
        names = [whole] if isinstance(whole, str) else whole
        return self._backward.run(names, self.live, self.step_count, self.feeds(self.step_count, 1))

    def tensors(self, node: str) -> tuple[TensorView, ...]:
        """What goes into a node, what comes out of it, and its states: what `look`, `tap` and `state` can be asked for."""
        return tensors_of(self._lowered, self.program.module, node)

    def tap(self, node: str, socket: str, reduce: str = "value") -> Array | Histogram | Summary:
        """What an output socket would hold in the next step of training; changes nothing.

        reduce  "value", "histogram" or "summary"
        """
        self._ensure_open()
        if reduce not in ("value", "histogram", "summary"):
            rule = "value, histogram or summary"
            raise ProjectError([Problem("unknown-reduction", f'there is no reduction "{reduce}"', rule=rule, node=node)])
        array = self._looking().tap(node, socket, self.step_count, self.feeds(self.step_count, 1))
        return histogram(array) if reduce == "histogram" else summary(array) if reduce == "summary" else array

    def settle(self) -> None:
        """Wait until the device has done what it was given; what comes of it is told as usual. For whoever times a look."""
        self._training.settle()

    def events(self, since: int = 0) -> EventPage:
        """Events from a serial number on, those that are still kept; never blocks, and never holds up training."""
        return self._ring.since(since)

    @property
    def passes(self) -> tuple[inspect.PassView, ...]:
        """The compute passes of a training step."""
        return inspect.passes_of(self.program)

    @property
    def memory_plan(self) -> inspect.MemoryPlan:
        """Where every value of a training step lies, and with whom it shares bytes."""
        return inspect.plan_of(self.program)

    def timings(self, refresh: bool = False) -> Timings:
        """GPU time by pass and by node; measured at first use and when `refresh`ed, by a step of training that counts."""
        return self._timings if self._timings and not refresh else self.profile(1)

    def profile(self, steps: int = 5, trace: PathLike | None = None) -> Timings:
        """Train so many steps with each pass timed alone, and as many with each level timed; gives the medians.

        `trace`: a file for Chrome or Perfetto.
        """
        self._ensure_open()
        measured = [self._timed_step() for _ in range(max(1, steps))]
        levels = [self._timed_step(levels=True) for _ in range(max(1, steps))]
        optimisers = [name for name, node in self.nodes.items() if isinstance(REGISTRY.get(node.operator), Optimiser)]
        device = self.executor.info.name
        self._timings = timings_of(self.program, measured, device, optimisers, self._training.step_us, levels)
        if trace is not None:
            self._timings.write_trace(trace)
        return self._timings

    def limits(self, refresh: bool = False) -> Limits | None:
        """What this device can do at best; measured at first use, in about a second, and kept in the cache folder.

        None for a device without timestamps and for the NumPy reference.
        """
        self._ensure_open()
        return measured_limits(self.executor, refresh)

    def unfused(self) -> Unfused:
        """The training step beside what it would be with each op a pass of its own. Compiles that; nothing is run."""
        return unfused(self._lowered.module, self.program, self.executor.info)

    # -- states --------------------------------------------------------------------------------------------------------

    def state(self, name: str) -> Array:
        """A copy of one state as it is after all steps submitted so far. Raises KeyError."""
        return read_value(self.executor, self.program, self.program.module.source(name).value)

    def states(self) -> dict[str, Array]:
        """Copies of all states by name: parameters, moments, counters."""
        self._ensure_open()
        return read_states(self.executor, self.program)

    def save(self, path: PathLike) -> None:
        """Write a checkpoint, whole or not at all; waits for what is under way. Raises ProjectError when it cannot be written."""
        self._ensure_open()
        self._training.drain()  # a step that fails must not be counted in the header
        text = dump_project(self.graph)
        held_out = self.evaluated.metrics if self.evaluated.step == self.step_count else {}
        header = Header(
            metrics=self.metrics | {f"{HELD_OUT}{name}": value for name, value in held_out.items()},
            seed=self.seed,
            step=self.step_count,
            live=dict(self.live),
            drawn=dict(self._lowered.live),
            device=self.executor.info.name,
            project=text,
            project_sha256=hash_of(text),
        )
        write_checkpoint(path, self.states(), header)

    def load(self, path: PathLike, *, partial: bool = False, renamed: Mapping[str, str] | None = None) -> Header:
        """Go on from a checkpoint: states, step, seed and live values. Raises CheckpointError; nothing has changed then.

        A live value that the drawing now gives otherwise than when the checkpoint was written is taken from the drawing.
        partial  the drawing has changed since: states that fit are kept, moments included, new ones start from the seed
        renamed  nodes that have got other paths since, as in `replace`
        """
        self._ensure_open()
        renames = renaming(renamed)
        found = restored(self.program, path, partial=partial, renames=renames, nodes=self.nodes)
        self._training.go_on_from(found.header, found.states, renames)
        metrics = {key.removeprefix(HELD_OUT): v for key, v in found.header.metrics.items() if key.startswith(HELD_OUT)}
        self.evaluated = Evaluated(found.header.step, metrics)
        self.tell(Carried(found.header.step, "checkpoint", found.kept, found.started, found.dropped))
        return found.header

    def start_from(self, path: PathLike, *, partial: bool = True) -> Carried:
        """Take parameters and running statistics of these names and shapes from a checkpoint or any safetensors file.

        Optimiser states and the step stay as they are. Raises CheckpointError when nothing fits, or not all if not `partial`.
        """
        found = restored_weights(self.program, path, partial=partial)
        write_states(self.executor, self.program, found.states, only=found.states)
        carried = Carried(self.step_count, "weights", found.kept, found.started, found.dropped)
        self.tell(carried)
        return carried

    def weights(self) -> dict[str, Array]:
        """Copies of parameters and running statistics alone: what predicting needs."""
        names = {s.name for s in saved_states(self.program) if is_weight(s)}
        return {name: array for name, array in self.states().items() if name in names}

    def export_weights(self, path: PathLike) -> None:
        """Write `weights()` as a safetensors file."""
        write_arrays(path, self.weights())

    # -- reports -------------------------------------------------------------------------------------------------------

    @property
    def program(self) -> Program:
        """The training step as it is compiled now."""
        return self._training.program

    @property
    def _lowered(self) -> Lowered:
        return self._training.lowered

    @property
    def nodes(self) -> Mapping[str, Node]:
        """All nodes that run: those of subgraphs under the paths of their instances, "block 1/conv"."""
        return self._lowered.flat.nodes

    @property
    def step_count(self) -> int:
        return self._training.step_count

    @property
    def seed(self) -> int:
        return self._training.seed

    @property
    def live(self) -> dict[str, float]:
        """Live parameters by "node.param", as they are now."""
        return self._training.live

    @property
    def metrics(self) -> dict[str, float]:
        """Of the last finished step."""
        return self._training.metrics

    @property
    def evaluation(self) -> dict[str, float]:
        """Metrics of the last evaluation."""
        return dict(self.evaluated.metrics)

    @property
    def totals(self) -> Totals:
        return self._training.totals

    @property
    def stopping(self) -> bool:
        return self._training.stopping

    @property
    def metric_names(self) -> tuple[str, ...]:
        """What each step records."""
        records = self.program.records
        return tuple(name for name in records.names if not name.startswith("_")) if records else ()

    @property
    def loss(self) -> float | None:
        """The training loss of the last finished step."""
        return loss_of(self)

    def feeds(self, first_step: int, steps: int) -> dict[str, Array]:
        """The rows that the host feeds for these steps, by feed."""
        return self._training.feeds(first_step, steps)

    def tell(self, event: Event) -> Event:
        """Add an event to those that `events` gives."""
        return self._ring.add(event)

    def report(self) -> dict[str, Any]:
        """Figures of the run as plain data: what `munet run --json` prints."""
        return report_of(self)

    def close(self) -> None:
        """Free everything on the device; the session is unusable afterwards."""
        if not self._closed:
            self._closed = True
            self.executor.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _timed_step(self, levels: bool = False) -> list[PassTime]:
        recipe = self._recipe()
        if recipe:
            recipe.overtake()
        times = self._training.profile(levels)
        if recipe:
            recipe.overtake()
        return times

    def _recipe(self) -> Recipe | None:
        """That of the run that is under way, held or not."""
        return self._followed() if self._followed else None

    def _looking(self) -> Looker:
        if self._looker is None:
            self._looker = Looker(self.graph, self.executor, self._lowered, self.program, self._off)
        return self._looker

    def _ensure_open(self) -> None:
        if self._closed:
            raise MunetError("the session is closed")


def _whole(name: str, number: object, least: int = 0) -> None:
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
        raise MunetError(f"{name} is {str(number)[:60]!r}, but it must be a whole number, at least {least}")
