"""Rewrites of the graph; `pipeline` lists them in order."""
