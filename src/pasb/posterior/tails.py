"""Where credible intervals begin and end."""

from __future__ import annotations

from numbers import Real


def tails_of(interval: float) -> tuple[float, float]:
    """Where a credible interval begins and ends, as quantiles."""
    if not isinstance(interval, Real) or not 0 < interval < 1:
        raise ValueError(f"interval must lie between 0 and 1, not {interval!r}")
    return 0.5 - float(interval) / 2, 0.5 + float(interval) / 2
