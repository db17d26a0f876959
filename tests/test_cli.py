"""The command line: what it prints, and what it says to bad input."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import loopwright
from loopwright import cli
from loopwright.vision import pictures

MODULE = """
import numpy as np
import loopwright as lw

def plain(x, s):
    return np.tanh(x) * s

compiled = lw.jit(plain)

class Holder:
    @staticmethod
    def inner(x):
        return x + 1

number = 5
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module in the current folder."""
    (tmp_path / "cli_example.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    return "cli_example"


@pytest.mark.parametrize("level", cli.LEVELS)
@pytest.mark.parametrize("function", ["plain", "compiled"])
def test_show_prints_each_level(
    module: str, function: str, level: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["show", f"{module}:{function}", "float32[3,4]", "0.5", "--level", level]
    assert cli.main(words) == 0
    assert capsys.readouterr().out.strip()


def test_show_finds_attributes(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["show", f"{module}:Holder.inner", "int64[5]"]) == 0
    assert "int64[5]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["show", "{m}:nothing", "float32[3]"], "no function nothing"),
        (["show", "{m}:number"], "no function number"),
        (["show", "{m}"], "names no function"),
        (["show", "no_such_module_here:f"], "cannot import"),
        (["show", "{m}:plain", "float33[3]", "1"], "no argument type"),
        (["show", "{m}:plain", "float32[3,-1]", "1"], "no argument type"),
        (["show", "{m}:plain", "float32(3)", "1"], "no argument type"),
        (["show", "{m}:plain", "float32[3]"], "argument"),
        (["classify", "missing.jpg"], "no such file"),
        (["classify", "cli_example.py"], "not a picture"),
    ],
)
def test_bad_input_is_one_message(
    module: str, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit status 1 and a message on standard error, no traceback."""
    assert cli.main([word.format(m=module) for word in words]) == 1
    caught = capsys.readouterr()
    assert message in caught.err and "Traceback" not in caught.err and not caught.out


@pytest.mark.parametrize("words", [[], ["paint"], ["show"], ["classify", "x", "--resolution", "a"]])
def test_wrong_command_lines_end_with_usage(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    assert ended.value.code == 2 and "usage" in capsys.readouterr().err


def test_classify_names_the_cat(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["classify", str(pictures.SHIPPED), "--resolution", "160"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6
    assert "cat" in lines[0] and "%" in lines[0]
    assert "efficientnet-lite0 at 160 x 160" in lines[5] and " ms" in lines[5]


@pytest.mark.parametrize("resolution", ["0", "8", "99999"])
def test_classify_refuses_resolutions(resolution: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["classify", str(pictures.SHIPPED), "--resolution", resolution]) == 1
    assert "resolution" in capsys.readouterr().err


def test_classify_refuses_variants_and_threads(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["classify", str(pictures.SHIPPED), "--variant", "9"]) == 1
    assert cli.main(["classify", str(pictures.SHIPPED), "--threads", "0"]) == 1
    assert "Traceback" not in capsys.readouterr().err


def test_a_closed_pipe_is_no_error(module: str) -> None:
    """`loopwright show ... | head -1` ends quietly."""
    command = f"{sys.executable} -m loopwright.cli show {module}:plain 'float32[30]' 1 --level llvm"
    places = [str(Path(loopwright.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        f"{command} | head -1",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
    )
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 1
