"""The command `loopwright`."""

from __future__ import annotations

import argparse
import importlib
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .driver.function import bind, jit, spec
from .ir import dtypes
from .ir.errors import ArgumentError, LoopwrightError
from .tracer.staging import ArraySpec

LEVELS = ("graph", "tensors", "loops", "flat", "plan", "llvm", "asm")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; the exit status is 1 after an error, 2 for a wrong command line."""
    options = parser().parse_args(arguments)
    try:
        run: Callable[[argparse.Namespace], None] = options.run
        run(options)
    except LoopwrightError as error:
        print(f"loopwright: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        sys.stderr.close()  # the reader (head, less) has seen enough
    return 0


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(
        prog="loopwright", description="A compiler for array functions written in Python."
    )
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    command = commands.add_parser("classify", help="name what is on a photograph")
    command.add_argument("photo", metavar="PHOTO", help="a JPEG, PNG, WebP or other picture")
    command.add_argument(
        "--resolution", type=int, metavar="R", help="edge of the network's input in pixels"
    )
    command.add_argument("--variant", type=int, default=0, help="EfficientNet-Lite 0, 1 or 2")
    command.add_argument("--threads", type=int, metavar="N", help="threads to run on")
    command.set_defaults(run=classify)

    command = commands.add_parser("show", help="print a function at a level of the compiler")
    command.add_argument("function", metavar="MODULE:FUNCTION")
    command.add_argument(
        "specs",
        metavar="SPEC",
        nargs="*",
        help="an argument's type, as float32[64,128] or int64[], or a Python number",
    )
    command.add_argument("--level", choices=LEVELS, default="graph")
    command.set_defaults(run=show)
    return top


def classify(options: argparse.Namespace) -> None:
    """Prints the five likeliest classes of a photograph, and how long it took."""
    from .backends.llvm.runtime import set_threads
    from .models import efficientnet_lite
    from .vision.classes import best_classes
    from .vision.pictures import read_photograph
    from .vision.preprocess import network_input

    if options.threads is not None:
        if options.threads < 1:
            raise ArgumentError(f"{options.threads} threads are not possible")
        set_threads(options.threads)
    picture = read_photograph(options.photo)
    network = efficientnet_lite(options.variant)
    x = network_input(
        picture, network.resolution if options.resolution is None else options.resolution
    )
    compiled = bind(network.apply, network.params)
    first, logits = timed(compiled, x)
    warm = statistics.median(timed(compiled, x)[0] for _ in range(15))
    for name, probability in best_classes(np.asarray(logits)[0]):
        print(f"{probability:6.1%}  {name}")
    print(
        f"{network.name} at {x.shape[2]} x {x.shape[3]}: {warm * 1e3:.2f} ms "
        f"(first call, with compilation: {first * 1e3:.0f} ms)"
    )


def timed(function: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """The seconds that a call took, and its result."""
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


def show(options: argparse.Namespace) -> None:
    """Prints one level of a function compiled for the given argument types."""
    function = find_function(options.function)
    compiled = function if hasattr(function, "lower") else jit(function)
    lowered = compiled.lower(*(argument(text) for text in options.specs))
    print(getattr(lowered, options.level))


def find_function(name: str) -> Any:
    """The function that `MODULE:FUNCTION` names; modules of the current folder are found too."""
    module_name, colon, path = name.partition(":")
    if not colon or not module_name or not path:
        raise ArgumentError(f"{name!r} names no function", fix="write MODULE:FUNCTION")
    sys.path.insert(0, "")
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise ArgumentError(f"cannot import {module_name}: {error}") from None
    finally:
        sys.path.remove("")
    for part in path.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise ArgumentError(f"{module_name} has no function {path}")
    return found


def argument(text: str) -> ArraySpec | int | float | bool:
    """The argument that a word of the command line means.

    >>> argument("2"), argument("0.5"), argument("True")
    (2, 0.5, True)
    >>> argument("float32[2,3]").shape
    (2, 3)
    """
    if text in ("True", "False"):
        return text == "True"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    name, bracket, extents = text.partition("[")
    known = {dtype.name: dtype for dtype in dtypes.ALL}
    if name in known and bracket and extents.endswith("]"):
        words = extents[:-1].split(",") if extents != "]" else []
        if all(word.strip().isdecimal() for word in words):
            return spec(tuple(int(word) for word in words), known[name])
    raise ArgumentError(
        f"{text!r} is no argument type",
        fix="write a dtype with extents, as float32[64,128] or int64[], or a number",
    )


if __name__ == "__main__":
    sys.exit(main())
