"""Rows in blocks that could not be everything: groups, sums, draws, predictions, errors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pasb import RowBlocks, SoftplusClassifier, StickLogisticClassifier, StickRobitClassifier
from pasb.binary import Logistic, Robit
from pasb.binary.row_requests import NEWTON, SLOPE, VALUE, Request, stacked
from pasb.binary.row_requests import answered as linear_answers
from pasb.binary.softplus_requests import SlopeRequest, TableRequest
from pasb.binary.softplus_requests import answered as softplus_answers
from pasb.covariates.part_availability import Patterns, groups_of
from pasb.covariates.part_scan import looked_at, united
from pasb.covariates.parts import Raw, cut, gathered
from pasb.engines import workshop
from pasb.errors import CheckpointError
from pasb.numerics.rows import Rows
from pasb.sampling.softplus_sums import softplus_ask
from pasb.sticks import Roles

pytestmark = pytest.mark.filterwarnings("ignore::pasb.ConvergenceWarning")
NAMES = np.array(["bus", "car", "walk"])


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr("pasb.engines.workshop.ROWS_OF_A_PART", 70)


def choices(n_rows=400, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 2))
    y = np.argmax(X @ rng.normal(size=(2, 3)) + rng.gumbel(size=(n_rows, 3)), axis=1)
    available = rng.random((n_rows, 3)) < 0.7
    available[np.arange(n_rows), y] = True
    available[:5] = np.eye(3)[y[:5]]  # rows with one class inform nothing
    return X, NAMES[y], available


X, Y, AVAILABLE = choices()
COLUMNS = {"bus": "has_bus", "car": "has_car", "walk": "can_walk"}


def model(engine="blocks", kind=StickLogisticClassifier, **settings):
    usual = {"n_chains": 2, "n_warmup": 4, "n_draws": 30, "random_state": 3, "progress": False}
    return kind(engine=engine, **(usual | settings))


def softplus(engine="blocks", **settings):
    short = {"n_experts": 2, "n_layers": 1, "n_chains": 1, "n_warmup": 8, "n_draws": 6}
    return model(engine, SoftplusClassifier, **(short | settings))


def same(one, other):
    first, second = one.draws_, other.draws_
    return (
        np.array_equal(first.order, second.order)
        and np.array_equal(first.log_likelihood, second.log_likelihood)
        and all(np.array_equal(v, second.parameters[k]) for k, v in first.parameters.items())
    )


def rows_in_memory():
    """As the fits below have them, but in one part."""
    inside = np.column_stack([np.ones(len(X)), X])
    return Rows.of(inside, np.searchsorted(NAMES, Y), 3, available=AVAILABLE)


def sums_of(kind):
    """The sums over parts that a fit without scaling would take."""
    kept = []
    build = workshop.LocalWorkshop.sums

    def sums(self, *arguments):
        kept.append(build(self, *arguments))
        return kept[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workshop.LocalWorkshop, "sums", sums)
        kind(scale=None)._prepare(X, Y, availability=AVAILABLE)
    return kept[0]


def test_groups_and_their_order_do_not_depend_on_the_parts():
    rows, y = rows_in_memory(), np.searchsorted(NAMES, Y)
    for size in (400, 70, 1):
        parts = cut([len(X)], size)
        raw = Raw(X, Y, None, AVAILABLE.astype(np.uint8))
        look = united([looked_at(gathered(p, [raw]), None, p[0].start) for p in parts])
        groups, columns = groups_of(look.patterns, None, look.labels)
        assert np.array_equal(groups.category, rows.groups.category)
        assert np.array_equal(groups.available, rows.groups.available)
        assert columns.tolist() == [0, 1, 2]
        assert look.patterns.counts.tolist() == np.diff(rows.bounds).tolist()
        first = [
            np.flatnonzero((y == c) & (own == AVAILABLE).all(axis=1))[0]
            for c, own in zip(*groups, strict=True)
        ]
        assert look.patterns.first.tolist() == first


def test_parts_have_the_rows_of_each_group():
    sums, rows = sums_of(model), rows_in_memory()
    assert len(sums.parts) == 6
    assert np.array_equal(sums.counts, np.diff(rows.bounds))
    every = [np.arange(n) for n in sums.counts]
    table, _, group, numbers = sums.take(every)
    assert np.array_equal(table[:, 1:], X[numbers])
    y = np.searchsorted(NAMES, Y)
    assert np.array_equal(rows.groups.category[group], y[numbers])
    assert np.array_equal(rows.groups.available[group], AVAILABLE[numbers])
    few = sums.at_most(60)
    assert few.n_groups == rows.n_groups
    assert few.n_categories == 3
    assert np.array_equal(few.groups.available, rows.groups.available)


@pytest.mark.parametrize("binary", [Logistic(), Robit()], ids=["logistic", "robit"])
def test_sums_of_linear_sticks_are_those_in_memory(binary, seed):
    sums, rows = sums_of(model), rows_in_memory()
    link = binary.sampler(rows).link
    rng = np.random.default_rng(seed)
    roles = Roles.of("reverse", groups=rows.groups)
    asked = [
        Request(kind, roles.on_stick(np.array(order), stick), rng.normal(size=(3, 3)))
        for kind in (VALUE, SLOPE, NEWTON)
        for order in ([0, 1, 2], [2, 0, 1])
        for stick in (0, 1)
    ]
    for request, found in zip(asked, sums.ask(asked, link), strict=True):
        (expected,) = linear_answers(rows, link, stacked([request]))
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
        absent = request.roles == 2
        assert (found.sums[:, absent] == 0).all()


def test_sums_of_softplus_sticks_are_those_in_memory(seed):
    sums, rows = sums_of(softplus), rows_in_memory()
    rng = np.random.default_rng(seed)
    roles = Roles.of("forward", groups=rows.groups).on_stick(np.array([1, 2, 0]), 0)
    coef, log_weight = rng.normal(size=(2, 1, 3)), rng.normal(size=2)
    asked = [
        SlopeRequest(roles, coef, log_weight),
        TableRequest(roles, coef, log_weight, np.uint64(7)),
    ]
    numbers = np.argsort(rows_group_numbers(), kind="stable")
    expected = softplus_answers(rows, numbers, asked)
    for found, own in zip(softplus_ask(sums)(asked), expected, strict=True):
        for ours, theirs in zip(found, own, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def rows_group_numbers():
    rows, y = rows_in_memory(), np.searchsorted(NAMES, Y)
    out = np.empty(len(y), dtype=np.int64)
    for g, (c, own) in enumerate(zip(*rows.groups, strict=True)):
        out[(y == c) & (own == AVAILABLE).all(axis=1)] = g
    return out


@pytest.mark.parametrize(
    "make",
    [
        model,
        lambda engine="blocks", **s: model(engine, StickRobitClassifier, **s),
        lambda engine="blocks", **s: model(engine, order=["car", "walk", "bus"], **s),
        softplus,
        lambda engine="blocks", **s: softplus(engine, direction="forward", **s),
    ],
    ids=["logistic", "robit", "order fixed", "softplus", "softplus forward"],
)
def test_a_fit(make):
    """Its log-likelihoods are those of its rows, one by one."""
    fitted = make().fit(X, Y, availability=AVAILABLE)
    p = fitted.predict_proba(X, availability=AVAILABLE)
    assert (p[~AVAILABLE] == 0).all()
    assert p.sum(axis=1) == pytest.approx(1)
    draws = fitted.sample_proba(X, availability=AVAILABLE)
    likelihood = np.log(draws[:, np.arange(len(Y)), np.searchsorted(NAMES, Y)]).sum(axis=1)
    assert likelihood == pytest.approx(fitted.draws_.log_likelihood.ravel(), rel=1e-9)
    watched = fitted._watched
    assert np.array_equal(watched.available, AVAILABLE[watched.row])
    assert np.array_equal(NAMES[watched.category], Y[watched.row])
    with pytest.raises(ValueError, match="pass availability="):
        fitted.posterior_with(X, Y)


@pytest.mark.parametrize("make", [model, softplus], ids=["logistic", "softplus"])
def test_the_same_draws_from_files_frames_and_threads(make, tmp_path, monkeypatch):
    expected = make().fit(X, Y, availability=AVAILABLE)
    frame = pd.DataFrame(AVAILABLE, columns=NAMES)[["walk", "bus", "car"]].astype(int)
    assert same(make(n_jobs=1).fit(X, Y, availability=frame), expected)
    np.save(tmp_path / "available.npy", AVAILABLE)
    mapped = np.load(tmp_path / "available.npy", mmap_mode="r")
    folder = RowBlocks(folder=tmp_path)
    assert same(make(folder).fit(X, Y, availability=mapped), expected)


@pytest.mark.parametrize("make", [model, softplus], ids=["logistic", "softplus"])
def test_everything_available_is_nothing_said(make):
    plain = make().fit(X, Y)
    assert same(make().fit(X, Y, availability=np.ones((len(Y), 3))), plain)
    assert plain._watched.available is None


def test_rows_without_weight_are_left_out():
    weights = np.where(np.arange(len(Y)) % 7 == 0, 0.0, 1.0)
    kept = weights > 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pasb.engines.workshop.ROWS_OF_A_PART", 1000)
        one = model(scale=None).fit(X, Y, weights, AVAILABLE)
        two = model(scale=None).fit(X[kept], Y[kept], availability=AVAILABLE[kept])
    assert same(one, two)


def test_a_checkpoint_belongs_to_the_availability(tmp_path):
    folder = str(tmp_path / "run")
    model(checkpoint=folder, n_draws=12).fit(X, Y, availability=AVAILABLE)
    resumed = model(checkpoint=folder).fit(X, Y, availability=AVAILABLE)
    assert same(resumed, model().fit(X, Y, availability=AVAILABLE))
    other = AVAILABLE.copy()
    other[np.argmin(other.all(axis=1))] = True
    with pytest.raises(CheckpointError):
        model(checkpoint=folder).fit(X, Y, availability=other)


class TestParquet:
    @pytest.fixture
    def folder(self, tmp_path):
        pytest.importorskip("pyarrow", reason="the extra pasb[files] is not installed")
        frame = pd.DataFrame(X, columns=["a", "b"]).assign(mode=Y)
        for label, column in COLUMNS.items():
            frame[column] = AVAILABLE[:, NAMES.tolist().index(label)]
        frame["has_car"] = frame["has_car"].astype(int)
        frame[:130].to_parquet(tmp_path / "0.parquet", index=False, row_group_size=31)
        frame[130:].to_parquet(tmp_path / "1.parquet", index=False)
        return tmp_path

    def test_columns_say_what_is_available(self, folder):
        pytest.importorskip("dask", reason="the extra pasb[dask] is not installed")
        expected = model().fit(X, Y, availability=AVAILABLE)
        fitted = model("cpu").fit(folder, "mode", availability=COLUMNS)
        assert same(fitted, expected)
        assert list(fitted.feature_names_in_) == ["a", "b"]
        lazy = fitted.predict_proba(folder, availability=COLUMNS)
        table = pd.DataFrame(X, columns=["a", "b"])
        p = fitted.predict_proba(table, availability=AVAILABLE)
        np.testing.assert_allclose(lazy.compute(), p, rtol=1e-12)
        labels = fitted.predict(folder, availability=COLUMNS).compute()
        assert np.array_equal(labels, fitted.predict(table, availability=AVAILABLE))

    def test_classes_without_a_column_are_always_available(self, folder):
        said = AVAILABLE | [True, False, True]
        fitted = model().fit(folder, "mode", availability={"car": "has_car"})
        three = np.column_stack([X, AVAILABLE[:, [0, 2]]])
        assert same(fitted, model().fit(three, Y, availability=said))
        assert list(fitted.feature_names_in_) == ["a", "b", "has_bus", "can_walk"]

    def test_errors(self, folder):
        for availability, words in (
            ({"car": "has_cra"}, "availability of 'car'.* no column 'has_cra'; did you mean"),
            ({"boat": "has_car"}, "availability: 'boat' is no class of the model"),
            (AVAILABLE, "must be a dictionary from classes to columns"),
            ({"car": "mode"}, "column 'mode' must hold True and False"),
            ({"car": "a"}, "True and False, or 1 and 0; row 1 holds something else"),
        ):
            with pytest.raises(ValueError, match=words):
                model().fit(folder, "mode", availability=availability)

    def test_gaps_are_refused(self, folder):
        frame = pd.read_parquet(folder / "1.parquet").astype({"has_bus": "boolean"})
        frame.loc[3, "has_bus"] = pd.NA
        frame.to_parquet(folder / "1.parquet", index=False)
        with pytest.raises(ValueError, match="row 134 holds something else"):
            model().fit(folder, "mode", availability=COLUMNS)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda a: a[:50], "row for each of the 400 rows"),
        (lambda a: a[:, :2], "2 columns, and there are 3 classes: bus, car, walk"),
        (lambda a: a[:, 0], "row for each of the 400 rows"),
        (lambda a: a & (np.arange(400) != 206)[:, None], "nothing is available in row 207"),
        (
            lambda a: np.where(Y[:, None] == "car", [True, False, True], a),
            "rows, the first of them row .* chose a class .* car: correct",
        ),
        (lambda a: a * 2, "True and False, or 1 and 0; row 1 holds"),
        (lambda a: np.where(a, "yes", "no"), "True and False, or 1 and 0; row 1 holds"),
        (lambda a: np.where(np.arange(400)[:, None] == 300, np.nan, a), "row 301 holds"),
        (lambda a: pd.DataFrame(a, columns=["bus", "car", "boat"]), "'boat' is no class"),
        (lambda a: pd.DataFrame(a[:, :2], columns=["bus", "car"]), "no column 'walk'"),
        (lambda a: COLUMNS, "a dictionary names columns of Parquet files"),
    ],
)
def test_errors_name_row_and_class(change, words):
    with pytest.raises(ValueError, match=words):
        model().fit(X, Y, availability=change(AVAILABLE))
    if isinstance(change(AVAILABLE), dict):
        with pytest.raises(ValueError, match=words):
            model("cpu").fit(X, Y, availability=change(AVAILABLE))


def test_patterns_of_parts_are_put_together():
    flags = np.array([[1, 0], [1, 1], [1, 0]], dtype=np.uint8)
    one = Patterns.of_rows(np.array([0, 1, 0]), flags, np.array([0.0, 1.0, 1.0]), 10)
    two = Patterns.of_rows(np.array([0, 0, 0]), flags, np.zeros(3), 0)
    both = Patterns.united([one, two])
    assert both.label.tolist() == [0, 0, 1]
    assert both.available.tolist() == [[True, False], [True, True], [True, True]]
    assert both.first.tolist() == [0, 1, 11]
    assert both.counts.tolist() == [4, 1, 1]
    assert both.used.tolist() == [True, False, True]
