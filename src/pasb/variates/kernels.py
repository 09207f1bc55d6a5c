"""Loops over flat arrays, one for each sampler, behind the vectorised front.

Element i is drawn from row i of the key. An argument of length one serves all elements.

`key` names the stream, `out` (n) gets the draws, and the other arguments are those of the sampler
of the same name in `pasb.variates.scalar`: `df`, `lower`, `upper` of a t distribution between
bounds, and so on.
"""

from __future__ import annotations

from pasb.variates import scalar
from pasb.variates.jit import sampler as _kernel
from pasb.variates.scalar import open_stream


@_kernel
def _step(argument):
    """How far to move in an argument from one element to the next."""
    return 0 if argument.size == 1 else 1


@_kernel
def uniform(key, out):
    """Fill `out` with `pasb.variates.scalar.uniform`."""
    for i in range(out.size):
        out[i], _ = scalar.uniform(open_stream(key, i))


@_kernel
def normal(key, out):
    """Fill `out` with `pasb.variates.scalar.normal`."""
    for i in range(out.size):
        out[i], _ = scalar.normal(open_stream(key, i))


@_kernel
def exponential(key, out):
    """Fill `out` with `pasb.variates.scalar.exponential`."""
    for i in range(out.size):
        out[i], _ = scalar.exponential(open_stream(key, i))


@_kernel
def gamma(key, shape, out):
    """Fill `out` with `pasb.variates.scalar.gamma`."""
    shape_step = _step(shape)
    for i in range(out.size):
        out[i], _ = scalar.gamma(open_stream(key, i), shape[i * shape_step])


@_kernel
def log_gamma(key, shape, out):
    """Fill `out` with `pasb.variates.scalar.log_gamma`."""
    shape_step = _step(shape)
    for i in range(out.size):
        out[i], _ = scalar.log_gamma(open_stream(key, i), shape[i * shape_step])


@_kernel
def polya_gamma(key, h, c, out):
    """Fill `out` with `pasb.variates.scalar.polya_gamma`."""
    h_step, c_step = _step(h), _step(c)
    for i in range(out.size):
        out[i], _ = scalar.polya_gamma(open_stream(key, i), h[i * h_step], c[i * c_step])


@_kernel
def polya_gamma_exact(key, h, c, out):
    """Fill `out` with `pasb.variates.scalar.polya_gamma_exact`."""
    h_step, c_step = _step(h), _step(c)
    for i in range(out.size):
        out[i], _ = scalar.polya_gamma_exact(open_stream(key, i), h[i * h_step], c[i * c_step])


@_kernel
def crt(key, m, r, out):
    """Fill `out` with `pasb.variates.scalar.crt`."""
    m_step, r_step = _step(m), _step(r)
    for i in range(out.size):
        out[i], _ = scalar.crt(open_stream(key, i), m[i * m_step], r[i * r_step])


@_kernel
def poisson(key, rate, out):
    """Fill `out` with `pasb.variates.scalar.poisson`."""
    rate_step = _step(rate)
    for i in range(out.size):
        out[i], _ = scalar.poisson(open_stream(key, i), rate[i * rate_step])


@_kernel
def zero_truncated_poisson(key, rate, out):
    """Fill `out` with `pasb.variates.scalar.zero_truncated_poisson`."""
    rate_step = _step(rate)
    for i in range(out.size):
        out[i], _ = scalar.zero_truncated_poisson(open_stream(key, i), rate[i * rate_step])


@_kernel
def binomial(key, n, p, out):
    """Fill `out` with `pasb.variates.scalar.binomial`."""
    n_step, p_step = _step(n), _step(p)
    for i in range(out.size):
        out[i], _ = scalar.binomial(open_stream(key, i), n[i * n_step], p[i * p_step])


@_kernel
def inverse_gaussian(key, mean, shape, out):
    """Fill `out` with `pasb.variates.scalar.inverse_gaussian`."""
    mean_step, shape_step = _step(mean), _step(shape)
    for i in range(out.size):
        out[i], _ = scalar.inverse_gaussian(
            open_stream(key, i), mean[i * mean_step], shape[i * shape_step]
        )


@_kernel
def truncated_normal(key, lower, upper, out):
    """Fill `out` with `pasb.variates.scalar.truncated_normal`."""
    lower_step, upper_step = _step(lower), _step(upper)
    for i in range(out.size):
        out[i], _ = scalar.truncated_normal(
            open_stream(key, i), lower[i * lower_step], upper[i * upper_step]
        )


@_kernel
def truncated_t(key, df, lower, upper, out):
    """Fill `out` with `pasb.variates.scalar.truncated_t`."""
    df_step, lower_step, upper_step = _step(df), _step(lower), _step(upper)
    for i in range(out.size):
        out[i], _ = scalar.truncated_t(
            open_stream(key, i), df[i * df_step], lower[i * lower_step], upper[i * upper_step]
        )
