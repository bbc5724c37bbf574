"""Shader assets for tools: what variants there are, whether they are right and how fast on a device, and a person's own ones.

munet.shaders.assets(device)                     AssetView, VariantView: requirements, verdicts and times that are known there
munet.shaders.new_variant("contraction", "tiled", "mine")   a copy in the person's own folder; save_variant, faults
munet.shaders.check_text("contraction", "mine", text)       what would be wrong with it, by line; nothing is written
munet.shaders.set_used("contraction", "mine", True)         used wherever it can run and is right
with munet.shaders.Bench("vulkan:0") as bench:
    bench.verify("contraction", "mine")          against NumPy on all shapes of the contract; kept on disk
    bench.tune("contraction", shapes)            times for sizes, such as those of contraction_sizes(session.program)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType

from munet.engine.asset_views import (
    BROKEN,
    OK,
    REFUSED,
    UNVERIFIED,
    WRONG,
    AssetView,
    ConfigurationView,
    Need,
    VariantView,
    asset_views,
)
from munet.engine.builder import Builder
from munet.engine.codegen.asset_choice import eligible_configurations
from munet.engine.codegen.contraction_asset import shapes_of
from munet.engine.codegen.own_variants import (
    Fault,
    Mark,
    check_text,
    delete_variant,
    faults,
    marks_of,
    new_variant,
    own_folder,
    save_variant,
    set_used,
    whole_asset,
)
from munet.engine.codegen.verdicts import GENERATED, Judged
from munet.engine.codegen.verdicts import forget as forget_record
from munet.engine.device import DeviceInfo
from munet.engine.dtypes import F32
from munet.engine.errors import DeclarationError, ShaderError
from munet.engine.execute.choose import device_index, device_info
from munet.engine.execute.vulkan.executor import VulkanExecutor
from munet.engine.ir.module import Module, Source, Value
from munet.engine.kernel_check import verify
from munet.engine.operator import REGISTRY, Operator
from munet.engine.program import Program
from munet.engine.tuning import Tuned, tune

__all__ = [
    "assets", "AssetView", "VariantView", "ConfigurationView", "Need", "Judged", "OK", "UNVERIFIED", "REFUSED", "WRONG", "BROKEN",
    "own_folder", "new_variant", "save_variant", "delete_variant", "set_used", "faults", "check_text", "Fault", "Mark", "forget",
    "Bench", "Verified", "Tuned", "GENERATED", "contraction_sizes",
]  # fmt: skip

Progress = Callable[[int, int], object]  # (done, of how many)


@dataclass(frozen=True)
class Verified:
    """What came of a variant. `verdict` as of a VariantView; `error`: the largest, as a part of what is allowed; `us`: the
    least time of its configurations on the contract's largest shape; `marks`: what is wrong at which line."""

    asset: str
    variant: str
    verdict: str
    problem: str = ""
    error: float = 0.0
    us: float | None = None
    marks: tuple[Mark, ...] = ()
    runs: int = 0


def assets(device: str | DeviceInfo = "auto") -> tuple[AssetView, ...]:
    """All assets with what is known of them on a device, which is not opened. Raises DeviceUnavailable."""
    return asset_views(device_info(device) if isinstance(device, str) else device)


def forget(asset: str, variant: str, device: str | DeviceInfo = "auto") -> None:
    """Forget verdicts and times of a variant on a device; GENERATED: the times of the generated kernels."""
    info = device_info(device) if isinstance(device, str) else device
    found = whole_asset(asset)
    forget_record(found, None if variant == GENERATED else found.variant(variant), info)


def contraction_sizes(program: Program) -> list[dict[str, int]]:
    """The sizes, each once, of the sums of products in a session's program that the asset "contraction" can compute."""
    return shapes_of(op for passes in program.pass_lists for compute_pass in passes for op in compute_pass.ops)


class Bench:
    """A Vulkan device of its own for verifying and timing; belongs to one thread. `info` says which.

    Raises DeviceUnavailable, and DeviceLost from any call when a variant brings the device down; it is unusable then.
    """

    def __init__(self, device: str = "auto"):
        self._executor = VulkanExecutor(device_index(device))

    @property
    def info(self) -> DeviceInfo:
        return self._executor.info

    def verify(self, asset: str, variant: str, *, seed: int = 0, progress: Progress = lambda done, count: None) -> Verified:
        """Run a variant with every choice of constants on all shapes of its contract. The verdict is kept on disk."""
        found = whole_asset(asset)
        fault = next((fault for fault in faults(asset) if fault.path.stem == variant), None)
        if fault is not None and not any(v.name == variant and not v.own for v in found.variants):
            return Verified(asset, variant, BROKEN, fault.marks[0].message, marks=fault.marks)
        chosen = found.variant(variant)
        configurations = eligible_configurations(chosen, self.info)
        if not configurations:
            lacks = next(iter(chosen.requires.unmet(self.info)), "none of its configurations fits this device")
            return Verified(asset, variant, REFUSED, lacks)
        count, runs, error, problem = len(configurations) * len(found.contract.shapes), 0, 0.0, ""
        try:
            for verdict in verify(found, self._executor, only=variant, seed=seed):
                runs, error, problem = runs + 1, max(error, verdict.error), problem or verdict.problem
                progress(runs, count)
        except (DeclarationError, ShaderError) as refusal:
            return Verified(asset, variant, BROKEN, str(refusal), marks=marks_of(str(refusal), chosen.title))
        view = next(v for a in asset_views(self.info) if a.name == asset for v in a.variants if v.name == variant)
        return Verified(asset, variant, WRONG if problem else OK, problem, error, view.us, runs=runs)

    def tune(
        self, asset: str, sizes: Sequence[Mapping[str, int]], progress: Callable[[Tuned], object] = lambda found: None
    ) -> list[Tuned]:
        """Time what may run for each of the sizes, the generated kernel too; programs compiled later use the fastest."""
        found: list[Tuned] = []
        for measured in tune(whole_asset(asset), list(sizes), self._executor, plain=_product):
            found.append(measured)
            progress(measured)
        return found

    def close(self) -> None:
        self._executor.close()

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _product(dims: Mapping[str, int]) -> Module:
    """What the asset "contraction" computes, as a module of its own."""
    matmul = REGISTRY["matmul"]
    assert isinstance(matmul, Operator)
    batch, m, n, k = (dims[name] for name in ("BATCH", "M", "N", "K"))
    b = Builder("tuned")
    with b.active():
        left, right = (
            b.source(Source(name, "data", Value(shape, F32, name)))
            for name, shape in (("a", (batch, m, k)), ("b", (batch, k, n)))
        )
        made = matmul(left, right)
        assert isinstance(made, Value)
        b.outputs["c"] = made
        return b.finish()
