"""A counter-based random stream keyed by (seed, chain, sweep, stick, row, expert, purpose).

A stream is a tuple of two unsigned 64-bit integers, a key and a counter. Every sampler
takes the stream first and returns it last::

    stream = open_stream(stream_key(seed, chain, sweep, stick, expert, purpose), row)
    value, stream = normal(stream)

What a cell draws follows from its key and row alone, so it depends neither on the
number of threads, nor on how the rows are cut into shards, nor on the machine.

The generator is Squares with five rounds and 64 bits of output (Widynski 2020,
arXiv:2004.06278). It has no state but the counter: opening a stream costs nothing, and
draws do not wait for one another.
"""

from __future__ import annotations

import numpy as np

from pasb.variates.jit import inlined_sampler, sampler

ROW_SHIFT = np.uint64(24)
"""Bits of the counter that number the draws within a cell; the row has the other 40."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_ONE = np.uint64(1)
_MANTISSA_SHIFT = np.uint64(12)
_MIX_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_MIX_SECOND = np.uint64(0x94D049BB133111EB)
_SHIFT_30 = np.uint64(30)
_SHIFT_27 = np.uint64(27)
_SHIFT_31 = np.uint64(31)


@sampler
def _mix(word):
    """Scramble 64 bits one to one (Stafford's variant 13, as in SplitMix64)."""
    word = (word ^ (word >> _SHIFT_30)) * _MIX_FIRST
    word = (word ^ (word >> _SHIFT_27)) * _MIX_SECOND
    return word ^ (word >> _SHIFT_31)


@sampler
def _absorb(state, part):
    """Fold one integer into a hash; the order of the parts matters."""
    return _mix(_mix(np.uint64(part) + _GOLDEN) ^ (state + _GOLDEN))


@sampler
def stream_key(seed, chain, sweep, stick, expert, purpose):
    """Hash what names a family of streams into an odd 64-bit key.

    Parameters
    ----------
    seed, chain, sweep, stick, expert, purpose : int
        Any 64-bit integers.

    Returns
    -------
    key : uint64
        Called from Python it is an ``int``; wrap it in ``numpy.uint64`` before handing
        it to a compiled kernel, which otherwise compiles once for small and once for
        large keys.
    """
    state = _mix(np.uint64(seed))
    state = _absorb(state, chain)
    state = _absorb(state, sweep)
    state = _absorb(state, stick)
    state = _absorb(state, expert)
    state = _absorb(state, purpose)
    return state | _ONE


@inlined_sampler
def open_stream(key, row):
    """Open the stream of one row, from 0 to 2**40 - 1, at its first draw."""
    return np.uint64(key), np.uint64(row) << ROW_SHIFT


@inlined_sampler
def next_bits(stream):
    """Draw 64 random bits."""
    key, counter = stream
    even = counter * key
    odd = even + key
    word = even * even + even
    word = (word >> _HALF) | (word << _HALF)
    word = word * word + odd
    word = (word >> _HALF) | (word << _HALF)
    word = word * word + even
    word = (word >> _HALF) | (word << _HALF)
    word = word * word + odd
    kept = word
    word = (word >> _HALF) | (word << _HALF)
    return kept ^ ((word * word + even) >> _HALF), (key, counter + _ONE)


@inlined_sampler
def uniform(stream):
    """Draw from the uniform distribution strictly inside (0, 1), on a grid of step 2**-52."""
    bits, stream = next_bits(stream)
    # 52 bits and a half, not 53: half a step added to the largest 53-bit value
    # would round to one.
    value = (np.float64(np.int64(bits >> _MANTISSA_SHIFT)) + 0.5) * 2.0**-52
    return value, stream


@sampler
def uniform_at(key, row):
    """Return the first uniform variate of a row's stream, for a single decision."""
    value, _ = uniform(open_stream(key, row))
    return value
