"""Exponential, logarithm and softplus that LLVM turns into vector code.

Without Intel's SVML library, Numba calls the scalar ``exp`` and ``log`` of the C
library once per element. These are plain arithmetic on the bits of a float, so a
loop over them is vectorised: about six times as fast, with errors of at most a few
units in the last place.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from pasb.numerics.compiled import elementwise as inlined


# mypy: disable-error-code="call-arg"
@intrinsic
def _bits_of(typing_context, x):
    def codegen(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), codegen


@intrinsic
def _float_of(typing_context, bits):
    def codegen(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), codegen


# Adding 1.5 * 2^52 rounds a float to an integer that then sits in its low bits.
_ROUND = 6755399441055744.0
_ROUND_BITS = int(np.float64(_ROUND).view(np.int64))
_LOG2E = 1.4426950408889634
_LN2_HIGH = 0.693145751953125
_LN2_LOW = 1.42860682030941723212e-6
_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
_MANTISSA = 0x000FFFFFFFFFFFFF


@inlined
def vector_exp(x):
    """e^x; arguments below -708 give 3e-308 and those above 709 give 8e307."""
    x = min(max(x, -708.0), 709.0)
    shifted = x * _LOG2E + _ROUND
    n = shifted - _ROUND
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    return p * _float_of((_bits_of(shifted) - _ROUND_BITS + 1023) << 52)


@inlined
def vector_log(x):
    """The natural logarithm of a positive, normal float."""
    bits = _bits_of(x) - _SQRT_HALF_BITS
    exponent = _float_of((bits >> 52) + _ROUND_BITS) - _ROUND
    f = _float_of((bits & _MANTISSA) + _SQRT_HALF_BITS) - 1.0
    s = f / (2.0 + f)
    z = s * s
    p = 1.0 / 21.0
    p = p * z + 1.0 / 19.0
    p = p * z + 1.0 / 17.0
    p = p * z + 1.0 / 15.0
    p = p * z + 1.0 / 13.0
    p = p * z + 1.0 / 11.0
    p = p * z + 1.0 / 9.0
    p = p * z + 1.0 / 7.0
    p = p * z + 1.0 / 5.0
    p = p * z + 1.0 / 3.0
    return exponent * 0.693147180369123816490 + (
        2.0 * s + (2.0 * s * z * p + exponent * 1.90821492927058770002e-10)
    )


@inlined
def vector_log1p_exp_neg(x):
    """log(1 + e^-x) for x >= 0, in full relative precision up to x = 708."""
    y = vector_exp(-x)
    u = 1.0 + y
    # (y - (u - 1)) / u gives back what the sum 1 + y rounded away
    return vector_log(u) + (y - (u - 1.0)) / u


@inlined
def vector_softplus(x):
    """log(1 + e^x) for every finite x."""
    return max(x, 0.0) + vector_log1p_exp_neg(abs(x))
