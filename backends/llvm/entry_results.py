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
  %small = icmp ult i64 %bytes, $pooled_bytes
  br i1 %small, label %plain, label %pooled
plain:
  call void @Py_IncRef(ptr %dtype)
  %array = call ptr @lw_new_array(ptr @lw_ndarray, ptr %dtype, i32 %rank, ptr %dims, ptr null,
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
  %view = call ptr @lw_new_array(ptr @lw_ndarray, ptr %dtype, i32 %rank, ptr %dims, ptr null,
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
  ]
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

; The returned object: the only output, or a tuple or list of all; null with an exception.
define internal ptr @outputs(ptr %signature, ptr %values, ptr %objects, ptr %cells) {
entry:
  %flags_at = getelementptr %Signature, ptr %signature, i32 0, i32 14
  %flags = load i64, ptr %flags_at
  %many = and i64 %flags, 6
  %single = icmp eq i64 %many, 0
  br i1 %single, label %one, label %several
one:
  %only = call ptr @output(ptr %signature, i64 0, ptr %values, ptr %objects, ptr %cells)
  ret ptr %only
several:
  %count_at = getelementptr %Signature, ptr %signature, i32 0, i32 12
  %count = load i64, ptr %count_at
  %is_list = icmp eq i64 %many, $AS_LIST
  br i1 %is_list, label %new_list, label %new_tuple
new_list:
  %list = call ptr @PyList_New(i64 %count)
  br label %made
new_tuple:
  %tuple = call ptr @PyTuple_New(i64 %count)
  br label %made
made:
  %all = phi ptr [ %list, %new_list ], [ %tuple, %new_tuple ]
  %short = icmp eq ptr %all, null
  br i1 %short, label %fail, label %next
next:
  %k = phi i64 [ 0, %made ], [ %k_on, %stored ]
  %left = icmp ult i64 %k, %count
  br i1 %left, label %item, label %done
item:
  %k_on = add i64 %k, 1
  %object = call ptr @output(ptr %signature, i64 %k, ptr %values, ptr %objects, ptr %cells)
  %bad = icmp eq ptr %object, null
  br i1 %bad, label %drop, label %store
store:
  br i1 %is_list, label %store_list, label %store_tuple
store_list:
  %s = call i32 @PyList_SetItem(ptr %all, i64 %k, ptr %object)
  br label %stored
store_tuple:
  %items = getelementptr i8, ptr %all, i64 $tuple_items
  %item_at = getelementptr ptr, ptr %items, i64 %k
  store ptr %object, ptr %item_at
  br label %stored
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
"""
