"""Locks that a forked child can use: a fork waits until nobody else holds them.

A fork takes them from the last registered to the first, so one that may be taken while another is
held must be registered before that other. What is registered stays so: these are locks of the
process, not of an object.
"""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager


def fork_safe_lock() -> AbstractContextManager[bool]:
    """A new reentrant lock that a fork waits for."""
    lock = threading.RLock()
    hold_over_fork(lock)
    return lock


def hold_over_fork(lock: AbstractContextManager[object]) -> None:
    """Have every fork of this process wait for a reentrant lock and hold it meanwhile."""

    def release() -> None:
        lock.__exit__(None, None, None)

    os.register_at_fork(before=lock.__enter__, after_in_parent=release, after_in_child=release)
