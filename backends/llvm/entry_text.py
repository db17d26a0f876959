"""The entry of jitted functions as LLVM text: a CPython fast-call function driven by tables.

One function serves every jitted function: what differs (names, dtypes, shapes, the plan's address)
is in tables that `entry` fills, so that a new signature costs no compilation. Reading a table is
as fast as code made for one signature: the branches of a warm call are all predicted.

    ptr @lw_entry(ptr self, ptr args, i64 given, ptr names)        METH_FASTCALL | METH_KEYWORDS

    ptr @lw_vectorcall(ptr callable, ptr args, i64 given, ptr names)      PEP 590

`self` is a tuple whose first item is a capsule that points to the entry's table; a `callable` has
the reference to such a tuple at the offset `native`.
"""

from __future__ import annotations

from string import Template

from .entry_arguments import ARGUMENTS
from .entry_binding import BINDING
from .entry_results import RESULTS

EXPORTS = ("lw_entry", "lw_vectorcall")

# Codes in the tables; `entry` writes them.
ARRAY, FLOAT, INT, BOOL, SCALAR, OBJECT = range(6)  # kinds of parameters
FRESH, ARGUMENT, CONSTANT, AS_FLOAT, AS_INT, AS_BOOL = range(6)  # kinds of outputs
LEAF, TUPLE, LIST, DICT = range(4)  # nodes of nested arguments and results
CHAIN = 8  # signatures that an entry tries

_TABLES = """
; number of signatures, signatures (most recent first), room for addresses, number of parameters,
; those before here have no name, those before here may be given by position, names, defaults,
; slow path, raiser, room for leaves
%Entry = type { i64, [8 x ptr], i64, i64, i64, i64, ptr, ptr, ptr, ptr, i64 }

; owner (a Python object that keeps all of it alive), plan, bytes of arena, number, parameters,
; addresses that they pass, overlaps, fresh results, constants, nodes of the result, outputs,
; 1 to release the GIL, number of leaves, nodes of the arguments (null: all are leaves)
%Signature = type { ptr, ptr, i64, i64, ptr, i64, i64, ptr, i64, ptr, i64, ptr, ptr, ptr, i64,
                    i64, ptr }

; kind, number of parts, keys
%Node = type { i64, i64, ptr }

; kind, dtype number, object (dtype, type or value), dims, strides (null: C-contiguous),
; rank, flags that must be set, leaf that it must share memory with (or -1), bytes of an element,
; kind of the dtype
%Parameter = type { i32, i32, ptr, ptr, ptr, i32, i32, i64, i64, i64 }

; leaf, first and past-the-end byte from its address; the same of another
%Overlap = type { i64, i64, i64, i64, i64, i64 }

; bytes, dtype, dims, rank, 1 for a scalar, strides (null: C-contiguous)
%Fresh = type { i64, ptr, ptr, i32, i32, ptr }

; kind, number of the fresh result or the parameter, object
%Output = type { i64, i64, ptr }

@PyFloat_Type = external global i8
@PyLong_Type = external global i8
@PyTuple_Type = external global i8
@PyList_Type = external global i8
@PyDict_Type = external global i8
@_Py_TrueStruct = external global i8
@_Py_FalseStruct = external global i8
@PyExc_SystemError = external global ptr
@lw_ndarray = external global i8

declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyObject_CallFunction(ptr, ptr, ...)
declare ptr @PyErr_Occurred()
declare void @PyErr_SetString(ptr, ptr)
declare ptr @PyCapsule_New(ptr, ptr, ptr)
declare ptr @PyCapsule_GetPointer(ptr, ptr)
declare ptr @PyFloat_FromDouble(double)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyBool_FromLong(i64)
declare ptr @PyTuple_New(i64)
declare ptr @PyList_New(i64)
declare i32 @PyList_SetItem(ptr, i64, ptr)
declare ptr @PyDict_New()
declare i64 @PyDict_Size(ptr)
declare i32 @PyDict_Next(ptr, ptr, ptr, ptr)
declare i32 @PyDict_SetItem(ptr, ptr, ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @lw_new_array(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)      ; PyArray_NewFromDescr
declare ptr @lw_new_scalar(ptr, ptr, ptr)                              ; PyArray_Scalar
declare i32 @lw_set_base(ptr, ptr)                                     ; PyArray_SetBaseObject
declare ptr @lw_block_alloc(i64)
declare void @lw_block_free(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

@call_format = private constant [3 x i8] c"Li\\00"
@silent = private constant [39 x i8] c"a failed compiled call raised no error\\00"
@cleared = private constant [37 x i8] c"the compiled function is being freed\\00"
"""

