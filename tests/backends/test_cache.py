"""The disk cache: round trips, damage, hostile and broken places."""

import os
import resource
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

from loopwright.backends.llvm import cache
from loopwright.backends.llvm.cache import DiskCache, entry_key, folder_from_environment
from loopwright.ir.errors import CacheWarning

KEY = entry_key("test")


@pytest.fixture(autouse=True)
def warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error", CacheWarning)
        yield


def assert_warns_once_and_holds_nothing(disk):
    with pytest.warns(CacheWarning, match="LOOPWRIGHT_CACHE_DIR"):
        disk.put(KEY, b"code")
        disk.get(KEY)
    disk.put(KEY, b"code")  # a second warning would be an error here
    assert disk.get(KEY) is None


def test_round_trip_and_another_process_sees_it(tmp_path):
    DiskCache(tmp_path / "c").put(KEY, b"code")
    assert DiskCache(tmp_path / "c").get(KEY) == b"code"
    assert (tmp_path / "c").stat().st_mode & 0o777 == 0o700


def test_fetch_makes_once(tmp_path):
    made = []
    disk = DiskCache(tmp_path / "c")
    for _ in range(3):
        assert disk.fetch(KEY, lambda: made.append(1) or b"code") == b"code"
    assert made == [1]
    assert DiskCache(None).fetch(KEY, lambda: b"other") == b"other"


def test_missing_entry_and_missing_folder(tmp_path):
    assert DiskCache(tmp_path / "c").get(KEY) is None
    assert not (tmp_path / "c").exists()


def test_parents_are_made(tmp_path):
    DiskCache(tmp_path / "a" / "b" / "c").put(KEY, b"")
    assert DiskCache(tmp_path / "a" / "b" / "c").get(KEY) == b""


def test_no_folder_means_no_cache():
    disk = DiskCache(None)
    disk.put(KEY, b"code")
    assert disk.get(KEY) is None


@pytest.mark.parametrize("at", [0, 5, 14, 30, 45, 48, -1])
def test_any_flipped_byte_is_no_entry_and_is_rewritten(tmp_path, at):
    disk = DiskCache(tmp_path / "c")
    disk.put(KEY, b"some code")
    path = tmp_path / "c" / KEY
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    assert disk.get(KEY) is None
    disk.put(KEY, b"some code")
    assert disk.get(KEY) == b"some code"


@pytest.mark.parametrize("size", [0, 1, 20, 45, 50])
def test_truncated_entry_is_no_entry(tmp_path, size):
    disk = DiskCache(tmp_path / "c")
    disk.put(KEY, b"some code")
    os.truncate(tmp_path / "c" / KEY, size)
    assert disk.get(KEY) is None


def test_entry_under_another_name_is_no_entry(tmp_path):
    disk = DiskCache(tmp_path / "c")
    disk.put(KEY, b"code")
    other = entry_key("other")
    os.rename(tmp_path / "c" / KEY, tmp_path / "c" / other)
    assert disk.get(other) is None


def test_entry_that_is_a_link_pipe_or_folder_is_no_entry(tmp_path):
    disk = DiskCache(tmp_path / "c")
    disk.put(KEY, b"code")
    kept = tmp_path / "kept"
    os.rename(tmp_path / "c" / KEY, kept)
    os.symlink(kept, tmp_path / "c" / KEY)
    assert disk.get(KEY) is None
    disk.put(KEY, b"new")
    assert disk.get(KEY) == b"new" and not (tmp_path / "c" / KEY).is_symlink()
    os.unlink(tmp_path / "c" / KEY)
    os.mkfifo(tmp_path / "c" / KEY, 0o600)
    assert disk.get(KEY) is None
    os.unlink(tmp_path / "c" / KEY)
    os.mkdir(tmp_path / "c" / KEY)
    assert disk.get(KEY) is None


def test_entry_that_others_may_write_is_no_entry(tmp_path):
    disk = DiskCache(tmp_path / "c")
    disk.put(KEY, b"code")
    os.chmod(tmp_path / "c" / KEY, 0o666)
    assert disk.get(KEY) is None


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
def test_folder_that_others_may_write_is_refused(tmp_path, mode):
    DiskCache(tmp_path / "c").put(KEY, b"code")
    os.chmod(tmp_path / "c", mode)
    assert_warns_once_and_holds_nothing(DiskCache(tmp_path / "c"))


def test_foreign_folder_is_refused(tmp_path):
    DiskCache(tmp_path / "c").put(KEY, b"code")
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    os.chown(tmp_path / "c", 12345, -1)
    assert_warns_once_and_holds_nothing(DiskCache(tmp_path / "c"))


