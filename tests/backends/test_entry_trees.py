"""The native entry: nested arguments and results."""

import sys
import threading
import time
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

from loopwright.backends.llvm.signature import (
    ArgumentOutput,
    ArrayParameter,
    Container,
    FreshOutput,
    FreshResult,
    Leaf,
    ObjectOutput,
    PythonParameter,
    Signature,
    StaticParameter,
    Structure,
)
from loopwright.ir.errors import InternalError

F4 = np.dtype(np.float32)
VECTOR = ArrayParameter(F4, (8,))
LEAF = Leaf.LEAF
PAIR = Container(tuple, (LEAF, LEAF))


def vector(start=0.0):
    return np.arange(8, dtype=F4) + F4.type(start)


def is_slow(answer):
    return isinstance(answer, tuple) and len(answer) == 3 and answer[0] == "slow"


def returns_leaves(make, parameters, arguments, **more):
    """A function that returns the leaves of its arguments in a list."""
    outputs = tuple(ArgumentOutput(n) for n in range(len(parameters)))
    names = [f"p{n}" for n in range(len(arguments))]
    return make(
        "nothing", parameters, (), outputs, Structure.LIST, names, arguments=arguments, **more
    ).callable


def test_containers_are_taken_apart_in_order(make):
    tree = Container(
        dict, (LEAF, Container(list, (LEAF, PAIR)), Container(tuple, ())), ("a", "b", "c")
    )
    parameters = (VECTOR, VECTOR, PythonParameter(float), StaticParameter(None), VECTOR)
    f = returns_leaves(make, parameters, (tree, LEAF))
    a, b, c = vector(), vector(), vector()
    value = {"a": a, "b": [b, (0.5, None)], "c": ()}
    for answer in (f(value, c), f(value, p1=c), f(p1=c, p0=value), f(dict(value), c)):
        assert [id(x) for x in answer] == [id(a), id(b), id(value["b"][1][0]), id(None), id(c)]


def test_what_is_built_otherwise_is_left_to_the_slow_path(make):
    a = vector()
    two = namedtuple("two", "x y")

    class MyDict(dict):
        pass

    class MyList(list):
        pass

    cases = [
        (PAIR, (a, a), [[a, a], (a,), (a, a, a), two(a, a), a, None, {"x": a, "y": a}, (a, (a,))]),
        (
            Container(list, (LEAF, LEAF)),
            [a, a],
            [(a, a), [a], [a, a, a], MyList([a, a]), [a, None]],
        ),
        (
            Container(dict, (LEAF, LEAF), ("x", "y")),
            {"x": a, "y": a},
            [
                {"y": a, "x": a},
                {"x": a},
                {"x": a, "z": a},
                {"x": a, "y": a, "z": a},
                OrderedDict(x=a, y=a),
                MyDict(x=a, y=a),
                {"x": a, "y": None},
                [a, a],
                {},
            ],
        ),
        (
            Container(tuple, (Container(list, ()), PAIR)),
            ([], (a, a)),
            [((), (a, a)), ([a], (a, a))],
        ),
    ]
    for tree, right, wrong in cases:
        f = returns_leaves(make, (VECTOR, VECTOR), (tree,))
        answer = f(right)
        assert type(answer) is list and all(x is a for x in answer)
        for value in wrong:
            assert is_slow(f(value)), value


def test_equal_keys_that_are_other_objects_are_left_to_the_slow_path(make):
    f = returns_leaves(make, (VECTOR,), (Container(dict, (LEAF,), ("weight",)),))
    assert not is_slow(f({"weight": vector()}))
    assert is_slow(f({"".join(["wei", "ght"]): vector()}))


def test_plan_gets_the_leaves(make):
    tree = Container(dict, (LEAF, LEAF), ("x", "y"))
    f = make(
        "add", (VECTOR, VECTOR), (FreshResult(F4, (8,)),), names=("p",), arguments=(tree,)
    ).callable
    a, b = vector(), vector(7)
    np.testing.assert_array_equal(f({"x": a, "y": b}), a + b)


def test_overlap_and_alias_between_leaves(make):
    written = ArrayParameter(F4, (8,), writable=True)
    outputs = (ArgumentOutput(0),)
    f = make("increment", (written, VECTOR), (), outputs, names=("p",), arguments=(PAIR,)).callable
    a = vector()
    assert f((a, vector())) is a and is_slow(f((a, a)))
    same = ArrayParameter(F4, (8,), alias=0)
    f = make("increment", (written, same), (), outputs, names=("p",), arguments=(PAIR,)).callable
    assert f((a, a)) is a and is_slow(f((a, vector())))


