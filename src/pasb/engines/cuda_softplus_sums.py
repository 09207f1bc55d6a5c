"""Requests of softplus sticks to a part on a GPU; as `pasb.engines.cuda_sums` for linear ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasb.binary.softplus_requests import (
    Slope,
    SlopeRequest,
    SoftplusAnswer,
    SoftplusRequest,
    Table,
    TableRequest,
)
from pasb.engines.device import THREADS, view
from pasb.numerics.rows import BLOCK

MOST_TERMS = 2**26  # derivatives of rows at a time
MOST_VECTORS = 2**15  # a launch has at most 65 535 groups of threads along its second axis


def softplus_answers_there(
    xp: Any,
    part: Any,
    numbers: NDArray[np.int64],
    asked: Sequence[SoftplusRequest],
    span: int,
) -> list[SoftplusAnswer]:
    """The share of a part (`cuda_sums.DevicePart`) in the answers, on the GPU.

    `numbers` are those of its rows in the table. Columns are multiplied by spans of so many rows.
    """
    out: dict[int, SoftplusAnswer] = {}
    for kind, answer in ((SlopeRequest, _slopes), (TableRequest, _tables)):
        places = [k for k, one in enumerate(asked) if isinstance(one, kind)]
        n_vectors = int(np.prod(asked[places[0]].coef.shape[:2])) if places else 1
        fits = min(MOST_TERMS // max(1, len(part.blocks) * BLOCK), MOST_VECTORS)
        most = max(1, fits // n_vectors)
        for first in range(0, len(places), most):
            some = places[first : first + most]
            out |= zip(some, answer(xp, part, numbers, [asked[k] for k in some], span), strict=True)
    return [out[k] for k in range(len(asked))]


def _moved(xp: Any, asked: Sequence[Any]) -> tuple[Any, Any, Any]:
    """Roles, coefficients by vector, log-weights of all requests."""
    roles = np.stack([one.roles for one in asked])
    coef = np.stack([one.coef.reshape(-1, one.coef.shape[-1]) for one in asked])
    log_weight = np.stack([one.log_weight for one in asked])
    return xp.asarray(roles), xp.asarray(coef), xp.asarray(log_weight)


def _slopes(xp: Any, part: Any, numbers: Any, asked: Sequence[Any], span: int) -> list[Any]:
    from pasb.engines.cuda_requests import add_spans, column_products
    from pasb.engines.cuda_softplus_requests import of_size

    n, (n_experts, n_layers, n_columns) = len(asked), asked[0].coef.shape
    n_vectors, n_pieces = n * n_experts * n_layers, len(part.pieces)
    n_padded, n_spans = part.blocks.shape[1], -(-part.n_rows // span)
    own, by_coef = xp.zeros((n, n_experts + 1)), xp.zeros((n_vectors, n_padded))
    if n_pieces:
        roles, coef, log_weight = _moved(xp, asked)
        sums = xp.empty((n, n_experts + 1, n_pieces))
        terms = xp.empty((1, n_vectors, len(part.blocks) * BLOCK))
        rows = view(part.blocks), view(part.pieces)
        settings = view(roles), view(coef), view(log_weight)
        of_size(n_experts, n_layers).row_slopes[(n_pieces, n), THREADS](
            *rows, *settings, view(sums), view(terms)
        )
        products = xp.empty((n_vectors, n_padded, n_spans))
        column_products[(n_spans, n_vectors, n_padded), THREADS](
            rows[0], part.n_rows, view(terms), span, view(products)
        )
        for parts, total in ((sums, own), (products, by_coef)):
            lines = parts.reshape(total.size, -1)
            add_spans[-(-total.size // THREADS), THREADS](view(lines), view(total.reshape(-1)))
    by_coef = by_coef[:, :n_columns].reshape(n, n_experts, n_layers, n_columns)
    return [Slope(own[v, :1], by_coef[v], own[v, 1:]) for v in range(n)]


def _tables(xp: Any, part: Any, numbers: Any, asked: Sequence[Any], span: int) -> list[Any]:
    from pasb.engines.cuda_requests import add_ranges
    from pasb.engines.cuda_softplus_requests import of_size

    n, (n_experts, n_layers, _) = len(asked), asked[0].coef.shape
    n_pieces, n_groups = len(part.pieces), len(part.ranges) - 1
    by_group = xp.zeros((n * (n_experts + 2), n_groups))
    if n_pieces:
        sums = xp.empty((n, n_experts + 2, n_pieces))
        settings = *_moved(xp, asked), xp.asarray(np.array([one.key for one in asked], np.uint64))
        of_size(n_experts, n_layers).row_tables[(n_pieces, n), THREADS](
            view(part.blocks),
            view(part.pieces),
            *(view(one) for one in settings),
            view(xp.asarray(numbers)),
            view(sums),
        )
        lines = sums.reshape(len(by_group), n_pieces)
        add_ranges[(len(by_group), n_groups), THREADS](
            view(lines), view(part.ranges), view(by_group)
        )
    own = by_group.reshape(n, n_experts + 2, n_groups)
    return [Table(own[v, 0], own[v, 1], own[v, 2:].sum(axis=1)) for v in range(n)]
