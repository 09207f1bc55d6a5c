"""Labels that begin and end alike, in a report."""

from __future__ import annotations

import html
import re
import warnings

import numpy as np
import pandas as pd
import pytest

from pasb import StickLogisticClassifier

N = 4
NAME = "a class with a name so long that it fits into no line of a report, number {}, of the four"
CLASSES = np.array([NAME.format(k) for k in range(N)])


@pytest.fixture(scope="module")
def page():
    rng = np.random.default_rng(4)
    category = np.arange(60) % N
    names = [f"a covariate with a very long name, number {k}, of three" for k in range(3)]
    X = pd.DataFrame(rng.normal(size=(60, 3)) + category[:, None], columns=names)
    X.index = [f"a row with a name that is long as well, number {k:02d}" for k in range(60)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = StickLogisticClassifier(
            n_chains=2, n_warmup=10, n_draws=20, random_state=1, progress=False
        ).fit(X, CLASSES[category])
        return model.report(X, CLASSES[category], compare=False).html()


def part(page: str, name: str) -> str:
    return re.search(rf'<section id="{name}".*?</section>', page, re.DOTALL)[0]


def titled(text: str) -> dict[str, set[str]]:
    """What is shown, of each whole text."""
    found: dict[str, set[str]] = {}
    pairs = re.findall(r'<bdi title="([^"]*)">([^<]*)</bdi>', text)
    pairs += re.findall(r"<text[^>]*><title>([^<]*)</title>([^<]*)</text>", text)
    for whole, shown in pairs:
        found.setdefault(html.unescape(shown), set()).add(html.unescape(whole))
    return found


def test_what_is_shown_tells_labels_apart(page):
    for name in re.findall(r'<section id="([a-z-]+)"', page):
        for shown, whole in titled(part(page, name)).items():
            assert len(whole) == 1, (name, shown)


def test_classes_on_sticks(page):
    text = re.findall(r"<svg.*?</svg>", part(page, "order"), re.DOTALL)[0]
    assert len(re.findall(r"<title>a class[^<]*</title>", text)) == N


def test_captions_of_traces_keep_the_row(page):
    captions = re.findall(r"<figcaption><strong>(<bdi.*?)</strong>", part(page, "draws"))
    rows = [caption for caption in captions if "P(a class" in caption]
    assert len(rows) == 3
    for caption in rows:
        shown = re.sub(r"<[^>]*>", "", caption)
        assert re.search(r", training row \d+$", shown), shown


def test_orders_show_a_part_of_every_name(page):
    lines = re.findall(r'<th scope="row"><bdi title="([^"]*)">([^<]*)</bdi>', part(page, "order"))
    orders = [html.unescape(shown) for whole, shown in lines if "&gt;" in whole]
    assert orders
    for line in orders:
        assert len(line) <= 120
        assert len(set(re.split(" > | / ", line))) == N
