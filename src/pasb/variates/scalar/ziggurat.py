"""Standard normal and exponential variates by the ziggurat of 256 layers.

The area under the density is cut into 256 layers of equal area: a base strip that
holds the tail, and 255 rectangles stacked upon it (Marsaglia and Tsang 2000). About
99 draws in 100 cost one random word, one product and one comparison. Eight bits of the
word choose the layer and 52 *other* bits the place within it, so that layer and place
are independent.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from pasb.variates.jit import inlined_sampler, sampler
from pasb.variates.scalar.stream import next_bits, uniform

LAYERS = 256
_PLACE_BITS = 52


def _edges(
    density: Callable[[float], float],
    inverse: Callable[[float], float],
    tail_area: Callable[[float], float],
) -> list[float]:
    """Right edges of the layers, from 0 at the top to the width of the base strip."""

    def stack(start: float) -> tuple[list[float], float]:
        """Pile the layers upwards from `start`; the excess is negative below the peak."""
        area = start * density(start) + tail_area(start)
        edges = [area / density(start), start]
        for _ in range(LAYERS - 2):
            height = area / edges[-1] + density(edges[-1])
            if height >= 1.0:
                return edges, 1.0
            edges.append(inverse(height))
        return edges, area / edges[-1] + density(edges[-1]) - 1.0

    # A start too far to the left makes layers too thick, which overshoot the peak.
    low, high = 1.0, 20.0
    while True:
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if stack(middle)[1] > 0.0:
            low = middle
        else:
            high = middle
    return [0.0, *reversed(stack(high)[0])]


def _tables(
    edges: list[float], density: Callable[[float], float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For every layer: places surely under the density, step of a place, height.

    Layer 0 is the base strip; layer i > 0 reaches from the height of its own right edge
    up to the height of the edge before it.
    """
    inside = np.zeros(LAYERS, dtype=np.uint64)
    step = np.zeros(LAYERS)
    height = np.ones(LAYERS)
    places = 2.0**_PLACE_BITS
    tail_start, base_width = edges[LAYERS - 1], edges[LAYERS]
    inside[0] = int(tail_start / base_width * places)
    step[0] = base_width / places
    for layer in range(1, LAYERS):
        inside[layer] = int(edges[layer - 1] / edges[layer] * places)
        step[layer] = edges[layer] / places
        height[layer] = density(edges[layer])
    return inside, step, height


def _normal_density(x: float) -> float:
    return math.exp(-0.5 * x * x)


_NORMAL_EDGES = _edges(
    density=_normal_density,
    inverse=lambda height: math.sqrt(-2.0 * math.log(height)),
    tail_area=lambda x: math.sqrt(0.5 * math.pi) * math.erfc(x / math.sqrt(2.0)),
)
_NORMAL_INSIDE, _NORMAL_STEP, _NORMAL_HEIGHT = _tables(_NORMAL_EDGES, _normal_density)
NORMAL_TAIL = _NORMAL_EDGES[LAYERS - 1]
"""Where the tail of the normal ziggurat begins, 3.654."""

_EXPONENTIAL_EDGES = _edges(
    density=lambda x: math.exp(-x),
    inverse=lambda height: -math.log(height),
    tail_area=lambda x: math.exp(-x),
)
_EXPONENTIAL_INSIDE, _EXPONENTIAL_STEP, _EXPONENTIAL_HEIGHT = _tables(
    _EXPONENTIAL_EDGES, lambda x: math.exp(-x)
)
EXPONENTIAL_TAIL = _EXPONENTIAL_EDGES[LAYERS - 1]
"""Where the tail of the exponential ziggurat begins, 7.697."""

_LAYER_MASK = np.uint64(LAYERS - 1)
_LAYER_BITS = np.uint64(8)
_SIGN_MASK = np.uint64(1)
_PLACE_SHIFT = np.uint64(64 - _PLACE_BITS)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)


@inlined_sampler
def exponential(stream):
    """Draw from the exponential distribution of mean one; the value is positive."""
    shift = 0.0
    while True:
        bits, stream = next_bits(stream)
        layer = bits & _LAYER_MASK
        place = bits >> _PLACE_SHIFT
        x = (np.float64(np.int64(place)) + 0.5) * _EXPONENTIAL_STEP[layer]
        if place < _EXPONENTIAL_INSIDE[layer]:
            return shift + x, stream
        if layer == _ZERO:
            # It has no memory: its tail is the same distribution, shifted.
            shift += EXPONENTIAL_TAIL
            continue
        u, stream = uniform(stream)
        low = _EXPONENTIAL_HEIGHT[layer]
        if low + u * (_EXPONENTIAL_HEIGHT[layer - _ONE] - low) < math.exp(-x):
            return shift + x, stream


@sampler
def _normal_tail(stream):
    """Draw from the normal distribution beyond `NORMAL_TAIL` (Marsaglia 1964)."""
    while True:
        first, stream = exponential(stream)
        second, stream = exponential(stream)
        excess = first / NORMAL_TAIL
        if 2.0 * second > excess * excess:
            return NORMAL_TAIL + excess, stream


@inlined_sampler
def normal(stream):
    """Draw from the standard normal distribution."""
    while True:
        bits, stream = next_bits(stream)
        layer = bits & _LAYER_MASK
        sign = np.float64(1 - 2 * np.int64((bits >> _LAYER_BITS) & _SIGN_MASK))
        place = bits >> _PLACE_SHIFT
        x = (np.float64(np.int64(place)) + 0.5) * _NORMAL_STEP[layer]
        if place < _NORMAL_INSIDE[layer]:
            return sign * x, stream
        if layer == _ZERO:
            x, stream = _normal_tail(stream)
            return sign * x, stream
        u, stream = uniform(stream)
        low = _NORMAL_HEIGHT[layer]
        if low + u * (_NORMAL_HEIGHT[layer - _ONE] - low) < math.exp(-0.5 * x * x):
            return sign * x, stream