def test_linked_folder_is_refused(tmp_path):
    DiskCache(tmp_path / "real").put(KEY, b"code")
    os.symlink(tmp_path / "real", tmp_path / "c")
    assert_warns_once_and_holds_nothing(DiskCache(tmp_path / "c"))


def test_file_in_the_place_of_the_folder_or_its_parent(tmp_path):
    (tmp_path / "file").write_text("")
    assert_warns_once_and_holds_nothing(DiskCache(tmp_path / "file"))
    assert_warns_once_and_holds_nothing(DiskCache(tmp_path / "file" / "c"))


@pytest.mark.parametrize(
    "place", ["/dev/full", "/dev/null/c", "/proc/nothing/c", "x\0y", "n" * 5000]
)
def test_places_that_cannot_be_folders(place):
    assert_warns_once_and_holds_nothing(DiskCache(Path(place)))


def test_read_only_folder_serves_and_warns_once_on_writing(tmp_path, monkeypatch):
    DiskCache(tmp_path / "c").put(KEY, b"code")

    def refuse(path, flags, *rest, **more):
        if flags & os.O_CREAT:
            raise OSError(30, "Read-only file system")
        return real(path, flags, *rest, **more)

    real = os.open
    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(os, "utime", lambda *_: (_ for _ in ()).throw(OSError(30, "no")))
    disk = DiskCache(tmp_path / "c")
    assert disk.get(KEY) == b"code"
    with pytest.warns(CacheWarning, match="Read-only"):
        disk.put(entry_key("new"), b"code")
    disk.put(entry_key("new"), b"code")
    assert disk.get(KEY) == b"code"


def test_full_disk_leaves_no_trace(tmp_path):
    """A file size limit stands for the full disk, since it binds root too."""
    DiskCache(tmp_path / "c").put(KEY, b"old")
    code = (
        "import resource, sys, warnings, pathlib\n"
        "from loopwright.backends.llvm.cache import DiskCache\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "disk = DiskCache(pathlib.Path(sys.argv[1]))\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    warnings.simplefilter('always')\n"
        "    for _ in range(3): disk.put(sys.argv[2], bytes(100_000))\n"
        "assert [w.category.__name__ for w in seen] == ['CacheWarning'], seen\n"
        "assert disk.get(sys.argv[2]) == b'old'\n"
    )
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "c"), KEY], check=True, timeout=60)
    assert os.listdir(tmp_path / "c") == [KEY]


def test_oldest_use_is_evicted_first(tmp_path):
    disk = DiskCache(tmp_path / "c", limit=10_000)
    keys = [entry_key(str(n)) for n in range(12)]
    for age, key in enumerate(keys[:8]):
        disk.put(key, bytes(1000))
        os.utime(tmp_path / "c" / key, (age, age))
    assert disk.get(keys[0]) is not None  # used just now
    for key in keys[8:]:
        disk.put(key, bytes(1000))
    assert sum(path.stat().st_size for path in (tmp_path / "c").iterdir()) <= 10_000
    assert disk.get(keys[0]) is not None and disk.get(keys[11]) is not None
    assert disk.get(keys[1]) is None


def test_entry_larger_than_the_cache_is_not_kept(tmp_path):
    disk = DiskCache(tmp_path / "c", limit=1000)
    disk.put(KEY, bytes(2000))
    assert disk.get(KEY) is None


def test_threads_share_a_cache(tmp_path):
    failures = []

    def work(seed):
        disk = DiskCache(tmp_path / "c", limit=20_000)
        for number in range(60):
            key = entry_key(str((seed * 7 + number) % 10))
            found = disk.get(key)
            if found not in (None, key.encode() * 20):
                failures.append(found)
            disk.put(key, key.encode() * 20)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_key_depends_on_each_part_and_on_their_borders():
    keys = {entry_key("ab", "c"), entry_key("a", "bc"), entry_key("abc"), entry_key("ab", "d")}
    assert len(keys) == 4
    assert entry_key("a") == entry_key(b"a")


def test_key_depends_on_the_surroundings(monkeypatch):
    before = entry_key("a")
    monkeypatch.setattr(cache, "_surroundings", lambda: ("another compiler",))
    assert entry_key("a") != before


def test_folder_from_environment(tmp_path):
    assert folder_from_environment({"LOOPWRIGHT_CACHE_DIR": str(tmp_path)}) == tmp_path
    assert folder_from_environment({"LOOPWRIGHT_CACHE_DIR": ""}) is None
    assert folder_from_environment({"XDG_CACHE_HOME": "/x"}) == Path("/x/loopwright")
    found = folder_from_environment({"XDG_CACHE_HOME": "relative"})
    assert (
        found is not None and found.is_absolute() and found.parts[-2:] == (".cache", "loopwright")
    )
