"""The named buffers that programs share: who names which, how big it is, when it can go.

A buffer that exists is shared and keeps its content; its size must be the same for all programs that name it. Only
where a program is loaded anew under its name may its own buffers change their size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from munet.engine.errors import DeviceError
from munet.engine.execute.vulkan.memory import Buffer, Memory, rounded
from munet.engine.program import BufferSpec, Program


@dataclass(eq=False)
class NamedBuffer:
    """`spec` holds the size as programs know it, before rounding."""

    spec: BufferSpec
    buffer: Buffer
    programs: set[str]


class NamedBuffers:
    """All buffers of an executor but its staging."""

    def __init__(self, memory: Memory):
        self._memory = memory
        self._named: dict[str, NamedBuffer] = {}

    def __getitem__(self, name: str) -> NamedBuffer:
        if name not in self._named:
            raise DeviceError(f"there is no buffer {name}; the loaded programs have {', '.join(sorted(self._named)) or 'none'}")
        return self._named[name]

    def range(self, name: str, offset_bytes: int, size_bytes: int) -> Buffer:
        """The buffer, if the bytes lie inside it."""
        named = self[name]
        if offset_bytes < 0 or size_bytes < 0 or offset_bytes + size_bytes > named.spec.size_bytes:
            end = offset_bytes + size_bytes
            raise DeviceError(f"bytes {offset_bytes} to {end} lie outside buffer {name} of {named.spec.size_bytes} bytes")
        return named.buffer

    def allocate_missing(self, program: Program) -> dict[str, Buffer]:
        """New buffers for what the program names and does not find; nothing is allocated unless all of it fits."""
        specs = [spec for spec in program.buffers if self._is_missing(spec, program.name)]
        if not specs:
            return {}
        where = f"program {program.name}"
        self._memory.require(sum(rounded(spec.size_bytes) for spec in specs), f"{where}: its {len(specs)} new buffers")
        made: dict[str, Buffer] = {}
        try:
            for spec in specs:
                made[spec.name] = self._memory.device_buffer(spec.size_bytes, f"{where}: buffer {spec.name}")
        except DeviceError:
            self.discard(made)
            raise
        return made

    def discard(self, made: Mapping[str, Buffer]) -> None:
        """Frees buffers that were not adopted after all."""
        for buffer in made.values():
            self._memory.free(buffer)

    def seen_by(self, program: Program, made: Mapping[str, Buffer]) -> dict[str, Buffer]:
        """The buffers under the program's names, with `made` in place of what they replace."""
        return {spec.name: made.get(spec.name) or self[spec.name].buffer for spec in program.buffers}

    def adopt(self, program: Program, made: Mapping[str, Buffer]) -> None:
        """The program is ready: its new buffers take their names, and temporaries of its earlier version go.

        States, data and feeds stay although no program names them now: one that is loaded later may go on with them.
        """
        for named in self._named.values():
            named.programs.discard(program.name)
        for spec in program.buffers:
            if spec.name in made:
                if spec.name in self._named:
                    self._memory.free(self._named[spec.name].buffer)
                self._named[spec.name] = NamedBuffer(spec, made[spec.name], set())
            self._named[spec.name].programs.add(program.name)
        self._free_orphans({"temporary"})

    def release(self, program_name: str) -> None:
        """The program is gone: what no other program names goes with it."""
        touched = {name for name, named in self._named.items() if program_name in named.programs}
        for name in touched:
            self._named[name].programs.discard(program_name)
        self._free_orphans({"temporary", "state", "data", "feed"}, touched)

    def _free_orphans(self, roles: set[str], names: set[str] | None = None) -> None:
        for name in list(self._named) if names is None else names:
            named = self._named[name]
            if not named.programs and named.spec.role in roles:
                self._memory.free(named.buffer)
                del self._named[name]

    def _is_missing(self, spec: BufferSpec, program_name: str) -> bool:
        named = self._named.get(spec.name)
        if named is None:
            return True
        if named.spec.size_bytes == spec.size_bytes:
            return False
        others = sorted(named.programs - {program_name})
        if others:
            raise DeviceError(
                f"program {program_name}: its buffer {spec.name} has {spec.size_bytes} bytes, "
                f"but program {others[0]} shares one of {named.spec.size_bytes} bytes under that name"
            )
        return True
