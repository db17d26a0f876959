"""LLVM itself: its start-up, a target machine for a `Target`, text in and machine code out.

Kernels are emitted in the form that the code generator wants, so no optimisation pass is run on
them, and loop strength reduction (two thirds of code generation, and worse addresses than the
emitter's own) is off while they are compiled. That switch is process-wide in LLVM and costs 0.1 ms,
so it is set for each compilation and put back after it: other users of LLVM keep theirs.
"""

from __future__ import annotations

import ctypes
import platform
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache

import llvmlite
import llvmlite.binding as llvm

from ...ir.errors import InternalError, TargetError
from ...ir.target import Target, host_flags
from .locks import fork_safe_lock, hold_over_fork

# A child of a fork in the middle of a call of LLVM could never call it again.
hold_over_fork(llvm.ffi.lib._lock)
_lock = fork_safe_lock()


def require_supported_host() -> None:
    """Raise `TargetError` where compiled code cannot be called.

    Supported: CPython 3.11 and newer with the GIL, the main interpreter, Linux on x86-64 or
    AArch64.
    """
    machine = platform.machine()
    if sys.platform != "linux" or machine not in ("x86_64", "aarch64"):
        raise TargetError(
            f"compiled functions do not run on {sys.platform} {machine}",
            None,
            "use Linux on x86-64 or AArch64, or loopwright.disable_jit()",
        )
    has_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    if sys.implementation.name != "cpython" or not has_gil or not _in_main_interpreter():
        raise TargetError(
            "compiled functions run only in the main interpreter of a CPython with the GIL",
            None,
            "use an ordinary CPython, 3.11 or newer, without subinterpreters",
        )


def _in_main_interpreter() -> bool:
    api = ctypes.pythonapi
    api.PyInterpreterState_Get.restype = api.PyInterpreterState_Main.restype = ctypes.c_void_p
    return bool(api.PyInterpreterState_Get() == api.PyInterpreterState_Main())


@cache
def _initialise(everything: bool) -> None:
    if everything:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    else:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()


def is_native(target: Target) -> bool:
    """Whether code for this target has this machine's instruction set architecture."""
    return not target.triple or target.triple.split("-")[0] == platform.machine()


def require_runnable(target: Target) -> None:
    """Raise `TargetError` for a target whose code this machine cannot run."""
    wide = {512: "avx512f", 256: "avx2"}.get(target.vector_bits) if target.cpu != "host" else None
    if not is_native(target) or (wide is not None and wide not in host_flags()):
        raise TargetError(
            f"code for {target.cpu} {target.triple} does not run on this machine",
            None,
            "call lower() to read it, or leave target out to run here",
        )


def describe(target: Target) -> tuple[str, str, str]:
    """LLVM's (triple, cpu, features) of a target, with "host" replaced by this machine's."""
    _initialise(not is_native(target))
    triple = target.triple or llvm.get_process_triple()
    cpu, features = target.cpu, ",".join(target.features)
    if cpu == "host":
        if not is_native(target):
            raise TargetError(
                f'cpu="host" is not a CPU of {target.triple}', None, "name the CPU: cpu=..."
            )
        cpu, own = host_cpu()
        features = f"{own},{features}" if features else own
    return triple, cpu, features


@cache
def host_cpu() -> tuple[str, str]:
    """LLVM's name of this machine's CPU, and all of its features as LLVM spells them."""
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def fingerprint(target: Target) -> str:
    """All that machine code depends on beside its program: for keys of caches."""
    version = ".".join(map(str, llvm.llvm_version_info))
    return "|".join((*describe(target), f"llvm {version}", f"llvmlite {llvmlite.__version__}"))


@lru_cache(maxsize=32)
def target_machine(target: Target, level: int = 2) -> llvm.TargetMachine:
    """The code generator for a target (made once: 0.5 ms), at a code generation level 0 to 3."""
    triple, cpu, features = describe(target)
    try:
        found = llvm.Target.from_triple(triple)
        return found.create_target_machine(
            cpu=cpu, features=features, opt=level, reloc="pic", codemodel="small"
        )
    except RuntimeError as error:
        raise TargetError(f"LLVM does not know the target {triple} {cpu}: {error}") from error


@contextmanager
def _without_strength_reduction() -> Iterator[None]:
    llvm.set_option("loopwright", "-disable-lsr")
    try:
        yield
    finally:
        llvm.set_option("loopwright", "-disable-lsr=false")


def compile_object(
    text: str, target: Target, *, level: int = 2, strength_reduction: bool = False
) -> bytes:
    """Machine code of LLVM text, as the bytes of a relocatable object file.

    Text that LLVM does not accept raises `InternalError` with the lines at fault.
    """
    with _lock:
        machine = target_machine(target, level)
        module = _parse(text, machine)
        if strength_reduction or level == 0:
            return bytes(machine.emit_object(module))
        with _without_strength_reduction():
            return bytes(machine.emit_object(module))


def assembly(text: str, target: Target, *, level: int = 2) -> str:
    """The assembly that `compile_object` would give for the same text and target."""
    with _lock:
        machine = target_machine(target, level)
        module = _parse(text, machine)
        with _without_strength_reduction():
            return str(machine.emit_assembly(module))


def _parse(text: str, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    # A context of its own, so that types and constants are freed with the module.
    try:
        module = llvm.parse_assembly(text, llvm.create_context())
        module.verify()
    except RuntimeError as error:
        raise InternalError(_quote(text, str(error))) from error
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    return module


def _quote(text: str, message: str) -> str:
    """LLVM's message with the lines of text around the place that it names."""
    place = re.search(r":(\d+):\d+: error: ", message)
    parts = ["LLVM does not accept the emitted program: " + message.strip()]
    if place:
        lines, at = text.splitlines(), int(place[1])
        for number in range(max(1, at - 3), min(len(lines), at + 2) + 1):
            parts.append(f"{'>' if number == at else ' '} {number:4} {lines[number - 1]}")
    return "\n".join(parts)
