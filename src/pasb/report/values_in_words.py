"""Values of covariates as people write them: numbers without exponents, dates as dates.

Inside, a date is its days since 1970-01-01 UTC.
"""

from __future__ import annotations

import numpy as np

MINUTES_A_DAY = 1440
MOST_TICKS = 4
# how far ticks of dates may be apart: a unit of NumPy's, how many, and days in all
STEPS = (
    *(("D", n, n) for n in (1, 2, 7, 14)),
    *(("M", n, 30 * n) for n in (1, 3, 6)),
    *(("Y", n, 365 * n) for n in (1, 2, 5, 10, 20, 50, 100)),
)


def number_in_words(value: float) -> str:
    """Three digits, or all that stand before the point.

    Examples
    --------
    >>> [number_in_words(value) for value in (0.012345, 12.345, 14190.4, 2.5e9)]
    ['0.0123', '12.3', '14,190', '2.5e+09']
    """
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"


def date_in_words(days: float, span: float = np.inf) -> str:
    """A date; with the time of day where all dates lie within a `span` of few days.

    Examples
    --------
    >>> date_in_words(14190.25), date_in_words(14190.25, span=0.5)
    ('2008-11-07', '2008-11-07 06:00')
    """
    if span < 3:
        minutes = np.datetime64(round(days * MINUTES_A_DAY), "m")
        return str(minutes).replace("T", " ")
    return str(np.datetime64(int(np.floor(days)), "D"))


def date_ticks(low: float, high: float) -> tuple[list[float], list[str]]:
    """A few dates at which years, months or days begin, and what is written there.

    Examples
    --------
    >>> date_ticks(14190, 15300)
    ([14245.0, 14610.0, 14975.0], ['2009', '2010', '2011'])
    >>> date_ticks(14190, 14200)[1]
    ['2008-11-13']
    """
    span = high - low
    if span < 3:
        places = np.linspace(low, high, 3).tolist()
        return places, [date_in_words(place, span) for place in places]
    unit, n, _ = next((s for s in STEPS if span / s[2] <= MOST_TICKS), STEPS[-1])
    first, last = (np.datetime64(int(np.floor(day)), "D") for day in (low, high))
    begun = np.arange(first.astype(f"M8[{unit}]"), last.astype(f"M8[{unit}]") + 1)
    begun = begun[begun.astype(np.int64) % n == 0]
    days = begun.astype("M8[D]").astype(np.float64)
    seen = (days >= low) & (days <= high)
    return days[seen].tolist(), [str(tick) for tick in begun[seen]]
