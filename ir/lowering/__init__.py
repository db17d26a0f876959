"""From one level to the next; the only files in `ir` that see two levels."""
