"""Exponential and logarithm in single precision, which LLVM turns into vector code.

As in `pasb.numerics.vector`, with half the bits: twice as many numbers in a register, and
polynomials of half the degree. Relative errors are below 2e-7.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from pasb.numerics.compiled import elementwise as inlined

# Constants of this type: a bare 1.0 would turn a whole expression into doubles.
ZERO, HALF, ONE, TWO = (np.float32(x) for x in (0.0, 0.5, 1.0, 2.0))

# Adding 1.5 * 2^23 rounds a float to an integer that then sits in its low bits.
_ROUND = np.float32(12582912.0)
_ROUND_BITS = np.int32(_ROUND.view(np.int32))
_LOWEST, _HIGHEST = np.float32(-87.0), np.float32(88.0)
_LOG2E = np.float32(1.4426950408889634)
_LN2 = np.float32(0.6931471805599453)
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
_MANTISSA_BITS, _BIAS = np.int32(23), np.int32(127)
_MANTISSA = np.int32(0x007FFFFF)
_SQRT_HALF_BITS = np.int32(0x3F3504F3)
_E2, _E3, _E4 = np.float32(0.50000001201), np.float32(0.16666665459), np.float32(0.041665795894)
_E5, _E6 = np.float32(0.0083334519073), np.float32(0.0013981999507)
_E7 = np.float32(0.00019875691500)
_L3, _L5, _L7, _L9 = (np.float32(2.0 / n) for n in (3, 5, 7, 9))

# mypy: disable-error-code="call-arg"


@intrinsic
def _bits_of(typing_context, x):
    def codegen(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(32))

    return types.int32(types.float32), codegen


@intrinsic
def _float_of(typing_context, bits):
    def codegen(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), codegen


@inlined
def single_exp(x):
    """e^x; arguments below -87 give 1.6e-38 and those above 88 give 1.7e38."""
    x = min(max(x, _LOWEST), _HIGHEST)
    shifted = x * _LOG2E + _ROUND
    n = shifted - _ROUND
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    p = _E7
    p = p * r + _E6
    p = p * r + _E5
    p = p * r + _E4
    p = p * r + _E3
    p = p * r + _E2
    p = (p * r) * r + r + ONE
    return p * _float_of(np.int32((_bits_of(shifted) - _ROUND_BITS + _BIAS) << _MANTISSA_BITS))


@inlined
def single_log(x):
    """The natural logarithm of a positive, normal float."""
    bits = np.int32(_bits_of(x) - _SQRT_HALF_BITS)
    exponent = _float_of(np.int32((bits >> _MANTISSA_BITS) + _ROUND_BITS)) - _ROUND
    f = _float_of(np.int32((bits & _MANTISSA) + _SQRT_HALF_BITS)) - ONE
    s = f / (TWO + f)
    z = s * s
    p = _L9
    p = p * z + _L7
    p = p * z + _L5
    p = p * z + _L3
    return exponent * _LN2 + (TWO * s + s * z * p)
