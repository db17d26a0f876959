"""Code generators, one folder per kind of target."""
