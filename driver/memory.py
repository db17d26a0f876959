"""The pool of memory that results come from."""

from __future__ import annotations

from ..backends.llvm.runtime import pool_bytes, trim

__all__ = ["pool_bytes", "trim"]
