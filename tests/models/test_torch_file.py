"""The restricted reader of PyTorch's old tensor files, on files built here and by torch itself."""

from __future__ import annotations

import collections
import io
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright.ir.errors import DataError
from loopwright.models import torch_file

MAGIC = 0x1950A86A20F9469CFC6C


class Storage:
    """Stands for a storage in the pickles written here."""

    def __init__(self, key: str, kind: str, elements: np.ndarray):
        self.key, self.kind, self.elements = key, kind, elements


class Name:
    """Pickles as a reference to `module.name`, whether that exists or not."""

    def __init__(self, module: str, name: str):
        self.module, self.name = module, name


class Rebuild:
    """Pickles as a call of the function `name` with the arguments."""

    def __init__(self, name: Name, *arguments: object):
        self.name, self.arguments = name, arguments


class Writer(pickle._Pickler):  # type: ignore[name-defined]
    """Writes what torch wrote: persistent references and names that need not be importable."""

    def persistent_id(self, value: object) -> object:
        if isinstance(value, Storage):
            kind = Name("torch", value.kind)
            return ("storage", kind, value.key, "cpu", len(value.elements), None)
        return None

    def save(self, value: object, save_persistent_id: bool = True) -> None:
        if isinstance(value, Name):
            self.write(f"c{value.module}\n{value.name}\n".encode())
        elif isinstance(value, Rebuild):
            self.save(value.name)
            self.save(value.arguments)
            self.write(pickle.REDUCE)
        else:
            super().save(value, save_persistent_id)


def pickled(value: object) -> bytes:
    stream = io.BytesIO()
    Writer(stream, protocol=2).dump(value)
    return stream.getvalue()


def tensor(storage: Storage, shape: tuple, strides: tuple, offset: int = 0) -> Rebuild:
    name = Name("torch._utils", "_rebuild_tensor_v2")
    return Rebuild(name, storage, offset, shape, strides, False, collections.OrderedDict())


def file_bytes(state: object, storages: list[Storage]) -> bytes:
    machine = {"protocol_version": 1001, "little_endian": True, "type_sizes": {"int": 4}}
    keys = [s.key for s in storages]
    data = b"".join(pickled(v) for v in (MAGIC, 1001, machine, state, keys))
    for s in storages:
        data += struct.pack("<q", len(s.elements)) + s.elements.tobytes()
    return data


def read(data: bytes, tmp_path: Path) -> dict[str, np.ndarray]:
    path = tmp_path / "state.pth"
    path.write_bytes(data)
    return torch_file.read_state(path)


@pytest.fixture
def simple() -> bytes:
    a = Storage("1", "FloatStorage", np.arange(12, dtype=np.float32))
    b = Storage("2", "LongStorage", np.array([7], dtype=np.int64))
    state = collections.OrderedDict(
        weight=tensor(a, (3, 4), (4, 1)),
        turned=tensor(a, (4, 3), (1, 4)),
        tail=tensor(a, (2,), (1,), offset=10),
        none=tensor(a, (0, 4), (4, 1)),
        count=tensor(b, (), ()),
    )
    return file_bytes(state, [a, b])


def test_reads_views_of_storages(simple: bytes, tmp_path: Path) -> None:
    state = read(simple, tmp_path)
    whole = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert list(state) == ["weight", "turned", "tail", "none", "count"]
    np.testing.assert_array_equal(state["weight"], whole)
    np.testing.assert_array_equal(state["turned"], whole.T)
    np.testing.assert_array_equal(state["tail"], [10, 11])
    assert state["none"].shape == (0, 4)
    assert state["count"] == 7 and state["count"].dtype == np.int64
    assert not any(array.flags.writeable for array in state.values())


def test_every_truncation_is_refused(simple: bytes, tmp_path: Path) -> None:
    for length in range(len(simple)):
        with pytest.raises(DataError, match="not a state dict"):
            read(simple[:length], tmp_path)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_damage_never_raises_anything_else(data: st.DataObject, tmp_path_factory: object) -> None:
    """Bytes changed at random: arrays of bounded size, or the one refusal."""
    a = Storage("1", "FloatStorage", np.arange(6, dtype=np.float32))
    damaged = bytearray(file_bytes({"w": tensor(a, (2, 3), (3, 1))}, [a]))
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        state = torch_file._state(bytes(damaged))
    except torch_file._Refused:
        return
    assert all(array.size <= 6 for array in state.values())


@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [
        ((3, 5), (5, 1), 0),
        ((13,), (1,), 0),
        ((2,), (1,), 11),
        ((2,), (100,), 0),
        ((2,), (-1,), 0),
        ((1000, 1000), (0, 0), 0),
        ((2**40,), (0,), 0),
        ((-1,), (1,), 0),
        ((2,), (1,), -1),
        ((2, 2), (1,), 0),
    ],
)
def test_tensors_outside_their_storage_are_refused(
    tmp_path: Path, shape: tuple, strides: tuple, offset: int
) -> None:
    a = Storage("1", "FloatStorage", np.arange(12, dtype=np.float32))
    with pytest.raises(DataError, match=r"outside its storage|impossible shape"):
        read(file_bytes({"w": tensor(a, shape, strides, offset)}, [a]), tmp_path)


@pytest.mark.parametrize(
    "call",
    [
        Rebuild(Name("os", "system"), "exit 1"),
        Rebuild(Name("builtins", "eval"), "1"),
        Rebuild(Name("torch", "FloatStorage"), 5),
        Rebuild(Name("torch._utils", "_rebuild_parameter"), 5),
        Rebuild(Name("collections", "OrderedDict"), [("a", 1)]),
    ],
)
def test_code_is_refused_and_never_run(tmp_path: Path, call: Rebuild) -> None:
    a = Storage("1", "FloatStorage", np.zeros(1, np.float32))
    state = {"w": tensor(a, (1,), (1,)), "x": call}
    with pytest.raises(DataError, match=r"refers to|calls something"):
        read(file_bytes(state, [a]), tmp_path)


def test_other_pickles_are_refused(tmp_path: Path) -> None:
    for other in (b"", b"PK\x03\x04 a zip file", pickle.dumps({"a": 1}), pickled([1, 2])):
        with pytest.raises(DataError):
            read(other, tmp_path)


def test_nested_objects_are_refused(tmp_path: Path) -> None:
    a = Storage("1", "FloatStorage", np.zeros(1, np.float32))
    for state in ({"inner": {"w": tensor(a, (1,), (1,))}}, [tensor(a, (1,), (1,))], {1: 2}):
        with pytest.raises(DataError, match="other things than named tensors"):
            read(file_bytes(state, [a]), tmp_path)


def test_agrees_with_torch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    base = torch.arange(24, dtype=torch.float64).reshape(2, 3, 4)
    state = collections.OrderedDict(
        plain=base,
        view=base.permute(2, 0, 1),
        half=base.to(torch.float16),
        flags=base > 5,
        bytes=base.to(torch.uint8),
    )
    path = tmp_path / "old.pth"
    torch.save(state, path, _use_new_zipfile_serialization=False)
    got = torch_file.read_state(path)
    for name, want in state.items():
        np.testing.assert_array_equal(got[name], want.numpy())
        assert got[name].dtype == want.numpy().dtype
