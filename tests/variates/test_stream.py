"""The counter-based stream: uniform bits, and independence of neighbouring keys."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numba import njit
from scipy import stats

from pasb.variates.scalar import next_bits, open_stream, stream_key, uniform

N = 200_000

GOLDEN_KEY = 0xB150DDD9F1679AC9
GOLDEN_SECOND_KEY = 0x9AE45CD4B18C877B
GOLDEN_WORDS = [0xD8CF0206034C8ABE, 0x19BC7A1AE8ECC93E, 0x40D02C1752D7D92]
GOLDEN_LAST_WORDS = [0xCD9F8A2E7A07082C, 0x8DF513D174DCB179, 0xDB4380FADC9BB470]


@njit
def bits_along(key, row, out):
    """Successive words of one row."""
    stream = open_stream(key, row)
    for i in range(out.size):
        out[i], stream = next_bits(stream)


@njit
def bits_across(key, skip, out):
    """The word number `skip` of many rows."""
    for i in range(out.size):
        stream = open_stream(key, i)
        for _ in range(skip):
            _, stream = next_bits(stream)
        out[i], stream = next_bits(stream)


@njit
def bits_of_keys(keys, row, out):
    """The first word of one row under many keys."""
    for i in range(out.size):
        out[i], _ = next_bits(open_stream(keys[i], row))


def words(fill, *arguments):
    out = np.empty(N, dtype=np.uint64)
    fill(*arguments, out)
    return out


def key(*parts):
    return np.uint64(stream_key(*parts))


def families(seed):
    """Sequences of words that ought to be independent and uniform."""
    base = [seed, 1, 2, 3, 4, 5]
    yield "draws of a row", words(bits_along, key(*base), 7)
    yield "first words of rows", words(bits_across, key(*base), 0)
    yield "fourth words of rows", words(bits_across, key(*base), 3)
    names = ("seeds", "chains", "sweeps", "sticks", "experts", "layers")
    for place, name in enumerate(names):
        keys = np.empty(N, dtype=np.uint64)
        for i in range(N):
            parts = list(base)
            parts[place] += i
            keys[i] = stream_key(*parts)
        yield f"first words of {name}", words(bits_of_keys, keys, 0)


@pytest.mark.statistical(level=2e-6)
def test_words_are_uniform_and_serially_independent(seed, judge):
    for name, drawn in families(seed):
        for shift in (0, 12, 32, 56):
            cells = np.bincount((drawn >> np.uint64(shift)).astype(np.uint8), minlength=256)
            judge.add(f"byte at {shift} of {name}", stats.chisquare(cells).pvalue)
        unit = drawn / 2.0**64 - 0.5
        for lag in (1, 2, 3):
            z = 12.0 * (unit[lag:] * unit[:-lag]).mean() * np.sqrt(N - lag)
            judge.add(f"correlation of {name} at lag {lag}", 2.0 * stats.norm.sf(abs(z)))
        pairs = (drawn[:-1] >> np.uint64(60)) * np.uint64(16) + (drawn[1:] >> np.uint64(60))
        cells = np.bincount(pairs[::2].astype(np.int64), minlength=256)
        judge.add(f"pairs of {name}", stats.chisquare(cells).pvalue)
        flips = np.bitwise_count(drawn[1:] ^ drawn[:-1])
        judge.mean(f"flipped bits of {name}", flips, 32.0, 4.0)
    judge.verdict()


def test_keys_do_not_collide():
    grid = itertools.product((0, 1, 2**40), (0, 1, 2, 3), range(60), range(8), range(8), range(4))
    keys = [stream_key(*parts) for parts in grid]
    assert len(set(keys)) == len(keys)
    assert all(k % 2 == 1 for k in keys)


def test_order_of_the_parts_matters():
    keys = {stream_key(*parts) for parts in itertools.permutations((0, 1, 2, 3, 4, 5))}
    assert len(keys) == 720


def test_streams_do_not_overlap():
    first = words(bits_along, key(1, 0, 0, 0, 0, 0), 0)
    second = words(bits_along, key(1, 0, 0, 0, 0, 0), 1)
    third = words(bits_along, key(2, 0, 0, 0, 0, 0), 0)
    assert len(np.unique(np.concatenate([first, second, third]))) == 3 * N


@njit
def uniform_of(key, row):
    return uniform(open_stream(key, row))[0]


def test_golden_values():
    """Guard against accidental change: chains must stay as they were."""
    assert stream_key(0, 0, 0, 0, 0, 0) == GOLDEN_KEY
    assert stream_key(1, 2, 3, 4, 5, 6) == GOLDEN_SECOND_KEY
    out = np.empty(3, dtype=np.uint64)
    bits_along(key(1, 2, 3, 4, 5, 6), 7, out)
    assert out.tolist() == GOLDEN_WORDS
    bits_along(key(1, 2, 3, 4, 5, 6), 2**40 - 1, out)
    assert out.tolist() == GOLDEN_LAST_WORDS
    assert uniform_of(key(1, 2, 3, 4, 5, 6), 7) == ((GOLDEN_WORDS[0] >> 12) + 0.5) / 2.0**52
    assert uniform_of(key(1, 2, 3, 4, 5, 6), 7) == uniform_of(key(1, 2, 3, 4, 5, 6), np.uint64(7))


def squares64(counter, key):
    """The generator as its author prints it, in Python integers."""
    mask = 2**64 - 1
    y = x = counter * key & mask
    z = y + key & mask
    for add in (y, z, y):
        x = x * x + add & mask
        x = (x >> 32) | (x << 32) & mask
    t = x = x * x + z & mask
    x = (x >> 32) | (x << 32) & mask
    return t ^ (x * x + y & mask) >> 32


def test_generator_is_squares64():
    out = np.empty(5, dtype=np.uint64)
    bits_along(key(9, 0, 0, 0, 0, 0), 123, out)
    start = 123 << 24
    assert out.tolist() == [squares64(start + i, int(key(9, 0, 0, 0, 0, 0))) for i in range(5)]
