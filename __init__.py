"""Loopwright: a compiler for array functions written in Python."""
