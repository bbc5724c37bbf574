"""`munet shaders`: what shader assets there are, whether they are right on this device, and why one is chosen or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer
from rich.console import Console

import munet.nodes  # noqa: F401  # fills the registry
from munet.engine.codegen.asset_choice import explain
from munet.engine.codegen.own_variants import faults, whole_asset
from munet.engine.codegen.shader_asset import Asset, asset_names
from munet.engine.codegen.verdicts import known_of
from munet.engine.device import DeviceInfo
from munet.engine.errors import DeviceError, MunetError, ShaderError
from munet.engine.execute.choose import device_index, device_info
from munet.engine.execute.vulkan.executor import VulkanExecutor
from munet.engine.kernel_check import Verdict, verify
from munet.engine.kernels import Contraction
from munet.engine.operator import REGISTRY, Operator

app = typer.Typer(name="shaders", help="Look at shader assets and verify them.", no_args_is_help=True)
out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)

DeviceOption = Annotated[str, typer.Option(help="auto or vulkan:N")]


def reported(command: Callable[..., None]) -> Callable[..., None]:
    """Errors as text. Exit code 2 for what the machine lacks, 1 for a wrong shader."""

    @wraps(command)
    def wrapped(**arguments: Any) -> None:
        try:
            command(**arguments)
        except MunetError as error:
            err.print(str(error), markup=False)
            raise typer.Exit(2 if isinstance(error, DeviceError) else 1) from None

    return wrapped


@app.command("list")
@reported
def list_assets() -> None:
    """List assets with their variants by rank."""
    for name in asset_names():
        asset = whole_asset(name)
        out.print(f"{name} ({', '.join(asset.contract.dimensions)})", markup=False)
        for variant in asset.variants:
            choices = f"; {len(variant.configurations)} configurations" if len(variant.configurations) > 1 else ""
            mine = "; your own" if variant.own else ""
            out.print(f"  {variant.name:12} rank {variant.rank:3}  {variant.summary}{choices}{mine}", markup=False)
            if variant.when is not None:
                out.print(f"  {'':12} when {variant.when.text}", markup=False)
        for fault in faults(name):
            err.print(str(fault), markup=False)


@app.command("verify")
@reported
def verify_assets(
    asset: Annotated[str, typer.Argument(help="an asset; all of them if it is left out")] = "",
    device: DeviceOption = "auto",
    seed: Annotated[int, typer.Option(min=0, help="of the inputs")] = 0,
) -> None:
    """Run every eligible variant with every choice of constants on all shapes of its contract, and compare with NumPy.

    Verdicts and times are kept: programs use nothing that was wrong here.
    """
    verdicts: list[Verdict] = []
    with VulkanExecutor(device_index(device)) as executor:
        for name in [asset] if asset else asset_names():
            for verdict in verify(whole_asset(name), executor, seed=seed):
                verdicts.append(verdict)
                if not verdict.fine:
                    out.print(verdict.problem, markup=False)
        where = f"{executor.info.name}, {executor.info.driver}"
    runs = Counter(f"{verdict.asset}/{verdict.variant}" for verdict in verdicts)
    for title, count in runs.items():
        worst = max(v.error for v in verdicts if f"{v.asset}/{v.variant}" == title)
        out.print(f"{title}: {count} runs, largest error {worst:.2g} of what is allowed", markup=False)
    wrong = sum(not verdict.fine for verdict in verdicts)
    out.print(f"{len(verdicts) - wrong} of {len(verdicts)} are right on {where}", markup=False)
    if wrong:
        raise typer.Exit(1)


@app.command("explain")
@reported
def explain_choice(
    op: Annotated[str, typer.Argument(metavar="OP", help="an operator that is a contraction, or an asset")],
    sizes: Annotated[list[int], typer.Argument(metavar="M N K", min=0, help="sizes of the product; of an asset, all dimensions")],
    device: DeviceOption = "auto",
) -> None:
    """Say which variant would be used, and why the others would not."""
    info = device_info(device)
    asset, dims = _asset_of(op), {}
    names = asset.contract.dimensions
    given = [1, *sizes] if asset.name == "contraction" and len(sizes) == len(names) - 1 else sizes
    if len(given) != len(names):
        raise ShaderError(f"{op}: give {', '.join(names)}; there are {len(sizes)} sizes")
    dims = dict(zip(names, given, strict=True))
    for variant, reason in explain(asset, dims, info, known_of(asset, dims, info)):
        out.print(f'{asset.name} on "{info.name}": {variant}.comp {reason}', markup=False)
    out.print(_note(asset, info), markup=False)


def _asset_of(op: str) -> Asset:
    """The asset of that name, or the one that overrides the operator."""
    operator = REGISTRY.get(op)
    if isinstance(operator, Operator) and isinstance(operator.kernel, Contraction):
        return whole_asset("contraction")
    if op in REGISTRY:
        raise ShaderError(f"{op} has no shader asset: its kernel is always generated")
    return whole_asset(op)


def _note(asset: Asset, device: DeviceInfo) -> str:
    if asset.name != "contraction":
        return ""
    if device.is_cpu:
        return (
            "On a CPU driver a contraction keeps its generated kernel unless a variant was measured faster or is set to be used."
        )
    return "Where generic.comp is chosen, programs use their generated kernel."
