"""The disk cache of machine code: one file an entry, named by the digest of what it was made from.

Loading an entry means running it, so the folder must belong to the effective user and be writable
by nobody else; that is checked on a descriptor of the folder at every use, and all files are opened
relative to it, so that no path can be swapped in between. Each entry carries a digest of its key
and content: a torn, corrupt or renamed file is no entry, and is rewritten. Whatever goes wrong with
the disk, compilation goes on: the worst outcome is one `CacheWarning` and no cache.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import sys
import sysconfig
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np

from ...ir.errors import CacheWarning

_MAGIC = b"loopwright-1\n"
_DIGEST_BYTES = 32
_HEADER_BYTES = len(_MAGIC) + _DIGEST_BYTES
_STALE_SECONDS = 3600
DEFAULT_LIMIT = 1 << 30


def folder_from_environment(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Where the cache lies: `LOOPWRIGHT_CACHE_DIR`, else the user's cache folder.

    None if the variable is set to nothing, or if there is no home folder.
    """
    chosen = environ.get("LOOPWRIGHT_CACHE_DIR")
    if chosen is not None:
        return Path(chosen) if chosen else None
    base = environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):
        return Path(base, "loopwright")
    home = os.path.expanduser("~")
    return Path(home, ".cache", "loopwright") if os.path.isabs(home) else None


def entry_key(*parts: str | bytes) -> str:
    """The name of the entry made from `parts` by this compiler under this Python and NumPy."""
    digest = hashlib.sha256()
    for part in (*_surroundings(), *parts):
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


@cache
def _surroundings() -> tuple[str, ...]:
    return (
        code_version(),
        sys.implementation.cache_tag or "",
        sysconfig.get_config_var("SOABI") or "",
        np.__version__,
    )


@cache
def code_version() -> str:
    """A digest of the compiler's own source: another compiler's entries are never found."""
    package = Path(__file__).parents[2]
    digest = hashlib.sha256()
    paths = [*package.glob("*.py")]
    for folder in ("ir", "schedules", "backends", "driver"):
        paths += (package / folder).rglob("*.py")
    for path in sorted(paths):
        digest.update(str(path.relative_to(package)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


class DiskCache:
    """Entries of bytes under `folder`, at most about `limit` bytes of them (oldest use goes first).

    Safe to share between threads and processes. Without a folder it holds nothing.
    """

    def __init__(self, folder: Path | None, limit: int = DEFAULT_LIMIT):
        self.folder = folder and folder.absolute()
        self.limit = limit
        self._readable = self._writable = folder is not None
        self._warned = False
        self._written: int | None = None  # bytes in the folder, as far as this process knows

    def fetch(self, key: str, make: Callable[[], bytes]) -> bytes:
        """The entry's content; if there is none, that of `make()`, which is then kept."""
        content = self.get(key)
        if content is None:
            content = make()
            self.put(key, content)
        return content

    def get(self, key: str) -> bytes | None:
        """The entry's content, or None."""
        if not self._readable:
            return None
        try:
            with self._opened(create=False) as folder:
                return _read(folder, key)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            self._readable = self._writable = False
            self._warn(error)
            return None

    def put(self, key: str, content: bytes) -> None:
        """Keep content under key, in place of what is there."""
        if not self._writable or len(content) + _HEADER_BYTES > self.limit:
            return
        try:
            with self._opened(create=True) as folder:
                _write(folder, key, content)
                if self._written is None:
                    self._written = sum(size for _, size, _ in _entries(folder))
                else:
                    self._written += len(content) + _HEADER_BYTES
                if self._written > self.limit:
                    self._written = _evict(folder, self.limit)
        except (OSError, ValueError) as error:
            self._writable = False
            self._warn(error)

    @contextmanager
    def _opened(self, create: bool) -> Iterator[int]:
        """A descriptor of the folder, checked."""
        assert self.folder is not None
        if create:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.mkdir(self.folder, 0o700)
            except FileExistsError:
                pass
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            status = os.fstat(descriptor)
            if status.st_uid != os.geteuid():
                raise PermissionError("it belongs to another user")
            if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                raise PermissionError("others may write to it")
            yield descriptor
        finally:
            os.close(descriptor)

    def _warn(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            reason = getattr(error, "strerror", None) or str(error)
            warnings.warn(
                f"compiled code is not cached on disk: {self.folder}: {reason}. To mend: give "
                f"LOOPWRIGHT_CACHE_DIR a folder of your own that only you may write to",
                CacheWarning,
                stacklevel=3,
            )


def _digest(key: str, content: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\0" + content).digest()


def _read(folder: int, key: str) -> bytes | None:
    try:
        # Not blocking: a pipe under an entry's name must not hang the compiler.
        descriptor = os.open(key, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return None
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read()
        content = data[_HEADER_BYTES:]
        if data[:_HEADER_BYTES] != _MAGIC + _digest(key, content):
            return None
        try:
            os.utime(descriptor)
        except OSError:
            pass  # a read-only disk: entries there are served and never evicted
        return content
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _write(folder: int, key: str, content: bytes) -> None:
    temporary = f"{key}.{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    descriptor = os.open(temporary, flags, 0o600, dir_fd=folder)
    try:
        with open(descriptor, "wb") as file:
            file.write(_MAGIC + _digest(key, content) + content)
        os.rename(temporary, key, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        try:
            os.unlink(temporary, dir_fd=folder)
        except OSError:
            pass
        raise


def _entries(folder: int) -> list[tuple[float, int, str]]:
    """Last use, size and name of each file in the folder."""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # removed meanwhile by another process
                continue
            if stat.S_ISREG(status.st_mode):
                found.append((status.st_mtime, status.st_size, entry.name))
    return found


def _evict(folder: int, limit: int) -> int:
    """Remove what was used longest ago until three quarters of the limit are left."""
    found = sorted(_entries(folder))
    total = sum(size for _, size, _ in found)
    now = time.time()
    for used, size, name in found:
        unfinished = "." in name
        if unfinished and now - used < _STALE_SECONDS:
            continue
        if not unfinished and total <= limit * 3 // 4:
            continue
        try:
            os.unlink(name, dir_fd=folder)
        except FileNotFoundError:
            pass
        total -= size
    return total
