"""The thread that works on shader assets: looks at them, verifies and tunes on a device of its own, watches a person's files.

    desk = Desk(); desk.submit(Look("auto")); for news in desk.poll(): ...

A file that was saved, here or elsewhere, is compiled and, if it is right, verified; then `Ready` says that it may be taken up.
What is wrong with it stands in the views that come with `Seen`. Nothing here waits for the window, nor the window for it.
"""

from __future__ import annotations

import queue
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from munet import MunetError, shaders
from munet.shaders import AssetView, Bench, Mark, Verified
from studio.drafts import changed_elsewhere
from studio.shaders import Key, find, tuned_text
from studio.texts import text

WATCH_EVERY_S = 0.5


@dataclass(frozen=True)
class Look:
    """Read everything anew, for that device."""

    device: str


@dataclass(frozen=True)
class Verify:
    """These variants, or all that there are."""

    keys: tuple[Key, ...] = ()


@dataclass(frozen=True)
class Tune:
    asset: str
    sizes: tuple[Mapping[str, int], ...]


@dataclass(frozen=True)
class Create:
    """A copy of a variant in the person's own folder."""

    base: Key
    name: str


@dataclass(frozen=True)
class Save:
    """`base`: what the file should hold before; one that holds something else is not written. None: whatever it holds."""

    path: Path
    content: str
    base: str | None = None


@dataclass(frozen=True)
class Check:
    """What would be wrong with a person's own file that held this text."""

    path: Path
    asset: str
    content: str


@dataclass(frozen=True)
class Use:
    key: Key
    on: bool


@dataclass(frozen=True)
class Forget:
    """What is known of a variant on this device."""

    key: Key


@dataclass(frozen=True)
class Delete:
    path: Path


@dataclass(frozen=True)
class Soon:
    """There is something urgent."""


Urgent = Save | Check  # done between the runs of a verification: nobody waits for one to have a text saved
Request = Look | Verify | Tune | Create | Urgent | Use | Forget | Delete


@dataclass(frozen=True)
class Seen:
    """How things are now. `problem`: why there is no device to verify on."""

    assets: tuple[AssetView, ...]
    device: str
    problem: str = ""


@dataclass(frozen=True)
class Working:
    """What is being done; `count` is 0 when it is over."""

    what: str
    done: int = 0
    count: int = 0


@dataclass(frozen=True)
class Note:
    message: str
    error: bool = False


@dataclass(frozen=True)
class Created:
    key: Key


@dataclass(frozen=True)
class Saved:
    path: Path
    content: str


@dataclass(frozen=True)
class Conflict:
    """A file was not saved, because somebody else has changed it."""

    path: Path


@dataclass(frozen=True)
class Checked:
    path: Path
    content: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Ready:
    """What a program is made of may have changed: this variant is right, or is (not) to be used; None: times of many."""

    key: Key | None


News = Seen | Working | Note | Created | Saved | Conflict | Checked | Ready


class Cancelled(Exception):
    """Raised out of a verification or a tuning that is not wanted any more."""


class Desk:
    """`submit`, `poll`, `watch` and `cancel` return at once. The thread starts with the first request."""

    def __init__(self) -> None:
        self._asked: queue.SimpleQueue[Request | Soon | None] = queue.SimpleQueue()
        self._urgent: queue.SimpleQueue[Urgent] = queue.SimpleQueue()
        self._news: queue.SimpleQueue[News | None] = queue.SimpleQueue()
        self._waiting = 0  # requests whose end has not been heard
        self._worker = _Worker(self._asked, self._urgent, self._news)
        self._thread: threading.Thread | None = None

    def submit(self, request: Request) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._worker.loop, name="shaders", daemon=True)
            self._thread.start()
        self._waiting += 1
        if isinstance(request, Urgent):
            self._waiting += 1
            self._urgent.put(request)
            self._asked.put(Soon())
        else:
            self._asked.put(request)

    def poll(self) -> list[News]:
        found: list[News] = []
        while True:
            try:
                news = self._news.get_nowait()
            except queue.Empty:
                return found
            if news is None:
                self._waiting -= 1
            else:
                found.append(news)

    @property
    def busy(self) -> bool:
        return self._waiting > 0

    def watch(self, on: bool) -> None:
        """Whether files of the person's own are looked at again and again."""
        self._worker.watching = on

    def cancel(self) -> None:
        """End a verification or tuning that is under way."""
        self._worker.cancelled.set()

    def close(self, timeout_s: float = 5.0) -> None:
        if self._thread is not None:
            self.cancel()
            self._asked.put(None)
            self._thread.join(timeout_s)


