"""Level 3: the definitions as blocks in a loop tree, the level that schedules rewrite."""
