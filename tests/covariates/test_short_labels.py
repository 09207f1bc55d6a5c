"""Shortened labels: short enough, and distinct wherever the labels are."""

from __future__ import annotations

import numpy as np
import pytest

from pasb.covariates.short_labels import short_labels


@pytest.mark.parametrize("most", [8, 14, 22])
@pytest.mark.parametrize(
    "form",
    [
        "a class with a long name, number {}",
        "{} is the number of a class with a long name",
        "a class with a long name, number {}, in a set of others",
        "{}_{}_{}_{}_{}_{}_{}_{}_{}_{}_{}_{}",
    ],
)
def test_long_labels_stay_distinct(form, most):
    labels = [form.format(*[f"{k:02d}"] * 12) for k in range(26)]
    shown = short_labels(labels, most)
    assert len(set(shown)) == 26
    assert max(map(len, shown)) <= most
    assert not any("(" in text for text in shown)  # no numbers are needed


def test_what_fits_stays():
    labels = ["bus", "van", "a class with a long name"]
    assert short_labels(labels, 12)[:2] == ["bus", "van"]
    assert short_labels(labels, 24) == labels
    assert short_labels([1, 2.5, None], 5) == ["1", "2.5", "None"]
    assert short_labels([], 5) == []


def test_equal_labels_are_shown_alike():
    assert len(set(short_labels(["the same long label"] * 3, 9))) == 1


def test_any_labels():
    rng = np.random.default_rng(5)
    for _ in range(300):
        sizes = rng.integers(0, 14, size=12)
        labels = ["".join(rng.choice(list("ab…"), size=size)) for size in sizes]
        for most in (8, 12):
            shown = short_labels(labels, most)
            assert len(set(shown)) == len(set(labels))
            assert max(map(len, shown)) <= most
