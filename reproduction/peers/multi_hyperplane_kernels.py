"""The compiled half of `reproduction.peers.multi_hyperplane`: one pass over the rows, step by step.

Stochastic gradient descent with the Pegasos step 1/(lambda (t + 1)) turns a weight vector
w into (1 - 1/(t + 1)) w, plus or minus x / (lambda (t + 1)) where x violates the margin.
Hence lambda (t + 1) w is the plain sum of the signed rows that the vector has met. The
kernels keep these sums: shrinking costs nothing, and the margin 1 becomes lambda t.
"""

from __future__ import annotations

import numpy as np

from pasb.numerics.compiled import kernel, summing


@summing
def _dot(a, b):
    total = 0.0
    for v in range(a.shape[0]):
        total += a[v] * b[v]
    return total


@kernel
def _best(row, sums, count):
    """The vector of one class with the largest score, and that score."""
    best, score = 0, -np.inf
    for j in range(count):
        value = _dot(sums[j], row)
        if value > score:
            best, score = j, value
    return best, score


@kernel
def _best_of_others(row, own, sums, counts):
    """The class other than `own`, its vector, and the score that comes out on top."""
    rival, vector, score = -1, 0, -np.inf
    for s in range(counts.shape[0]):
        if s == own:
            continue
        j, value = _best(row, sums[s], counts[s])
        if value > score:
            rival, vector, score = s, j, value
    return rival, vector, score


@kernel
def class_scores(rows, sums, counts, out):
    """``out[i, s]``: the largest score of the vectors of class s for row i."""
    for i in range(rows.shape[0]):
        for s in range(counts.shape[0]):
            out[i, s] = _best(rows[i], sums[s], counts[s])[1]


@kernel
def assign(rows, classes, sums, counts, names, assigned):
    """Give every row the vector of its own class that scores highest."""
    for i in range(rows.shape[0]):
        s = classes[i]
        assigned[i] = names[s, _best(rows[i], sums[s], counts[s])[0]]


@kernel
def one_pass(
    rows,
    classes,
    shuffled,
    first,
    regularization,
    prune_threshold,
    prune_every,
    sums,
    counts,
    names,
    next_name,
    assigned,
    t,
):
    """Take one gradient step for every row, in the order `shuffled`.

    In the `first` pass a row belongs to its best vector of the moment, which is noted in
    `assigned`, and nothing is pruned; later `assigned` is fixed, and says which vector
    has to win by the margin.

    Parameters
    ----------
    rows : array of shape (n_rows, n_columns)
    classes, shuffled, assigned : int arrays of shape (n_rows,)
    first : bool
    regularization, prune_threshold : float
    prune_every : int
    sums : array of shape (n_classes, max_weights, n_columns)
    counts : int array of shape (n_classes,)
    names : int array of shape (n_classes, max_weights)
        Vectors move up when others are pruned; their names stay.
    next_name : int array of shape (1,)
    t : int
        Steps before this pass.

    Returns
    -------
    int
        Steps after this pass.
    """
    max_weights = sums.shape[1]
    for k in range(shuffled.shape[0]):
        t += 1
        i = shuffled[k]
        row, own = rows[i], classes[i]
        best, best_score = _best(row, sums[own], counts[own])
        mine, score = best, best_score
        if first:
            assigned[i] = names[own, best]
        else:
            for j in range(counts[own]):
                if names[own, j] == assigned[i]:
                    mine, score = j, _dot(sums[own, j], row)
        rival, vector, rival_score = _best_of_others(row, own, sums, counts)
        if regularization * t + rival_score - score > 0.0:
            sums[rival, vector] -= row
            grows = best_score <= 0.0  # a zero vector would do at least as well
            if not (first and grows):
                sums[own, mine] += row
            if grows and counts[own] < max_weights:
                sums[own, counts[own]] = row
                names[own, counts[own]] = next_name[0]
                next_name[0] += 1
                counts[own] += 1
        if not first and t % prune_every == 0:
            _prune(prune_threshold * (t + 1) / t, sums, counts, names)
    return t


@kernel
def _prune(threshold, sums, counts, names):
    """Drop the shortest vectors, while their squared lengths sum to at most threshold^2.

    The last vector of a class stays.
    """
    n_classes, max_weights, _ = sums.shape
    lengths = np.full((n_classes, max_weights), np.inf)
    for s in range(n_classes):
        for j in range(counts[s]):
            lengths[s, j] = _dot(sums[s, j], sums[s, j])
    total, limit = 0.0, -1.0
    for length in np.sort(lengths.ravel()):
        total += length
        if not total <= threshold * threshold:
            break
        limit = length
    for s in range(n_classes):
        kept, left = 0, counts[s]
        for j in range(counts[s]):
            if lengths[s, j] <= limit and left > 1:
                left -= 1
                continue
            if kept != j:
                sums[s, kept] = sums[s, j]
                names[s, kept] = names[s, j]
            kept += 1
        counts[s] = kept
