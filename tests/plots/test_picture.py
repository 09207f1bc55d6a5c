"""Figures behave as users of matplotlib expect: in pyplot, in notebooks, on given axes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from matplotlib import pyplot

from pasb import plots
from pasb.plots.picture import Picture, new_picture


@pytest.fixture(autouse=True)
def no_figure_is_left():
    pyplot.close("all")
    yield
    pyplot.close("all")


def test_pyplot_knows_a_new_figure(small_model):
    figure = plots.trace(small_model)
    assert pyplot.get_fignums() == [figure.number]
    ax = plots.reliability(small_model, *small_model.rows)
    assert pyplot.gca() is ax


def test_a_notebook_shows_a_figure_once():
    """As the value of a cell; it must then not be shown again at the end of the cell."""
    figure = new_picture(2, 1)
    figure.add_subplot().plot([0, 1])
    assert pyplot.get_fignums()
    assert figure._repr_mimebundle_()["image/png"].startswith(b"\x89PNG")
    assert not pyplot.get_fignums()


def test_a_figure_can_be_pickled():
    figure = new_picture(2, 1)
    assert isinstance(pickle.loads(pickle.dumps(figure)), Picture)


@pytest.mark.parametrize(
    ("draw", "shape"),
    [(plots.trace, (4, 2)), (plots.order_posterior, (1, 2)), (plots.coefficients, (1, 2))],
)
def test_given_axes(small_model, draw, shape):
    figure, axes = pyplot.subplots(*shape)
    assert draw(small_model, ax=axes) is figure
    assert len(figure.axes) == np.prod(shape)
    assert all(ax.has_data() for ax in figure.axes)
    with pytest.raises(ValueError, match=f"ax must hold {np.prod(shape)} Axes"):
        draw(small_model, ax=axes.ravel()[:1])
    with pytest.raises(TypeError, match="not both"):
        draw(small_model, ax=axes, figure=figure)


def test_axes_are_checked(small_model):
    with pytest.raises(TypeError, match="ax must be the Axes to draw on; got Figure"):
        plots.reliability(small_model, *small_model.rows, ax=pyplot.figure())
