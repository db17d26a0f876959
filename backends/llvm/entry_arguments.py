"""LLVM text that puts the arguments of a call in order and fits them to one signature."""

ARGUMENTS = """
; ---- arguments --------------------------------------------------------------------------------

; Whether a dtype that is not the expected object means the same: its number, or as a built-in one
; its kind and size (long and long long), in native byte order.
define internal i1 @same_dtype(ptr %dtype, ptr %parameter) noinline {
  %order_at = getelementptr i8, ptr %dtype, i64 26
  %order = load i8, ptr %order_at
  %native = icmp eq i8 %order, 61
  %none = icmp eq i8 %order, 124
  %ordered = or i1 %native, %none
  %number_at = getelementptr i8, ptr %dtype, i64 28
  %number = load i32, ptr %number_at
  %expected_at = getelementptr %Parameter, ptr %parameter, i32 0, i32 1
  %expected = load i32, ptr %expected_at
  %same_number = icmp eq i32 %number, %expected
  %kind_at = getelementptr i8, ptr %dtype, i64 24
  %kind_narrow = load i8, ptr %kind_at
  %kind = zext i8 %kind_narrow to i64
  %size_at = getelementptr i8, ptr %dtype, i64 40
  %size = load i64, ptr %size_at
  %want_size_at = getelementptr %Parameter, ptr %parameter, i32 0, i32 8
  %want_size = load i64, ptr %want_size_at
  %want_kind_at = getelementptr %Parameter, ptr %parameter, i32 0, i32 9
  %want_kind = load i64, ptr %want_kind_at
  %same_kind = icmp eq i64 %kind, %want_kind
  %same_size = icmp eq i64 %size, %want_size
  %built_in = icmp ult i32 %number, 24
  %wanted_built_in = icmp ult i32 %expected, 24
  %a = and i1 %same_kind, %same_size
  %b = and i1 %built_in, %wanted_built_in
  %alike = and i1 %a, %b
  %c = or i1 %same_number, %alike
  %r = and i1 %c, %ordered
  ret i1 %r
}

define internal i1 @is_array(ptr %value, ptr %parameter) alwaysinline {
entry:
  %type_at = getelementptr i8, ptr %value, i64 8
  %type = load ptr, ptr %type_at
  %exact = icmp eq ptr %type, @lw_ndarray
  br i1 %exact, label %dtype, label %no
dtype:
  %dtype_at = getelementptr i8, ptr %value, i64 56
  %dtype_is = load ptr, ptr %dtype_at
  %object_at = getelementptr %Parameter, ptr %parameter, i32 0, i32 2
  %object = load ptr, ptr %object_at
  %identical = icmp eq ptr %dtype_is, %object
  br i1 %identical, label %shape, label %other
other:
  %same = call i1 @same_dtype(ptr %dtype_is, ptr %parameter)
  br i1 %same, label %shape, label %no
shape:
  %rank_at = getelementptr i8, ptr %value, i64 24
  %rank = load i32, ptr %rank_at
  %want_rank_at = getelementptr %Parameter, ptr %parameter, i32 0, i32 5
  %want_rank = load i32, ptr %want_rank_at
  %same_rank = icmp eq i32 %rank, %want_rank
  %flags_at = getelementptr i8, ptr %value, i64 64
  %flags = load i32, ptr %flags_at
  %want_flags_at = getelementptr %Parameter, ptr %parameter, i32 0, i32 6
  %want_flags = load i32, ptr %want_flags_at
  %set = and i32 %flags, %want_flags
  %all_set = icmp eq i32 %set, %want_flags
  %fits = and i1 %same_rank, %all_set
  br i1 %fits, label %extents, label %no
extents:
  %n = zext i32 %rank to i64
  %dims_at = getelementptr i8, ptr %value, i64 32
  %dims = load ptr, ptr %dims_at
  %want_dims_at = getelementptr %Parameter, ptr %parameter, i32 0, i32 3
  %want_dims = load ptr, ptr %want_dims_at
  %scalar = icmp eq i64 %n, 0
  br i1 %scalar, label %yes, label %dim
dim:
  %i = phi i64 [ 0, %extents ], [ %i_on, %dim_same ]
  %d_at = getelementptr i64, ptr %dims, i64 %i
  %d = load i64, ptr %d_at
  %e_at = getelementptr i64, ptr %want_dims, i64 %i
  %e = load i64, ptr %e_at
  %same_extent = icmp eq i64 %d, %e
  br i1 %same_extent, label %dim_same, label %no
dim_same:
  %i_on = add i64 %i, 1
  %more = icmp ult i64 %i_on, %n
  br i1 %more, label %dim, label %strides
strides:
  %want_strides_at = getelementptr %Parameter, ptr %parameter, i32 0, i32 4
  %want_strides = load ptr, ptr %want_strides_at
  %contiguous = icmp eq ptr %want_strides, null
  br i1 %contiguous, label %yes, label %steps
steps:
  %steps_at = getelementptr i8, ptr %value, i64 40
  %steps_are = load ptr, ptr %steps_at
  br label %step
step:
  %j = phi i64 [ 0, %steps ], [ %j_on, %step_same ]
  %s_at = getelementptr i64, ptr %steps_are, i64 %j
  %s = load i64, ptr %s_at
  %w_at = getelementptr i64, ptr %want_strides, i64 %j
  %w = load i64, ptr %w_at
  %x_at = getelementptr i64, ptr %want_dims, i64 %j
  %x = load i64, ptr %x_at
  %same_step = icmp eq i64 %s, %w
  %unused = icmp eq i64 %x, 1
  %fine = or i1 %same_step, %unused
  br i1 %fine, label %step_same, label %no
step_same:
  %j_on = add i64 %j, 1
  %more_steps = icmp ult i64 %j_on, %n
  br i1 %more_steps, label %step, label %yes
yes:
  ret i1 true
no:
  ret i1 false
}

; Whether two leaves have no byte in common.
define internal i1 @apart(ptr %overlap, ptr %pointers) {
  %a = load i64, ptr %overlap
  %a_low_at = getelementptr %Overlap, ptr %overlap, i32 0, i32 1
  %a_low = load i64, ptr %a_low_at
  %a_high_at = getelementptr %Overlap, ptr %overlap, i32 0, i32 2
  %a_high = load i64, ptr %a_high_at
  %b_at = getelementptr %Overlap, ptr %overlap, i32 0, i32 3
  %b = load i64, ptr %b_at
  %b_low_at = getelementptr %Overlap, ptr %overlap, i32 0, i32 4
  %b_low = load i64, ptr %b_low_at
  %b_high_at = getelementptr %Overlap, ptr %overlap, i32 0, i32 5
  %b_high = load i64, ptr %b_high_at
  %p_at = getelementptr i64, ptr %pointers, i64 %a
  %p = load i64, ptr %p_at
  %q_at = getelementptr i64, ptr %pointers, i64 %b
  %q = load i64, ptr %q_at
  %p_first = add i64 %p, %a_low
  %p_end = add i64 %p, %a_high
  %q_first = add i64 %q, %b_low
  %q_end = add i64 %q, %b_high
  %before = icmp ule i64 %p_end, %q_first
  %after = icmp ule i64 %q_end, %p_first
  %r = or i1 %before, %after
  ret i1 %r
}

; Whether the values fit a signature. Writes the address of each leaf; scalars go by value into
; %slots first.
define internal i1 @match(ptr %signature, i64 %n, ptr %values, ptr %pointers, ptr %slots) {
entry:
  %overflow = alloca i32
  %parameters_at = getelementptr %Signature, ptr %signature, i32 0, i32 4
  %parameters = load ptr, ptr %parameters_at
  %none = icmp eq i64 %n, 0
  br i1 %none, label %overlaps, label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i_on, %on ]
  %leaf = phi i64 [ 0, %entry ], [ %leaf_on, %on ]
  %parameter = getelementptr %Parameter, ptr %parameters, i64 %i
  %value_at = getelementptr ptr, ptr %values, i64 %i
  %value = load ptr, ptr %value_at
  %slot = getelementptr i64, ptr %slots, i64 %i
  %pointer_at = getelementptr ptr, ptr %pointers, i64 %leaf
  %kind = load i32, ptr %parameter
  %object_at = getelementptr %Parameter, ptr %parameter, i32 0, i32 2
  %type_at = getelementptr i8, ptr %value, i64 8
  switch i32 %kind, label %is_object [
    i32 $ARRAY, label %is_an_array
    i32 $FLOAT, label %is_float
    i32 $INT, label %is_int
    i32 $BOOL, label %is_bool
    i32 $SCALAR, label %is_scalar
  ]
is_an_array:
  %fits = call i1 @is_array(ptr %value, ptr %parameter)
  br i1 %fits, label %address, label %no
address:
  %data_at = getelementptr i8, ptr %value, i64 16
  %data = load ptr, ptr %data_at
  %alias_at = getelementptr %Parameter, ptr %parameter, i32 0, i32 7
  %alias = load i64, ptr %alias_at
  %alone = icmp slt i64 %alias, 0
  br i1 %alone, label %put, label %shared
shared:
  %shared_at = getelementptr ptr, ptr %pointers, i64 %alias
  %shared_is = load ptr, ptr %shared_at
  %same = icmp eq ptr %shared_is, %data
  br i1 %same, label %put, label %no
is_float:
  %float_type = load ptr, ptr %type_at
  %float = icmp eq ptr %float_type, @PyFloat_Type
  br i1 %float, label %read_float, label %no
read_float:
  %float_at = getelementptr i8, ptr %value, i64 16
  %float_is = load i64, ptr %float_at
  store i64 %float_is, ptr %slot
  br label %put
is_int:
  %int_type = load ptr, ptr %type_at
  %int = icmp eq ptr %int_type, @PyLong_Type
  br i1 %int, label %read_int, label %no
read_int:
  %int_is = call i64 @PyLong_AsLongLongAndOverflow(ptr %value, ptr %overflow)
  %over = load i32, ptr %overflow
  %small = icmp eq i32 %over, 0
  store i64 %int_is, ptr %slot
  br i1 %small, label %put, label %no
is_bool:
  %true = icmp eq ptr %value, @_Py_TrueStruct
  %false = icmp eq ptr %value, @_Py_FalseStruct
  %bool = or i1 %true, %false
  %bit = zext i1 %true to i64
  store i64 %bit, ptr %slot
  br i1 %bool, label %put, label %no
is_scalar:
  %scalar_type = load ptr, ptr %type_at
  %want_type = load ptr, ptr %object_at
  %scalar = icmp eq ptr %scalar_type, %want_type
  %scalar_at = getelementptr i8, ptr %value, i64 16
  br i1 %scalar, label %put, label %no
is_object:
  %want = load ptr, ptr %object_at
  %identical = icmp eq ptr %value, %want
  br i1 %identical, label %on, label %no
put:
  %p = phi ptr [ %data, %address ], [ %data, %shared ], [ %slot, %read_float ],
               [ %slot, %read_int ], [ %slot, %is_bool ], [ %scalar_at, %is_scalar ]
  store ptr %p, ptr %pointer_at
  %leaf_next = add i64 %leaf, 1
  br label %on
on:
  %leaf_on = phi i64 [ %leaf_next, %put ], [ %leaf, %is_object ]
  %i_on = add i64 %i, 1
  %more = icmp ult i64 %i_on, %n
  br i1 %more, label %next, label %overlaps
overlaps:
  %count_at = getelementptr %Signature, ptr %signature, i32 0, i32 6
  %count = load i64, ptr %count_at
  %list_at = getelementptr %Signature, ptr %signature, i32 0, i32 7
  %list = load ptr, ptr %list_at
  br label %pair
pair:
  %k = phi i64 [ 0, %overlaps ], [ %k_on, %check ]
  %left = icmp ult i64 %k, %count
  br i1 %left, label %check, label %yes
check:
  %overlap = getelementptr %Overlap, ptr %list, i64 %k
  %apart = call i1 @apart(ptr %overlap, ptr %pointers)
  %k_on = add i64 %k, 1
  br i1 %apart, label %pair, label %no
yes:
  ret i1 true
no:
  ret i1 false
}
"""
