"""LLVM text that makes the results of a call: fresh arrays, scalars, and what holds them."""

RESULTS = """
; ---- results ----------------------------------------------------------------------------------

define internal void @free_block_of(ptr %capsule) {
  %block = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr null)
  call void @lw_block_free(ptr %block)
  ret void
}

; A new array for a fresh result; large ones in a block of the pool, owned by a capsule. Null where
; memory is short, with or without an exception set.
define internal ptr @new_result(ptr %fresh) {
entry:
  %bytes = load i64, ptr %fresh
  %dtype_at = getelementptr %Fresh, ptr %fresh, i32 0, i32 1
  %dtype = load ptr, ptr %dtype_at
  %dims_at = getelementptr %Fresh, ptr %fresh, i32 0, i32 2
  %dims = load ptr, ptr %dims_at
  %rank_at = getelementptr %Fresh, ptr %fresh, i32 0, i32 3
  %rank = load i32, ptr %rank_at
  %strides_at = getelementptr %Fresh, ptr %fresh, i32 0, i32 5
  %strides = load ptr, ptr %strides_at
  %small = icmp ult i64 %bytes, $pooled_bytes
  br i1 %small, label %plain, label %pooled
plain:
  call void @Py_IncRef(ptr %dtype)
  %array = call ptr @lw_new_array(ptr @lw_ndarray, ptr %dtype, i32 %rank, ptr %dims, ptr %strides,
                                  ptr null, i32 0, ptr null)
  ret ptr %array
pooled:
  %block = call ptr @lw_block_alloc(i64 %bytes)
  %short = icmp eq ptr %block, null
  br i1 %short, label %fail, label %own
own:
  %capsule = call ptr @PyCapsule_New(ptr %block, ptr null, ptr @free_block_of)
  %no_capsule = icmp eq ptr %capsule, null
  br i1 %no_capsule, label %free, label %wrap
free:
  call void @lw_block_free(ptr %block)
  br label %fail
wrap:
  call void @Py_IncRef(ptr %dtype)
  %view = call ptr @lw_new_array(ptr @lw_ndarray, ptr %dtype, i32 %rank, ptr %dims, ptr %strides,
                                 ptr %block, i32 1281, ptr null)
  %no_view = icmp eq ptr %view, null
  br i1 %no_view, label %drop, label %attach
drop:
  call void @Py_DecRef(ptr %capsule)
  br label %fail
attach:
  %refused = call i32 @lw_set_base(ptr %view, ptr %capsule)
  ret ptr %view
fail:
  ret ptr null
}

; Drops %count objects of a list; null ones are skipped.
define internal void @drop_all(ptr %objects, i64 %count) {
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i_on, %on ]
  %left = icmp ult i64 %i, %count
  br i1 %left, label %look, label %leave
look:
  %i_on = add i64 %i, 1
  %at = getelementptr ptr, ptr %objects, i64 %i
  %object = load ptr, ptr %at
  %nothing = icmp eq ptr %object, null
  br i1 %nothing, label %on, label %drop
drop:
  call void @Py_DecRef(ptr %object)
  br label %on
on:
  br label %next
leave:
  ret void
}

; A new reference to what output number %k returns, or null with an exception.
define internal ptr @output(ptr %signature, i64 %k, ptr %values, ptr %objects, ptr %cells) {
entry:
  %list_at = getelementptr %Signature, ptr %signature, i32 0, i32 13
  %list = load ptr, ptr %list_at
  %output = getelementptr %Output, ptr %list, i64 %k
  %kind = load i64, ptr %output
  %number_at = getelementptr %Output, ptr %output, i32 0, i32 1
  %number = load i64, ptr %number_at
  switch i64 %kind, label %constant [
    i64 $FRESH, label %fresh
    i64 $ARGUMENT, label %argument
    i64 $AS_FLOAT, label %as_float
    i64 $AS_INT, label %as_int
    i64 $AS_BOOL, label %as_bool
  ]
as_float:
  %float_at = getelementptr [2 x i64], ptr %cells, i64 %number
  %float = load double, ptr %float_at
  %float_is = call ptr @PyFloat_FromDouble(double %float)
  ret ptr %float_is
as_int:
  %int_at = getelementptr [2 x i64], ptr %cells, i64 %number
  %int = load i64, ptr %int_at
  %int_is = call ptr @PyLong_FromLongLong(i64 %int)
  ret ptr %int_is
as_bool:
  %bool_at = getelementptr [2 x i64], ptr %cells, i64 %number
  %bool = load i8, ptr %bool_at
  %wide = zext i8 %bool to i64
  %bool_is = call ptr @PyBool_FromLong(i64 %wide)
  ret ptr %bool_is
fresh:
  %object_at = getelementptr ptr, ptr %objects, i64 %number
  %object = load ptr, ptr %object_at
  %scalar = icmp eq ptr %object, null
  br i1 %scalar, label %make, label %give
make:
  %fresh_at = getelementptr %Signature, ptr %signature, i32 0, i32 9
  %fresh_list = load ptr, ptr %fresh_at
  %result = getelementptr %Fresh, ptr %fresh_list, i64 %number
  %dtype_at = getelementptr %Fresh, ptr %result, i32 0, i32 1
  %dtype = load ptr, ptr %dtype_at
  %cell = getelementptr [2 x i64], ptr %cells, i64 %number
  %made = call ptr @lw_new_scalar(ptr %cell, ptr %dtype, ptr null)
  ret ptr %made
argument:
  %value_at = getelementptr ptr, ptr %values, i64 %number
  %value = load ptr, ptr %value_at
  br label %give
constant:
  %constant_at = getelementptr %Output, ptr %output, i32 0, i32 2
  %constant_is = load ptr, ptr %constant_at
  br label %give
give:
  %given = phi ptr [ %object, %fresh ], [ %value, %argument ], [ %constant_is, %constant ]
  call void @Py_IncRef(ptr %given)
  ret ptr %given
}

; signature, values, objects, cells; the next node, the number of the next output
%Build = type { ptr, ptr, ptr, ptr, ptr, i64 }

; The object that the next nodes describe: an output, or a container of more. A new reference, or
; null with an exception.
define internal ptr @build(ptr %at) {
entry:
  %node_at = getelementptr %Build, ptr %at, i32 0, i32 4
  %node = load ptr, ptr %node_at
  %following = getelementptr %Node, ptr %node, i64 1
  store ptr %following, ptr %node_at
  %kind = load i64, ptr %node
  %count_at = getelementptr %Node, ptr %node, i32 0, i32 1
  %count = load i64, ptr %count_at
  %keys_at = getelementptr %Node, ptr %node, i32 0, i32 2
  %keys = load ptr, ptr %keys_at
  switch i64 %kind, label %leaf [
    i64 $TUPLE, label %new_tuple
    i64 $LIST, label %new_list
    i64 $DICT, label %new_dict
  ]
leaf:
  %signature = load ptr, ptr %at
  %values_at = getelementptr %Build, ptr %at, i32 0, i32 1
  %values = load ptr, ptr %values_at
  %objects_at = getelementptr %Build, ptr %at, i32 0, i32 2
  %objects = load ptr, ptr %objects_at
  %cells_at = getelementptr %Build, ptr %at, i32 0, i32 3
  %cells = load ptr, ptr %cells_at
  %number_at = getelementptr %Build, ptr %at, i32 0, i32 5
  %number = load i64, ptr %number_at
  %number_on = add i64 %number, 1
  store i64 %number_on, ptr %number_at
  %one = call ptr @output(ptr %signature, i64 %number, ptr %values, ptr %objects, ptr %cells)
  ret ptr %one
new_tuple:
  %tuple = call ptr @PyTuple_New(i64 %count)
  br label %made
new_list:
  %list = call ptr @PyList_New(i64 %count)
  br label %made
new_dict:
  %dict = call ptr @PyDict_New()
  br label %made
made:
  %all = phi ptr [ %tuple, %new_tuple ], [ %list, %new_list ], [ %dict, %new_dict ]
  %short = icmp eq ptr %all, null
  br i1 %short, label %fail, label %next
next:
  %k = phi i64 [ 0, %made ], [ %k_on, %stored ]
  %left = icmp ult i64 %k, %count
  br i1 %left, label %part, label %done
part:
  %k_on = add i64 %k, 1
  %object = call ptr @build(ptr %at)
  %bad = icmp eq ptr %object, null
  br i1 %bad, label %drop, label %store
store:
  switch i64 %kind, label %store_tuple [
    i64 $LIST, label %store_list
    i64 $DICT, label %store_dict
  ]
store_tuple:
  %items = getelementptr i8, ptr %all, i64 $tuple_items
  %item_at = getelementptr ptr, ptr %items, i64 %k
  store ptr %object, ptr %item_at
  br label %stored
store_list:
  %s = call i32 @PyList_SetItem(ptr %all, i64 %k, ptr %object)
  br label %stored
store_dict:
  %key_at = getelementptr ptr, ptr %keys, i64 %k
  %key = load ptr, ptr %key_at
  %refused = call i32 @PyDict_SetItem(ptr %all, ptr %key, ptr %object)
  call void @Py_DecRef(ptr %object)
  %accepted = icmp eq i32 %refused, 0
  br i1 %accepted, label %stored, label %drop
stored:
  br label %next
done:
  ret ptr %all
drop:
  call void @Py_DecRef(ptr %all)
  br label %fail
fail:
  ret ptr null
}

; The returned object, or null with an exception.
define internal ptr @outputs(ptr %signature, ptr %values, ptr %objects, ptr %cells) {
  %at = alloca %Build
  store ptr %signature, ptr %at
  %values_at = getelementptr %Build, ptr %at, i32 0, i32 1
  store ptr %values, ptr %values_at
  %objects_at = getelementptr %Build, ptr %at, i32 0, i32 2
  store ptr %objects, ptr %objects_at
  %cells_at = getelementptr %Build, ptr %at, i32 0, i32 3
  store ptr %cells, ptr %cells_at
  %nodes_at = getelementptr %Signature, ptr %signature, i32 0, i32 12
  %nodes = load ptr, ptr %nodes_at
  %node_at = getelementptr %Build, ptr %at, i32 0, i32 4
  store ptr %nodes, ptr %node_at
  %number_at = getelementptr %Build, ptr %at, i32 0, i32 5
  store i64 0, ptr %number_at
  %object = call ptr @build(ptr %at)
  ret ptr %object
}
"""
