"""The normal draw of an update where there are more columns than rows.

With Q = A + X'WX, A = diag(precision), a draw from N(Q^-1 X'v, Q^-1) usually takes a factor of Q,
which grows with the cube of the columns. With fewer rows than columns it is cheaper in the space of
rows (Bhattacharya, Chakraborty and Mallick 2016). Let F = W^(1/2) X, u ~ N(0, A^-1) and
d ~ N(0, I); then

    b = u + A^-1 F' x  with  (F A^-1 F' + I) x = W^(-1/2) v - F u - d

has that distribution. The matrix has a row for each row of the table, and to fill it costs rows
times rows times columns, one block of rows with another at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lstsq

from pasb.binary.linear_kernels import standard_normals
from pasb.numerics.rows import BLOCK

# mypy: disable-error-code="call-arg"


def draw_wide(
    blocks: NDArray[np.float64],
    work: tuple[NDArray[Any], ...],
    precision: NDArray[np.float64],
    key: np.uint64,
    coef: NDArray[np.float64],
) -> bool:
    """Draw `coef` given the latents of a row half; False if that took a decomposition that is slow.

    Of `work`, see `pasb.binary.linear_kernels`, only latents, linear weights and the blocks in use
    are read.
    """
    latents, linear_weights, used = work[:3]
    n, chosen = len(coef), np.flatnonzero(used)
    normals = np.empty(n + len(latents))
    standard_normals(key, normals)
    spread = 1.0 / precision
    u = normals[:n] * np.sqrt(spread)
    if not len(chosen):
        coef[:] = u
        return True
    root = np.sqrt(latents.reshape(-1, BLOCK)[chosen])
    right = np.divide(
        linear_weights.reshape(-1, BLOCK)[chosen], root, out=np.zeros_like(root), where=root > 0
    )
    right -= normals[n:].reshape(-1, BLOCK)[chosen]
    matrix = np.zeros((len(chosen), BLOCK, len(chosen), BLOCK))
    for a, k in enumerate(chosen):
        scaled = spread[:, None] * blocks[k, :n]
        for b, other in enumerate(chosen[: a + 1]):
            product = scaled.T @ blocks[other, :n]
            matrix[a, :, b] = root[a][:, None] * product * root[b]
        right[a] -= root[a] * (u @ blocks[k, :n])
    square = matrix.reshape(root.size, root.size)
    square[np.diag_indices(root.size)] += 1.0
    try:
        x = cho_solve(cho_factor(square, lower=True, check_finite=False), right.ravel())
        drawn = bool(np.isfinite(x).all())
    except LinAlgError:
        drawn = False
    if not drawn:
        whole = np.tril(square) + np.tril(square, -1).T
        x = lstsq(whole, right.ravel(), check_finite=False)[0]
    coef[:] = u
    for k, own in zip(chosen, root * x.reshape(root.shape), strict=True):
        coef += spread * (blocks[k, :n] @ own)
    return drawn
