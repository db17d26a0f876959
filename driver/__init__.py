"""From a decorated function to native code: calls, signatures, and the road of a compilation."""
