"""Level 1: the traced function as let-bound equations over typed arrays."""
