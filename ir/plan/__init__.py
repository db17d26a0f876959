"""Level 5: the whole function as kernel calls over an arena."""