_CALL = """
; ---- the call ---------------------------------------------------------------------------------

define internal i32 @run_plan(ptr %signature, ptr %pointers, ptr %arena) {
  %plan_at = getelementptr %Signature, ptr %signature, i32 0, i32 1
  %plan = load ptr, ptr %plan_at
  %flags_at = getelementptr %Signature, ptr %signature, i32 0, i32 14
  %flags = load i64, ptr %flags_at
  %keep = icmp eq i64 %flags, 0
  br i1 %keep, label %held, label %released
held:
  %a = call i32 %plan(ptr %pointers, ptr %arena)
  ret i32 %a
released:
  %thread = call ptr @PyEval_SaveThread()
  %b = call i32 %plan(ptr %pointers, ptr %arena)
  call void @PyEval_RestoreThread(ptr %thread)
  ret i32 %b
}

define internal i32 @run_in_block(ptr %signature, ptr %pointers, i64 %bytes) {
  %block = call ptr @lw_block_alloc(i64 %bytes)
  %short = icmp eq ptr %block, null
  br i1 %short, label %fail, label %go
go:
  %status = call i32 @run_plan(ptr %signature, ptr %pointers, ptr %block)
  call void @lw_block_free(ptr %block)
  ret i32 %status
fail:
  ret i32 -1
}

define internal i32 @run_on_stack(ptr %signature, ptr %pointers) {
  %arena = alloca [$stack_bytes x i8], align 64
  %status = call i32 @run_plan(ptr %signature, ptr %pointers, ptr %arena)
  ret i32 %status
}

define internal i32 @run(ptr %signature, ptr %pointers) {
  %bytes_at = getelementptr %Signature, ptr %signature, i32 0, i32 2
  %bytes = load i64, ptr %bytes_at
  %none = icmp eq i64 %bytes, 0
  br i1 %none, label %bare, label %some
bare:
  %a = call i32 @run_plan(ptr %signature, ptr %pointers, ptr null)
  ret i32 %a
some:
  %little = icmp ule i64 %bytes, $stack_bytes
  br i1 %little, label %stack, label %block
stack:
  %b = call i32 @run_on_stack(ptr %signature, ptr %pointers)
  ret i32 %b
block:
  %c = call i32 @run_in_block(ptr %signature, ptr %pointers, i64 %bytes)
  ret i32 %c
}

; Has the raiser raise for a status; null.
define internal ptr @fail(ptr %entry_table, ptr %signature, i32 %status) {
  %there = call ptr @PyErr_Occurred()
  %already = icmp ne ptr %there, null
  br i1 %already, label %leave, label %raise
raise:
  %raiser_at = getelementptr %Entry, ptr %entry_table, i32 0, i32 9
  %raiser = load ptr, ptr %raiser_at
  %number_at = getelementptr %Signature, ptr %signature, i32 0, i32 3
  %number = load i64, ptr %number_at
  %answer = call ptr (ptr, ptr, ...) @PyObject_CallFunction(ptr %raiser, ptr @call_format,
                                                            i64 %number, i32 %status)
  %raised = icmp eq ptr %answer, null
  br i1 %raised, label %leave, label %complain
complain:
  call void @Py_DecRef(ptr %answer)
  %kind = load ptr, ptr @PyExc_SystemError
  call void @PyErr_SetString(ptr %kind, ptr @silent)
  br label %leave
leave:
  ret ptr null
}

; Takes a reference to each of %count objects.
define internal void @hold_all(ptr %objects, i64 %count) {
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i_on, %hold ]
  %left = icmp ult i64 %i, %count
  br i1 %left, label %hold, label %leave
hold:
  %i_on = add i64 %i, 1
  %at = getelementptr ptr, ptr %objects, i64 %i
  %object = load ptr, ptr %at
  call void @Py_IncRef(ptr %object)
  br label %next
leave:
  ret void
}

; Runs a signature on leaves taken from containers, which others may change meanwhile.
define internal ptr @call_held(ptr %entry_table, ptr %signature, ptr %leaves, ptr %pointers) {
  %count_at = getelementptr %Signature, ptr %signature, i32 0, i32 15
  %count = load i64, ptr %count_at
  call void @hold_all(ptr %leaves, i64 %count)
  %answer = call ptr @call(ptr %entry_table, ptr %signature, ptr %leaves, ptr %pointers)
  call void @drop_all(ptr %leaves, i64 %count)
  ret ptr %answer
}

; Runs a signature on values that fit it.
define internal ptr @call(ptr %entry_table, ptr %signature, ptr %values, ptr %pointers) {
entry:
  %owner = load ptr, ptr %signature
  %leaves_at = getelementptr %Signature, ptr %signature, i32 0, i32 5
  %leaves = load i64, ptr %leaves_at
  %count_at = getelementptr %Signature, ptr %signature, i32 0, i32 8
  %count = load i64, ptr %count_at
  %fresh_at = getelementptr %Signature, ptr %signature, i32 0, i32 9
  %fresh_list = load ptr, ptr %fresh_at
  %constants_at = getelementptr %Signature, ptr %signature, i32 0, i32 10
  %constants = load i64, ptr %constants_at
  %constants_list_at = getelementptr %Signature, ptr %signature, i32 0, i32 11
  %constants_list = load ptr, ptr %constants_list_at
  %objects = alloca ptr, i64 %count
  %cells = alloca [2 x i64], i64 %count, align 16
  ; Other threads may take the signature out of the chain while it runs.
  call void @Py_IncRef(ptr %owner)
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i_on, %placed ]
  %left = icmp ult i64 %i, %count
  br i1 %left, label %result, label %run
result:
  %i_on = add i64 %i, 1
  %fresh = getelementptr %Fresh, ptr %fresh_list, i64 %i
  %object_at = getelementptr ptr, ptr %objects, i64 %i
  %scalar_at = getelementptr %Fresh, ptr %fresh, i32 0, i32 4
  %scalar = load i32, ptr %scalar_at
  %is_scalar = icmp ne i32 %scalar, 0
  br i1 %is_scalar, label %cell, label %array
cell:
  store ptr null, ptr %object_at
  %cell_at = getelementptr [2 x i64], ptr %cells, i64 %i
  br label %placed
array:
  %made = call ptr @new_result(ptr %fresh)
  store ptr %made, ptr %object_at
  %short = icmp eq ptr %made, null
  br i1 %short, label %no_memory, label %data
data:
  %data_at = getelementptr i8, ptr %made, i64 16
  %data_is = load ptr, ptr %data_at
  br label %placed
placed:
  %address = phi ptr [ %cell_at, %cell ], [ %data_is, %data ]
  %place = add i64 %leaves, %i
  %place_at = getelementptr ptr, ptr %pointers, i64 %place
  store ptr %address, ptr %place_at
  br label %next
run:
  %first = add i64 %leaves, %count
  %first_at = getelementptr ptr, ptr %pointers, i64 %first
  %bytes = mul i64 %constants, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %first_at, ptr %constants_list, i64 %bytes, i1 false)
  %status = call i32 @run(ptr %signature, ptr %pointers)
  %failed = icmp ne i32 %status, 0
  br i1 %failed, label %bad, label %good
good:
  %returned = call ptr @outputs(ptr %signature, ptr %values, ptr %objects, ptr %cells)
  call void @drop_all(ptr %objects, i64 %count)
  call void @Py_DecRef(ptr %owner)
  ret ptr %returned
no_memory:
  br label %bad
bad:
  %made_count = phi i64 [ %i, %no_memory ], [ %count, %run ]
  %code = phi i32 [ -1, %no_memory ], [ %status, %run ]
  call void @drop_all(ptr %objects, i64 %made_count)
  %nothing = call ptr @fail(ptr %entry_table, ptr %signature, i32 %code)
  call void @Py_DecRef(ptr %owner)
  ret ptr %nothing
}

; Moves signature number %k to the front of the chain.
define internal void @to_front(ptr %chain, i64 %k) {
entry:
  %found_at = getelementptr ptr, ptr %chain, i64 %k
  %found = load ptr, ptr %found_at
  br label %next
next:
  %i = phi i64 [ %k, %entry ], [ %before, %shift ]
  %at = getelementptr ptr, ptr %chain, i64 %i
  %first = icmp eq i64 %i, 0
  br i1 %first, label %done, label %shift
shift:
  %before = sub i64 %i, 1
  %before_at = getelementptr ptr, ptr %chain, i64 %before
  %moved = load ptr, ptr %before_at
  store ptr %moved, ptr %at
  br label %next
done:
  store ptr %found, ptr %chain
  ret void
}

define ptr @lw_entry(ptr %self, ptr %args, i64 %given, ptr %names) {
entry:
  %holder_at = getelementptr i8, ptr %self, i64 $tuple_items
  %holder = load ptr, ptr %holder_at
  %table_at = getelementptr i8, ptr %holder, i64 16
  %table = load ptr, ptr %table_at
  %n_at = getelementptr %Entry, ptr %table, i32 0, i32 3
  %n = load i64, ptr %n_at
  %room_at = getelementptr %Entry, ptr %table, i32 0, i32 2
  %room = load i64, ptr %room_at
  %pointers = alloca ptr, i64 %room
  %leaf_room_at = getelementptr %Entry, ptr %table, i32 0, i32 10
  %leaf_room = load i64, ptr %leaf_room_at
  %slots = alloca i64, i64 %leaf_room
  %leaves = alloca ptr, i64 %leaf_room
  %exact = icmp eq i64 %given, %n
  %unnamed = icmp eq ptr %names, null
  %places_at = getelementptr %Entry, ptr %table, i32 0, i32 5
  %places = load i64, ptr %places_at
  %placed = icmp ule i64 %given, %places
  %in_place = and i1 %exact, %placed
  %plain = and i1 %in_place, %unnamed
  br i1 %plain, label %match, label %arrange
arrange:
  %bound = alloca ptr, i64 %n
  %ok = call i1 @bind(ptr %table, ptr %args, i64 %given, ptr %names, ptr %bound)
  br i1 %ok, label %match, label %slow
match:
  %values = phi ptr [ %args, %entry ], [ %bound, %arrange ]
  %count = load i64, ptr %table
  %chain = getelementptr %Entry, ptr %table, i32 0, i32 1
  br label %next
next:
  %k = phi i64 [ 0, %match ], [ %k_on, %miss ]
  %left = icmp ult i64 %k, %count
  br i1 %left, label %try, label %slow
try:
  %signature_at = getelementptr ptr, ptr %chain, i64 %k
  %signature = load ptr, ptr %signature_at
  %nodes_at = getelementptr %Signature, ptr %signature, i32 0, i32 16
  %nodes = load ptr, ptr %nodes_at
  %flat = icmp eq ptr %nodes, null
  br i1 %flat, label %fit, label %nested
nested:
  %whole = call i1 @spread_all(ptr %nodes, i64 %n, ptr %values, ptr %leaves)
  br i1 %whole, label %fit, label %miss
fit:
  %these = phi ptr [ %values, %try ], [ %leaves, %nested ]
  %leaf_count_at = getelementptr %Signature, ptr %signature, i32 0, i32 15
  %leaf_count = load i64, ptr %leaf_count_at
  %hit = call i1 @match(ptr %signature, i64 %leaf_count, ptr %these, ptr %pointers, ptr %slots)
  br i1 %hit, label %found, label %miss
miss:
  %k_on = add i64 %k, 1
  br label %next
found:
  %front = icmp eq i64 %k, 0
  br i1 %front, label %go, label %move
move:
  call void @to_front(ptr %chain, i64 %k)
  br label %go
go:
  br i1 %flat, label %go_flat, label %go_nested
go_flat:
  %returned = call ptr @call(ptr %table, ptr %signature, ptr %these, ptr %pointers)
  ret ptr %returned
go_nested:
  %given_back = call ptr @call_held(ptr %table, ptr %signature, ptr %these, ptr %pointers)
  ret ptr %given_back
slow:
  %slow_at = getelementptr %Entry, ptr %table, i32 0, i32 8
  %slow_is = load ptr, ptr %slow_at
  %answer = call ptr @PyObject_Vectorcall(ptr %slow_is, ptr %args, i64 %given, ptr %names)
  ret ptr %answer
}

define ptr @lw_vectorcall(ptr %callable, ptr %args, i64 %given, ptr %names) {
  %self_at = getelementptr i8, ptr %callable, i64 $native
  %self = load ptr, ptr %self_at
  %gone = icmp eq ptr %self, null
  br i1 %gone, label %refuse, label %go
go:
  %count = and i64 %given, 9223372036854775807       ; without PY_VECTORCALL_ARGUMENTS_OFFSET
  %answer = call ptr @lw_entry(ptr %self, ptr %args, i64 %count, ptr %names)
  ret ptr %answer
refuse:                                              ; the collector has cleared the instance
  %kind = load ptr, ptr @PyExc_SystemError
  call void @PyErr_SetString(ptr %kind, ptr @cleared)
  ret ptr null
}
"""


def entry_text(tuple_items: int, native: int, pooled_bytes: int, stack_bytes: int) -> str:
    """LLVM text of the entry.

    `tuple_items` is the offset of a tuple's items, `native` that of a callable's entry; results of
    `pooled_bytes` and more come from the block pool; arenas up to `stack_bytes` lie on the stack.
    """
    return Template(_TABLES + BINDING + ARGUMENTS + RESULTS + _CALL).substitute(
        tuple_items=tuple_items,
        native=native,
        pooled_bytes=pooled_bytes,
        stack_bytes=stack_bytes,
        ARRAY=ARRAY,
        FLOAT=FLOAT,
        INT=INT,
        BOOL=BOOL,
        SCALAR=SCALAR,
        FRESH=FRESH,
        ARGUMENT=ARGUMENT,
        AS_FLOAT=AS_FLOAT,
        AS_INT=AS_INT,
        AS_BOOL=AS_BOOL,
        TUPLE=TUPLE,
        LIST=LIST,
        DICT=DICT,
    )
