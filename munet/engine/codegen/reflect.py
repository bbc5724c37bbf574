"""Reads what a compute shader declares out of its SPIR-V: constants, bindings and how they are used, push block, workgroup.

Only the few instructions that say so are looked at. Source: SPIR-V specification 1.6, sections 2.3, 3.32 and 3.52.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from munet.engine.errors import ShaderError

MAGIC = 0x07230203
# opcodes of instructions that use pointers; those that declare are named beside their number below
_FUNCTION_CALL, _VARIABLE, _LOAD, _STORE, _COPY_MEMORY, _ACCESS_CHAIN, _IN_BOUNDS_ACCESS_CHAIN = 57, 59, 61, 62, 63, 65, 66
_COPY_OBJECT, _ATOMIC_LOAD, _ATOMIC_STORE, _ATOMIC_EXCHANGE, _ATOMIC_XOR, _ATOMIC_FADD = 83, 227, 228, 229, 242, 6035
_COOPERATIVE_LOAD, _COOPERATIVE_STORE = 4457, 4458
# decorations, storage classes, execution modes
_SPEC_ID, _BUILT_IN, _NON_WRITABLE, _NON_READABLE, _BINDING, _SET, _OFFSET = 1, 11, 24, 25, 33, 34, 35
_WORKGROUP_SIZE, _LOCAL_SIZE, _LOCAL_SIZE_ID = 25, 17, 38
_UNIFORM, _PUSH, _STORAGE_BUFFER = 2, 9, 12


@dataclass(frozen=True)
class SpecConstant:
    name: str
    constant_id: int
    default: int


@dataclass(frozen=True)
class BufferUse:
    """A storage buffer: what its declaration allows, and what the code does. A function that gets it counts as doing both."""

    name: str
    set: int
    binding: int
    readonly: bool
    writeonly: bool
    read: bool
    written: bool


@dataclass(frozen=True)
class Reflection:
    constants: tuple[SpecConstant, ...]  # by id
    buffers: tuple[BufferUse, ...]  # by set and binding
    push_members: tuple[str, ...]
    push_bytes: int
    workgroup: tuple[int, int, int]  # with the defaults of the constants
    workgroup_ids: tuple[int | None, int | None, int | None]  # constant ids that set it
    capabilities: frozenset[int]


@dataclass
class _Module:
    """What is collected while walking over the instructions."""

    names: dict[int, str] = field(default_factory=dict)
    member_names: dict[tuple[int, int], str] = field(default_factory=dict)
    decorations: dict[tuple[int, int], list[int]] = field(default_factory=dict)  # (id, decoration) -> operands
    member_decorations: dict[tuple[int, int, int], list[int]] = field(default_factory=dict)
    pointees: dict[int, int] = field(default_factory=dict)  # pointer type -> type
    structs: dict[int, list[int]] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)  # bytes of scalar and vector types
    constants: dict[int, int] = field(default_factory=dict)  # id -> (default) value
    composites: dict[int, list[int]] = field(default_factory=dict)
    variables: dict[int, tuple[int, int]] = field(default_factory=dict)  # id -> (pointer type, storage class)
    bases: dict[int, int] = field(default_factory=dict)  # pointer -> the variable it leads into
    read: set[int] = field(default_factory=set)
    written: set[int] = field(default_factory=set)
    local_size: list[int] = field(default_factory=list)
    local_size_ids: list[int] = field(default_factory=list)
    capabilities: set[int] = field(default_factory=set)


def reflect(code: bytes) -> Reflection:
    """Raises ShaderError if the bytes are no SPIR-V."""
    module = _Module()
    for opcode, operands in _instructions(code):
        _declaration(module, opcode, operands)
        _use(module, opcode, operands)
    constants = [
        SpecConstant(module.names.get(target, ""), operands[0], module.constants.get(target, 0))
        for (target, decoration), operands in module.decorations.items()
        if decoration == _SPEC_ID and target in module.names  # glslang makes nameless twins for the workgroup's size
    ]
    sizes, ids = _workgroup(module, {constant.constant_id: constant.default for constant in constants})
    push = [pointer for pointer, storage in module.variables.values() if storage == _PUSH]
    members = _members(module, module.pointees[push[0]]) if push else []
    return Reflection(
        constants=tuple(sorted(constants, key=lambda constant: constant.constant_id)),
        buffers=tuple(sorted(_buffers(module), key=lambda buffer: (buffer.set, buffer.binding))),
        push_members=tuple(name for name, _ in members),
        push_bytes=max((end for _, end in members), default=0),
        workgroup=sizes,
        workgroup_ids=ids,
        capabilities=frozenset(module.capabilities),
    )


def _instructions(code: bytes) -> Iterator[tuple[int, Sequence[int]]]:
    words = memoryview(code).cast("I") if len(code) % 4 == 0 and len(code) >= 20 else ()
    if not words or words[0] != MAGIC:
        raise ShaderError("these bytes are no SPIR-V")
    at = 5
    while at < len(words):
        count, opcode = words[at] >> 16, words[at] & 0xFFFF
        if count == 0 or at + count > len(words):
            raise ShaderError(f"the SPIR-V ends within an instruction, at word {at}")
        yield opcode, words[at + 1 : at + count].tolist()
        at += count


def _declaration(module: _Module, opcode: int, operands: Sequence[int]) -> None:
    match opcode:
        case 5:  # OpName
            module.names[operands[0]] = _text(operands[1:])
        case 6:  # OpMemberName
            module.member_names[operands[0], operands[1]] = _text(operands[2:])
        case 16 if operands[1] == _LOCAL_SIZE:
            module.local_size = list(operands[2:5])
        case 331 if operands[1] == _LOCAL_SIZE_ID:
            module.local_size_ids = list(operands[2:5])
        case 17:  # OpCapability
            module.capabilities.add(operands[0])
        case 21 | 22:  # OpTypeInt, OpTypeFloat
            module.sizes[operands[0]] = operands[1] // 8
        case 23:  # OpTypeVector
            module.sizes[operands[0]] = module.sizes.get(operands[1], 4) * operands[2]
        case 30:  # OpTypeStruct
            module.structs[operands[0]] = list(operands[1:])
        case 32:  # OpTypePointer
            module.pointees[operands[0]] = operands[2]
        case 43 | 50:  # OpConstant, OpSpecConstant
            module.constants[operands[1]] = operands[2]
        case 48 | 49:  # OpSpecConstantTrue, OpSpecConstantFalse
            module.constants[operands[1]] = int(opcode == 48)
        case 44 | 51:  # OpConstantComposite, OpSpecConstantComposite
            module.composites[operands[1]] = list(operands[2:])
        case 71:  # OpDecorate
            module.decorations[operands[0], operands[1]] = list(operands[2:])
        case 72:  # OpMemberDecorate
            module.member_decorations[operands[0], operands[1], operands[2]] = list(operands[3:])


def _use(module: _Module, opcode: int, operands: Sequence[int]) -> None:
    def base(pointer: int) -> int:
        return module.bases.get(pointer, pointer)

    if opcode == _VARIABLE:
        module.variables[operands[1]] = operands[0], operands[2]
    elif opcode in (_ACCESS_CHAIN, _IN_BOUNDS_ACCESS_CHAIN, _COPY_OBJECT):
        module.bases[operands[1]] = base(operands[2])
    elif opcode in (_LOAD, _ATOMIC_LOAD, _COOPERATIVE_LOAD):
        module.read.add(base(operands[2]))
    elif opcode in (_STORE, _ATOMIC_STORE, _COOPERATIVE_STORE):
        module.written.add(base(operands[0]))
    elif opcode == _COPY_MEMORY:
        module.written.add(base(operands[0]))
        module.read.add(base(operands[1]))
    elif _ATOMIC_EXCHANGE <= opcode <= _ATOMIC_XOR or opcode == _ATOMIC_FADD:
        module.read.add(base(operands[2]))
        module.written.add(base(operands[2]))
    elif opcode == _FUNCTION_CALL:
        module.read |= {base(argument) for argument in operands[3:]}
        module.written |= {base(argument) for argument in operands[3:]}


def _buffers(module: _Module) -> Iterator[BufferUse]:
    for variable, (pointer, storage) in module.variables.items():
        block = module.pointees.get(pointer, 0)
        number = module.decorations.get((variable, _BINDING))
        if storage not in (_STORAGE_BUFFER, _UNIFORM) or number is None:
            continue
        name = module.names.get(variable) or module.names.get(block, "")

        def has(decoration: int, variable: int = variable, block: int = block) -> bool:
            members = range(len(module.structs.get(block, ())))
            on_all = bool(members) and all((block, member, decoration) in module.member_decorations for member in members)
            return (variable, decoration) in module.decorations or on_all

        readonly, writeonly = has(_NON_WRITABLE), has(_NON_READABLE)
        read, written = variable in module.read, variable in module.written
        group = module.decorations.get((variable, _SET), [0])[0]
        yield BufferUse(name, group, number[0], readonly, writeonly, read, written)


def _members(module: _Module, struct: int) -> list[tuple[str, int]]:
    """(name, end in bytes) of each member of a block; members of other types than numbers and vectors count 4 bytes."""
    found = []
    for member, kind in enumerate(module.structs.get(struct, ())):
        offset = module.member_decorations.get((struct, member, _OFFSET), [0])[0]
        found.append((module.member_names.get((struct, member), ""), offset + module.sizes.get(kind, 4)))
    return found


def _workgroup(
    module: _Module, defaults: Mapping[int, int]
) -> tuple[tuple[int, int, int], tuple[int | None, int | None, int | None]]:
    """Sizes and the constant ids that set them. Up to SPIR-V 1.5 a constant decorated as WorkgroupSize overrides the mode."""
    decorated = [
        target for (target, kind), value in module.decorations.items() if kind == _BUILT_IN and value == [_WORKGROUP_SIZE]
    ]
    parts = module.composites.get(decorated[0], []) if decorated else module.local_size_ids
    if not parts:
        x, y, z = (*module.local_size, 1, 1, 1)[:3]
        return (x, y, z), (None, None, None)
    ids = [module.decorations[part, _SPEC_ID][0] if (part, _SPEC_ID) in module.decorations else None for part in parts]
    x, y, z = (defaults.get(i, 1) if i is not None else module.constants.get(p, 1) for p, i in zip(parts, ids, strict=True))
    return (x, y, z), (ids[0], ids[1], ids[2])


def _text(words: Sequence[int]) -> str:
    return b"".join(word.to_bytes(4, "little") for word in words).split(b"\0")[0].decode("utf-8", "replace")
