"""Groups of the tree that need rows: likelihoods, predictions, and the prior."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from pasb.binary.support_vector import SupportVector
from pasb.covariates.availability import checked_availability
from pasb.numerics.lazy_rows import Table
from pasb.posterior.fitted import Fitted
from pasb.posterior.pointwise import categories_of, check_has_likelihood, log_likelihoods
from pasb.sampling.draws import Draws
from pasb.sticks import Direction

if TYPE_CHECKING:
    import xarray

GROUPS = (
    "log_likelihood",
    "observed_data",
    "posterior_predictive",
    "prior",
    "prior_predictive",
)
USUAL = GROUPS[:3]
ROWS_AT_ONCE = 256


def extra_groups(
    fitted: Fitted,
    X: Any,
    y: ArrayLike | None,
    groups: Any,
    n_prior: int,
    random_state: Any,
    availability: Any = None,
) -> dict[str, xarray.Dataset]:
    """The groups asked for, by name; see `PosteriorMixin.posterior_with`."""
    import xarray

    from pasb.posterior.splits import Splits
    from pasb.posterior.tree import SAMPLED, posterior_dataset

    asked = [groups] if isinstance(groups, str) else list(groups)
    for name in asked:
        if name not in GROUPS:
            raise ValueError(f"groups: {name!r} must be one of {', '.join(map(repr, GROUPS))}")
    inner = fitted.inner_rows(X)
    n_rows, n_classes = len(inner), len(fitted.classes)
    own = None if y is None else categories_of(fitted, y, n_rows)
    available = checked_availability(availability, fitted.classes, n_rows, own)
    if own is None and {"log_likelihood", "observed_data"} & set(asked):
        raise ValueError("y is needed for the groups log_likelihood and observed_data")
    rng = check_random_state(random_state)
    draws = fitted.draws
    coords = {
        "chain": np.arange(draws.n_chains),
        "draw": np.arange(draws.n_draws),
        "row": np.arange(n_rows),
    }
    out: dict[str, xarray.Dataset] = {}
    if "log_likelihood" in asked and own is not None:
        check_has_likelihood(fitted, "the group log_likelihood")
        logs = np.empty((draws.n_chains * draws.n_draws, n_rows))
        for rows, part in log_likelihoods(fitted.predictor(), inner, own, available):
            logs[:, rows] = part
        shape = (draws.n_chains, draws.n_draws, n_rows)
        out["log_likelihood"] = xarray.Dataset(
            {"y": ((*SAMPLED, "row"), logs.reshape(shape))}, coords=coords
        )
    if "observed_data" in asked and own is not None:
        out["observed_data"] = xarray.Dataset(
            {"y": (("row",), own)}, coords={"row": np.arange(n_rows)}
        )
    if "posterior_predictive" in asked:
        labels = predicted_categories(fitted, inner, rng, available)
        out["posterior_predictive"] = xarray.Dataset(
            {"y": ((*SAMPLED, "row"), labels)}, coords=coords
        )
    if {"prior", "prior_predictive"} & set(asked):
        before = replace(fitted, draws=prior_draws(fitted, inner, n_prior, rng))
        if "prior" in asked:
            out["prior"] = posterior_dataset(before, Splits.of(before))
        if "prior_predictive" in asked:
            labels = predicted_categories(before, inner, rng, available)
            own_coords = {
                "chain": np.arange(before.draws.n_chains),
                "draw": np.arange(n_prior),
                "row": np.arange(n_rows),
            }
            out["prior_predictive"] = xarray.Dataset(
                {"y": ((*SAMPLED, "row"), labels)}, coords=own_coords
            )
    for dataset in out.values():
        dataset.attrs["classes"] = [str(label) for label in fitted.classes]
        dataset.attrs["n_classes"] = n_classes
    return out


def predicted_categories(
    fitted: Fitted,
    inner: Table,
    rng: np.random.RandomState,
    available: NDArray[np.bool_] | None = None,
) -> NDArray[np.int16]:
    """A category for each row from each draw, (chain, draw, row); one that it can choose."""
    predictor, draws = fitted.predictor(), fitted.draws
    out = np.empty((len(predictor.orders), len(inner)), dtype=np.int16)
    for start in range(0, len(inner), ROWS_AT_ONCE):
        rows = slice(start, min(start + ROWS_AT_ONCE, len(inner)))
        uniforms = rng.random_sample((len(out), 1, rows.stop - start))
        own = None if available is None else available[rows]
        for some, p in predictor.chunks(inner[rows], available=own):
            total = np.cumsum(p[:, :, : rows.stop - start], axis=1)
            if own is not None:  # the last one that a row has ends at 1, whatever rounding does
                total /= total[:, -1:]
            out[some, rows] = (uniforms[some] >= total[:, :-1]).sum(axis=1)
    return out.reshape(draws.n_chains, draws.n_draws, len(inner))


def prior_draws(
    fitted: Fitted,
    inner: Table,
    n_draws: int,
    rng: np.random.RandomState,
    orders_of: Mapping[Direction, NDArray[np.int64] | None] | None = None,
) -> Draws:
    """Draws from the prior that was used: parameters on the inner scale, and a random order.

    One chain for each direction. An order that the user fixed is kept: that of the draws, or that
    of `orders_of` where there are none yet.
    """
    binary, n_classes = fitted.binary, len(fitted.classes)
    if isinstance(binary, SupportVector):
        raise ValueError(
            "a support vector machine is no probability model, and has no prior predictive draws"
        )
    n_columns = inner[:1].shape[1]
    generator = np.random.default_rng(rng.randint(2**31))
    kept: list[dict[str, NDArray[np.float64]]] = []
    orders = np.empty((len(fitted.directions), n_draws, n_classes), dtype=np.int64)
    names: tuple[Direction, ...] = fitted.directions
    for chain, direction in enumerate(names):
        if orders_of is not None:
            fixed = orders_of[direction]
        else:
            fixed = fitted.top_order(direction) if fitted.order_is_fixed else None
        each = []
        for draw in range(n_draws):
            own = binary.simulate_categories(n_columns, n_classes, generator)
            each.append({name: own[name] for name in binary.kept})
            order = generator.permutation(n_classes) if fixed is None else fixed
            orders[chain, draw] = order
        kept.append({name: np.array([one[name] for one in each]) for name in binary.kept})
    draws = Draws(
        parameters={name: np.stack([one[name] for one in kept]) for name in binary.kept},
        directions=names,
        order=orders,
        log_likelihood=np.zeros(orders.shape[:2]),
        statistics={},
        guards={},
        n_warmup=0,
        n_asked=n_draws,
    )
    if fitted.last_two_tie:
        draws.sort_last_two()
    return draws
