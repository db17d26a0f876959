"""Pictures: decoding, resizing and the preprocessing that networks expect."""
