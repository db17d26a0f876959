"""Index and value expressions, the words that the tensor, loop and flat levels share."""
