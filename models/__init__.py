"""Networks as pure functions of parameters and input."""
