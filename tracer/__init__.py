"""Turns a Python function over arrays into a graph."""
