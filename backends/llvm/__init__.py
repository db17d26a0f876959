"""CPU code through LLVM: emitter, vector math, runtime, entry and caches."""