def test_results_are_built_as_asked(make):
    marker = object()
    tree = Container(
        dict,
        (
            Container(tuple, (LEAF, Container(list, (LEAF, LEAF)))),
            LEAF,
            Container(dict, (), ()),
            Container(tuple, ()),
        ),
        ("both", 5, "empty", None),
    )
    outputs = (FreshOutput(0), ArgumentOutput(0), FreshOutput(1), ObjectOutput(marker))
    fresh = (FreshResult(F4, (2,)), FreshResult(F4, ()))
    f = make("copy8", (VECTOR,), fresh, outputs, tree).callable
    a = vector(1)
    answer = f(a)
    assert list(answer) == ["both", 5, "empty", None]
    (first, (second, third)), fourth = answer["both"], answer[5]
    np.testing.assert_array_equal(first, a[:2])
    assert type(answer["both"]) is tuple and type(answer["both"][1]) is list
    assert second is a and type(third) is np.float32 and fourth is marker
    assert answer["empty"] == {} and answer[None] == ()
    assert f(a) is not answer and f(a)["empty"] is not answer["empty"]


def test_signatures_of_several_structures_in_one_entry(make, plans):
    f = make("nothing", (VECTOR,), (), (ObjectOutput("array"),), names=("p",))
    for arguments, count, name in (
        ((PAIR,), 2, "pair"),
        ((Container(list, (LEAF,) * 40),), 40, "list"),
        ((Container(dict, (PAIR,), ("k",)),), 2, "dict"),
    ):
        f.add(
            Signature(
                (VECTOR,) * count,
                (),
                (ObjectOutput(name),),
                Structure.SINGLE,
                plans["nothing"],
                keep=plans,
                arguments=arguments,
            )
        )
    a = vector()
    for _ in range(3):
        assert f.callable(a) == "array"
        assert f.callable((a, a)) == "pair"
        assert f.callable([a] * 40) == "list"
        assert f.callable({"k": (a, a)}) == "dict"
        assert is_slow(f.callable([a] * 39))


def test_failures_in_nested_calls(make):
    flag = ArrayParameter(np.dtype(np.int32), ())
    tree = Container(list, (LEAF,))
    f = make(
        "status", (flag,), (FreshResult(F4, (2,)),), names=("p",), arguments=(tree,), number=3
    ).callable
    with pytest.raises(RuntimeError, match=r"\(3, 7\)"):
        f([np.array(7, np.int32)])
    assert f([np.array(0, np.int32)]).shape == (2,)


def test_key_that_cannot_be_hashed_is_an_error(make):
    tree = Container(dict, (LEAF,), ([],))
    with pytest.raises(TypeError, match="unhashable"):
        make("nothing", (), (), (ObjectOutput(1),), tree).callable()


def test_references_stay_as_they_were(make):
    marker, key = object(), "a key"
    tree = Container(dict, (LEAF, Container(list, (LEAF,))), (key, "other"))
    outputs = (FreshOutput(0), ObjectOutput(marker))
    f = make(
        "copy8",
        (VECTOR, VECTOR),
        (FreshResult(F4, (2,)),),
        outputs,
        tree,
        ("p",),
        arguments=(tree,),
    ).callable
    a, b = vector(), vector()
    value = {key: a, "other": [b]}
    watched = (a, b, marker, key, value, value["other"])

    def calls():
        for _ in range(300):
            f(value)
            f({key: a, "other": [None]})

    calls()
    before = [sys.getrefcount(thing) for thing in watched]
    calls()
    assert [sys.getrefcount(thing) for thing in watched] == before


def test_leaves_live_while_the_container_is_emptied(make):
    flag = ArrayParameter(np.dtype(np.int32), ())
    tree = Container(list, (LEAF, LEAF))
    f = make(
        "meet",
        (flag, VECTOR),
        (),
        (ArgumentOutput(1),),
        names=("p",),
        arguments=(tree,),
        release_gil=True,
    ).callable
    flag = np.array(0, np.int32)
    value = [flag, vector(3)]
    answers = []
    thread = threading.Thread(target=lambda: answers.append(f(value)))
    thread.start()
    while flag[()] == 0:
        time.sleep(0.001)
    value.clear()
    flag[...] = 2
    thread.join()
    np.testing.assert_array_equal(answers[0], vector(3))


def test_trees_must_fit_their_leaves(plans):
    for changes in (
        {"structure": PAIR},
        {"structure": Container(tuple, (LEAF, Container(list, (LEAF,))))},
        {"arguments": (LEAF, LEAF)},
        {"arguments": (Container(tuple, ()),)},
    ):
        fields = {"structure": Structure.TUPLE, "arguments": (LEAF,)} | changes
        with pytest.raises(InternalError):
            Signature((VECTOR,), (), (ObjectOutput(1),), plan=plans["nothing"], **fields)