class _Worker:
    """What runs on the thread."""

    def __init__(
        self, asked: queue.SimpleQueue[Request | Soon | None], urgent: queue.SimpleQueue[Urgent],
        news: queue.SimpleQueue[News | None],
    ):  # fmt: skip
        self._asked, self._urgent, self._news = asked, urgent, news
        self.watching = False
        self.cancelled = threading.Event()
        self._device = "auto"
        self._bench: Bench | None = None
        self._stamps: dict[Path, object] | None = None
        self._assets: tuple[AssetView, ...] = ()

    def loop(self) -> None:
        while True:
            try:
                # Watching stops and starts at any time, so the thread looks up now and then; that costs nothing to speak of.
                request = self._asked.get(timeout=WATCH_EVERY_S)
            except queue.Empty:
                if self.watching and self._stamps is not None:
                    self._guarded(self._look_for_changes)
                continue
            if request is None:
                self._close_bench()
                return
            if isinstance(request, Soon):
                self._hurry()
                self._guarded(self._look_for_changes)
                self._news.put(None)
                continue
            self.cancelled.clear()
            self._guarded(lambda r=request: self._obey(r))
            self._news.put(None)

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Cancelled:
            self._put(Note(text("shader.cancelled")))
        except MunetError as error:
            self._put(Note(str(error).splitlines()[0], error=True))
            self._close_bench()  # it may have been lost; the next one is opened anew
        except Exception as error:  # noqa: BLE001  # the window must learn of it, and the thread must live on
            traceback.print_exc()
            self._put(Note(text("job.unexpected", error=f"{type(error).__name__}: {error}"), error=True))
        self._put(Working(""))

    def _obey(self, request: Request) -> None:
        match request:
            case Look():
                if request.device != self._device:
                    self._close_bench()
                self._device = request.device
                self._stamps = self._stamps or _stamps()
            case Verify():
                for key in request.keys or tuple((asset.name, v.name) for asset in self._assets for v in asset.variants):
                    before = find(self._assets, key)
                    if self._verify(key) != (before.verdict if before is not None else ""):
                        self._put(Ready(key))
            case Tune():
                self._tune(request.asset, request.sizes)
            case Create():
                path = shaders.new_variant(*request.base, request.name)
                self._see()
                self._put(Created((request.base[0], path.stem)))
            case Use():
                shaders.set_used(*request.key, request.on)
                self._see()
                view = find(self._assets, request.key)
                if request.on and view is not None and view.verdict == shaders.UNVERIFIED:
                    self._verify(request.key)
                self._put(Ready(request.key))
            case Forget():
                shaders.forget(*request.key, self._device)
            case Delete():
                shaders.delete_variant(request.path)
                (self._stamps or {}).pop(request.path, None)  # that it is gone is told below, once
                self._put(Note(text("shader.deleted", name=request.path.name)))
        self._look_for_changes()
        self._see()

    def _hurry(self) -> None:
        """What is urgent, also amid something else."""
        while not self._urgent.empty():
            request = self._urgent.get_nowait()
            try:
                self._put(_done(request))
            except MunetError as error:
                self._put(Note(str(error).splitlines()[0], error=True))
            self._news.put(None)

    def _see(self) -> None:
        try:
            self._assets = shaders.assets(self._device)
            problem = text("shader.no_device") if self._device == "cpu" else ""
        except MunetError as error:  # no Vulkan at all: the files can still be read
            self._assets, problem = shaders.assets("cpu"), str(error)
        self._put(Seen(self._assets, self._device, problem))

    # -- a person's files ----------------------------------------------------------------------------------------------

    def _look_for_changes(self) -> None:
        """Files that have changed since they were last looked at are checked, and verified if nothing is wrong with them."""
        before, now = self._stamps or {}, _stamps()
        if now == before:
            return
        self._stamps = now
        self._see()
        for path in before.keys() - now.keys():
            self._put(Note(text("shader.gone", name=path.name), error=True))
        for path in (path for path, stamp in now.items() if before.get(path) != stamp):
            view = next((v for asset in self._assets for v in asset.variants if v.path == path), None)
            if view is None:
                continue
            if view.marks:
                mark = view.marks[0]
                kept = text("shader.kept" if view.kept else "shader.left_out")
                self._put(Note(f"{path.name}:{mark.line}: {mark.message}. {kept}", error=True))
                continue
            # One that is wrong is told; what runs goes on with the text that it has.
            known = path in before or view.used
            if known and self._verify((view.asset, view.name)) == shaders.OK:
                self._put(Ready((view.asset, view.name)))
        self._see()

    # -- the device ----------------------------------------------------------------------------------------------------

    def _verify(self, key: Key) -> str:
        """The verdict, which is told as well."""
        title = text("shader.verifying", name="/".join(key))
        self._step(title, 0, 1)
        found = self._open_bench().verify(*key, progress=lambda done, count: self._step(title, done, count))
        self._see()
        self._put(Note(_result(found), error=found.verdict in (shaders.WRONG, shaders.BROKEN)))
        return found.verdict

    def _tune(self, asset: str, sizes: Sequence[Mapping[str, int]]) -> None:
        title = text("shader.tuning")
        self._step(title, 0, 1)
        found = self._open_bench().tune(asset, sizes, lambda t: self._step(title, t.done, t.count))
        self._put(Note(tuned_text(found)))
        self._put(Ready(None))

    def _step(self, title: str, done: int, count: int) -> None:
        self._hurry()
        if self.cancelled.is_set():
            raise Cancelled
        self._put(Working(title, done, count))

    def _open_bench(self) -> Bench:
        if self._bench is None:
            self._bench = Bench(self._device)
        return self._bench

    def _close_bench(self) -> None:
        bench, self._bench = self._bench, None
        if bench is not None:
            bench.close()

    def _put(self, news: News) -> None:
        self._news.put(news)


def _done(request: Urgent) -> News:
    if isinstance(request, Check):
        return Checked(request.path, request.content, shaders.check_text(request.asset, request.path.stem, request.content))
    if request.base is not None and changed_elsewhere(request.path, request.base, request.content):
        return Conflict(request.path)
    shaders.save_variant(request.path, request.content)
    return Saved(request.path, request.content)


def _result(found: Verified) -> str:
    name = f"{found.asset}/{found.variant}"
    if found.verdict == shaders.OK:
        return text("shader.verified", name=name, runs=found.runs)
    return f"{name}: {found.problem}"


def _stamps() -> dict[Path, object]:
    """Time and size of each of the person's own files."""
    found: dict[Path, object] = {}
    for path in sorted(shaders.own_folder().glob("*/*.comp")):
        try:
            stat = path.stat()
        except OSError:  # it has just been removed
            continue
        found[path] = stat.st_mtime_ns, stat.st_size
    return found
