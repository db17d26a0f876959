"""Libraries of machine code in this process, linked by ORC and unmapped when dropped."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Iterable, Mapping
from functools import cache

import llvmlite.binding as llvm

from ...ir.errors import InternalError
from ...ir.target import Target
from . import host

_numbers = itertools.count()


@cache
def _linker() -> llvm.LLJIT:
    # One for the process. It is never closed, not even when the interpreter ends, hence the
    # reference that nothing gives back: threads of the runtime's pool and destructors of arrays
    # may still run code that it holds.
    host.require_supported_host()
    linker = llvm.create_lljit_compiler(host.target_machine(Target.host()))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(linker))
    return linker


class Library:
    """Object files linked together, and the addresses of the symbols that they export.

    `imports` gives addresses of symbols that the objects use and do not define; what is in neither
    is looked up in the process (libc, CPython). The code is unmapped as soon as the last reference
    to the library goes: whoever holds an address must hold the library too.
    """

    __slots__ = ("__weakref__", "_tracker", "addresses")

    def __init__(
        self,
        objects: Iterable[bytes],
        exports: Iterable[str],
        imports: Mapping[str, int] | None = None,
    ):
        builder = llvm.JITLibraryBuilder()
        builder.add_current_process()
        for data in objects:
            builder.add_object_img(data)
        for name, address in (imports or {}).items():
            builder.import_symbol(name, address)
        names = tuple(exports)
        for name in names:
            builder.export_symbol(name)
        try:
            self._tracker = builder.link(_linker(), f"loopwright.{next(_numbers)}")
        except RuntimeError as error:
            raise InternalError(f"the compiled code cannot be linked: {error}") from error
        self.addresses: dict[str, int] = {name: self._tracker[name] for name in names}

    def __getitem__(self, name: str) -> int:
        """The address of an exported symbol."""
        return self.addresses[name]

    def keep_forever(self) -> None:
        """Never unmap this library, not even when the interpreter ends."""
        self._tracker.detach()
