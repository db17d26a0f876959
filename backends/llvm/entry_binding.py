"""LLVM text that puts the arguments of a call at their parameters, and takes containers apart."""

BINDING = """
; ---- binding ----------------------------------------------------------------------------------

; Puts each argument at its parameter's place; false where Python itself must judge the call.
define internal i1 @bind(ptr %entry_table, ptr %args, i64 %given, ptr %names, ptr %values) {
entry:
  %n_at = getelementptr %Entry, ptr %entry_table, i32 0, i32 3
  %n = load i64, ptr %n_at
  %nameless_at = getelementptr %Entry, ptr %entry_table, i32 0, i32 4
  %nameless = load i64, ptr %nameless_at
  %places_at = getelementptr %Entry, ptr %entry_table, i32 0, i32 5
  %places = load i64, ptr %places_at
  %known_at = getelementptr %Entry, ptr %entry_table, i32 0, i32 6
  %known = load ptr, ptr %known_at
  %defaults_at = getelementptr %Entry, ptr %entry_table, i32 0, i32 7
  %defaults = load ptr, ptr %defaults_at
  %too_many = icmp ugt i64 %given, %places
  br i1 %too_many, label %no, label %copy
copy:
  %bytes = mul i64 %n, 8
  call void @llvm.memset.p0.i64(ptr %values, i8 0, i64 %bytes, i1 false)
  %given_bytes = mul i64 %given, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %values, ptr %args, i64 %given_bytes, i1 false)
  %unnamed = icmp eq ptr %names, null
  br i1 %unnamed, label %fill, label %named
named:
  %size_at = getelementptr i8, ptr %names, i64 16
  %size = load i64, ptr %size_at
  br label %name
name:
  %k = phi i64 [ 0, %named ], [ %k_on, %place ]
  %left = icmp ult i64 %k, %size
  br i1 %left, label %look, label %fill
look:
  %items = getelementptr i8, ptr %names, i64 $tuple_items
  %item_at = getelementptr ptr, ptr %items, i64 %k
  %item = load ptr, ptr %item_at
  br label %search
search:
  %j = phi i64 [ %nameless, %look ], [ %j_on, %compare ]
  %in = icmp ult i64 %j, %n
  br i1 %in, label %compare, label %no
compare:
  %known_name_at = getelementptr ptr, ptr %known, i64 %j
  %known_name = load ptr, ptr %known_name_at
  %j_on = add i64 %j, 1
  %same = icmp eq ptr %item, %known_name
  br i1 %same, label %found, label %search
found:
  %target = getelementptr ptr, ptr %values, i64 %j
  %there = load ptr, ptr %target
  %free = icmp eq ptr %there, null
  br i1 %free, label %place, label %no
place:
  %argument = add i64 %given, %k
  %argument_at = getelementptr ptr, ptr %args, i64 %argument
  %value = load ptr, ptr %argument_at
  store ptr %value, ptr %target
  %k_on = add i64 %k, 1
  br label %name
fill:
  %i = phi i64 [ %given, %copy ], [ %given, %name ], [ %i_on, %filled ]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %test, label %yes
test:
  %i_on = add i64 %i, 1
  %value_at = getelementptr ptr, ptr %values, i64 %i
  %present = load ptr, ptr %value_at
  %missing = icmp eq ptr %present, null
  br i1 %missing, label %default, label %filled
default:
  %default_at = getelementptr ptr, ptr %defaults, i64 %i
  %default_is = load ptr, ptr %default_at
  %required = icmp eq ptr %default_is, null
  store ptr %default_is, ptr %value_at
  br i1 %required, label %no, label %filled
filled:
  br label %fill
yes:
  ret i1 true
no:
  ret i1 false
}

; The next node, and where the next leaf goes.
%Spread = type { ptr, ptr }

; Takes a value apart as the next nodes say; writes its leaves. False if it is built otherwise.
define internal i1 @spread(ptr %at, ptr %value) {
entry:
  %place = alloca i64
  %key = alloca ptr
  %item = alloca ptr
  %node = load ptr, ptr %at
  %following = getelementptr %Node, ptr %node, i64 1
  store ptr %following, ptr %at
  %kind = load i64, ptr %node
  %count_at = getelementptr %Node, ptr %node, i32 0, i32 1
  %count = load i64, ptr %count_at
  %keys_at = getelementptr %Node, ptr %node, i32 0, i32 2
  %keys = load ptr, ptr %keys_at
  %type_at = getelementptr i8, ptr %value, i64 8
  %type = load ptr, ptr %type_at
  switch i64 %kind, label %leaf [
    i64 $TUPLE, label %tuple
    i64 $LIST, label %list
    i64 $DICT, label %dict
  ]
leaf:
  %out_at = getelementptr %Spread, ptr %at, i32 0, i32 1
  %out = load ptr, ptr %out_at
  store ptr %value, ptr %out
  %out_on = getelementptr ptr, ptr %out, i64 1
  store ptr %out_on, ptr %out_at
  ret i1 true
tuple:
  %is_tuple = icmp eq ptr %type, @PyTuple_Type
  br i1 %is_tuple, label %tuple_items, label %no
tuple_items:
  %inside = getelementptr i8, ptr %value, i64 $tuple_items
  br label %sequence
list:
  %is_list = icmp eq ptr %type, @PyList_Type
  br i1 %is_list, label %list_items, label %no
list_items:
  %items_at = getelementptr i8, ptr %value, i64 24
  %outside = load ptr, ptr %items_at
  br label %sequence
sequence:
  %items = phi ptr [ %inside, %tuple_items ], [ %outside, %list_items ]
  %size_at = getelementptr i8, ptr %value, i64 16
  %size = load i64, ptr %size_at
  %fits = icmp eq i64 %size, %count
  br i1 %fits, label %next, label %no
next:
  %i = phi i64 [ 0, %sequence ], [ %i_on, %part ]
  %left = icmp ult i64 %i, %count
  br i1 %left, label %part, label %yes
part:
  %i_on = add i64 %i, 1
  %part_at = getelementptr ptr, ptr %items, i64 %i
  %part_is = load ptr, ptr %part_at
  %good = call i1 @spread(ptr %at, ptr %part_is)
  br i1 %good, label %next, label %no
dict:
  %is_dict = icmp eq ptr %type, @PyDict_Type
  br i1 %is_dict, label %dict_size, label %no
dict_size:
  %entries = call i64 @PyDict_Size(ptr %value)
  %full = icmp eq i64 %entries, %count
  store i64 0, ptr %place
  br i1 %full, label %pair, label %no
pair:
  %k = phi i64 [ 0, %dict_size ], [ %k_on, %value_of ]
  %some = icmp ult i64 %k, %count
  br i1 %some, label %look, label %yes
look:
  %k_on = add i64 %k, 1
  %found = call i32 @PyDict_Next(ptr %value, ptr %place, ptr %key, ptr %item)
  %key_is = load ptr, ptr %key
  %want_at = getelementptr ptr, ptr %keys, i64 %k
  %want = load ptr, ptr %want_at
  %same = icmp eq ptr %key_is, %want
  br i1 %same, label %value_of, label %no
value_of:
  %item_is = load ptr, ptr %item
  %fine = call i1 @spread(ptr %at, ptr %item_is)
  br i1 %fine, label %pair, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; Takes %n values apart into %leaves as a list of nodes says.
define internal i1 @spread_all(ptr %nodes, i64 %n, ptr %values, ptr %leaves) {
entry:
  %at = alloca %Spread
  store ptr %nodes, ptr %at
  %out_at = getelementptr %Spread, ptr %at, i32 0, i32 1
  store ptr %leaves, ptr %out_at
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i_on, %value ]
  %left = icmp ult i64 %i, %n
  br i1 %left, label %value, label %yes
value:
  %i_on = add i64 %i, 1
  %value_at = getelementptr ptr, ptr %values, i64 %i
  %value_is = load ptr, ptr %value_at
  %good = call i1 @spread(ptr %at, ptr %value_is)
  br i1 %good, label %next, label %no
yes:
  ret i1 true
no:
  ret i1 false
}
"""
