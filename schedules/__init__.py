"""Schedule primitives (rewrites of the loop program) and the default schedules."""
