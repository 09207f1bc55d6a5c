"""The decorators under which kernels are compiled; scalar samplers have those of `variates.jit`.

Sums may be reassociated (that is what vectorising a sum means), but the result is one fixed
function of its input: the same code runs whatever the number of threads. Such functions are
inlined by force, because LLVM may otherwise inline a function that was just compiled and call the
same one where it comes from the cache, with other roundings.
"""

from __future__ import annotations

from pasb.variates.code_cache import compiled
from pasb.variates.jit import OPTIONS

kernel = compiled(**OPTIONS)
"""Compile a function of arrays."""

summing = compiled(**OPTIONS, forceinline=True, fastmath={"reassoc", "contract", "nsz", "arcp"})
"""Compile a function whose sums are vectorised."""

elementwise = compiled(**OPTIONS, forceinline=True, fastmath={"contract"})
"""Compile a function that treats every entry by itself."""
