"""The rules that the repository keeps: layers, packaging, sizes, names."""

from __future__ import annotations

import ast
import dataclasses
import doctest
import importlib
import pkgutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import loopwright

ROOT = Path(__file__).parents[1]

MAY_IMPORT: dict[str, set[str]] = {
    "ir": set(),
    "tracer": {"ir"},
    "schedules": {"ir"},
    "backends": {"ir"},
    "models": {"ir", "tracer"},
    "vision": {"ir", "tracer", "models"},
    "driver": {"ir", "tracer", "schedules", "backends"},
}
"""Folder -> the folders below it. Root modules (`cli.py`) may import all."""

IR_MAY_IMPORT: dict[str, set[str]] = {
    "expr": set(),
    "graph": {"expr"},
    "tensor": {"expr"},
    "loop": {"expr", "tensor"},
    "flat": {"expr", "tensor", "loop"},
    "plan": {"expr", "graph"},
    "lowering": {"expr", "graph", "tensor", "loop", "flat", "plan"},
}
"""Level -> the levels below it; the modules of `ir` itself are below all and import none."""

TESTS_ONLY = {"jax", "torch", "onnx", "onnxruntime", "numba", "openvino", "hypothesis", "pytest"}
"""Oracles and peers: for tests and benchmarks, never for the package."""

NOT_OURS = {".git", ".typing", ".venv", ".ci-venv", ".demo", "build", "dist", "notebooks"}


def sources(folder: Path, skip: frozenset[str] = frozenset()) -> list[Path]:
    """The Python files under a folder of the repository, without environments and builds."""
    found: list[Path] = []
    pending = [folder]
    while pending:
        for path in sorted(pending.pop().iterdir()):
            if path.is_dir() and not path.is_symlink() and path.name not in NOT_OURS | skip:
                pending.append(path)
            elif path.suffix == ".py":
                found.append(path)
    return found


def package_sources() -> list[Path]:
    """The Python files of the package."""
    return sources(ROOT, skip=frozenset({"tests"}))


def place(path: Path, node: ast.AST) -> str:
    """`file:line` of a node, for messages."""
    return f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', '?')}"


def imports(path: Path) -> Iterator[tuple[ast.AST, int, str]]:
    """All imports of a file, those inside functions too: the node, its dots, its module."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                module = f"{node.module}.{alias.name}" if node.module else alias.name
                yield node, node.level, module
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield node, 0, alias.name


def test_every_folder_is_packaged() -> None:
    """pyproject.toml names each folder with an `__init__.py`, and no other."""
    conf = tomllib.loads((ROOT / "pyproject.toml").read_text())
    folders = [p.parent.relative_to(ROOT).parts for p in package_sources() if p.stem == "__init__"]
    names = {".".join(("loopwright", *parts)) for parts in folders}
    assert set(conf["tool"]["setuptools"]["packages"]) == names


def test_every_folder_has_its_place() -> None:
    """A top-level folder that holds code stands in the map of layers."""
    folders = {p.relative_to(ROOT).parts[0] for p in package_sources()} - {
        p.name for p in ROOT.glob("*.py")
    }
    assert folders == set(MAY_IMPORT)


def test_imports_run_downhill() -> None:
    """Across folders imports are relative, and only of folders further down."""
    for path in package_sources():
        here = path.relative_to(ROOT).parts
        for node, level, module in imports(path):
            assert level or module.split(".")[0] != "loopwright", (
                f"{place(path, node)}: write this import with dots"
            )
            if level == 0 or len(here) == 1:
                continue
            target = (*here[: len(here) - level], *module.split("."))
            assert target[0] in MAY_IMPORT[here[0]] | {here[0]}, (
                f"{place(path, node)}: {here[0]}/ may not import {target[0]}"
            )


def test_levels_run_downhill() -> None:
    """Inside `ir` a level imports only the levels it is lowered from or made of."""
    for path in sources(ROOT / "ir"):
        here = path.relative_to(ROOT).parts
        for node, level, module in imports(path):
            if level == 0:
                continue
            target = (*here[: len(here) - level], *module.split("."))
            if target[1] not in IR_MAY_IMPORT:
                continue
            assert len(here) > 2, f"{place(path, node)}: ir/{here[1]} may not import a level"
            assert target[1] in IR_MAY_IMPORT[here[1]] | {here[1]}, (
                f"{place(path, node)}: ir/{here[1]}/ may not import ir/{target[1]}"
            )


def test_peers_stay_in_tests() -> None:
    """Neither the numerical oracle nor any peer is imported by the package."""
    for path in package_sources():
        for node, level, module in imports(path):
            assert level or module.split(".")[0] not in TESTS_ONLY, place(path, node)


def test_files_are_short() -> None:
    """A second subject opens a second file."""
    long = {
        str(path.relative_to(ROOT)): lines
        for path in sources(ROOT)
        if (lines := len(path.read_text().splitlines())) > 500
    }
    assert not long


def test_root_shadows_nothing() -> None:
    """People start Python in the root: no file or folder there hides another module."""
    conf = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lists = [conf["dependencies"], *conf["optional-dependencies"].values()]
    installed = {
        "".join(c if c.isalnum() or c == "_" else " " for c in name.replace("-", "_")).split()[0]
        for names in lists
        for name in names
    } - {"loopwright"}
    ours = {p.stem if p.suffix == ".py" else p.name for p in ROOT.iterdir()}
    assert not ours & (set(sys.stdlib_module_names) | installed)


def test_tests_are_no_package() -> None:
    """pytest imports tests by file; an `__init__.py` would give them two names."""
    assert not list((ROOT / "tests").rglob("__init__.py"))


def modules() -> list[str]:
    """Every module of the package."""
    prefixes = {*MAY_IMPORT, "cli"}
    infos = pkgutil.walk_packages(loopwright.__path__, "loopwright.")
    return [i.name for i in infos if i.name.split(".")[1] in prefixes]


def test_one_copy() -> None:
    """The package is not also imported under the name of the checkout's folder."""
    assert not [m for m in sys.modules if m.split(".")[0] == ROOT.name != "loopwright"]


@pytest.mark.parametrize("name", [m for m in modules() if m.endswith("nodes")])
def test_nodes_are_frozen(name: str) -> None:
    """Nodes of every level are frozen, slotted dataclasses."""
    for value in vars(importlib.import_module(name)).values():
        if isinstance(value, type) and dataclasses.is_dataclass(value):
            assert value.__dataclass_params__.frozen and "__slots__" in vars(value), value  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", modules())
def test_doctests(name: str) -> None:
    """Examples in docstrings are true."""
    assert not doctest.testmod(importlib.import_module(name)).failed


def test_import_is_light() -> None:
    """Importing the package loads neither LLVM nor what only some uses need."""
    code = (
        "import sys, loopwright\n"
        "print(*[m for m in ('llvmlite', 'lightgbm', 'PIL', 'jax', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
