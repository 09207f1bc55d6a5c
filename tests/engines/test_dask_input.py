"""What fits on a Dask cluster take and refuse; copies, files and predictions of their models."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from tests.engines.trees import N, model, same

import pasb
from pasb import RowBlocks
from pasb.engines.device import available
from pasb.errors import EngineError

dask = pytest.importorskip("dask", reason="the extra pasb[dask] is not installed")
distributed = pytest.importorskip("distributed", reason="the extra pasb[dask] is not installed")
pytest.importorskip("pyarrow", reason="the extra pasb[files] is not installed")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::pasb.ConvergenceWarning"),
    pytest.mark.usefixtures("small_parts"),
]


class TestBadInput:
    def test_a_closed_client(self, cluster, folder):
        client = distributed.Client(cluster)
        client.close()
        with pytest.raises(EngineError, match="client is closed"):
            model(client).fit(folder, "tree")

    def test_no_client(self, folder):
        with pytest.raises(EngineError, match="found no cluster"):
            model("dask").fit(folder, "tree")

    @pytest.mark.skipif(available(), reason="workers have a GPU here")
    def test_workers_without_a_gpu(self, client, folder):
        with pytest.raises(EngineError, match="2 of 2 workers of the Dask cluster have no usable"):
            model(RowBlocks(client=client, device="cuda")).fit(folder, "tree")

    def test_rows_of_this_process(self, client, table):
        with pytest.raises(EngineError, match="does not send rows to the workers"):
            model("dask").fit(*table)

    def test_empty_partitions_and_unknown_sizes(self, client, table, expected):
        X, y = table
        frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(tree=y)
        parts = [frame.iloc[:0], frame.iloc[:250], frame.iloc[250:250], frame.iloc[250:]]
        whole = dd.from_delayed([dask.delayed(part) for part in parts], meta=frame.iloc[:0])
        assert same(model("dask").fit(whole, "tree"), expected)
        only = whole[whole["a"] > -100].values, whole["tree"].values
        assert all(n != n for n in only[0].chunks[0])
        only = da.asarray(whole[["a", "b", "c"]].values), whole["tree"].values
        assert same(model("dask").fit(*only), expected)
        with pytest.raises(ValueError, match="X has no rows"):
            model("dask").fit(dd.from_pandas(frame.iloc[:0], npartitions=1), "tree")

    def test_a_class_of_one_partition_only(self, client, table):
        X, y = table
        y = np.where(np.arange(N) < 20, "rare", y)
        frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(tree=y)
        fitted = model("dask").fit(dd.from_pandas(frame, npartitions=6, sort=False), "tree")
        assert fitted.classes_.tolist() == ["ash", "birch", "cedar", "rare"]
        assert same(model().fit(X, y), fitted)

    def test_what_is_wrong_is_named(self, client, table):
        X, y = table
        frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(tree=y)
        fitted = model("dask").fit(dd.from_pandas(frame, npartitions=2), "tree")
        before = fitted.draws_
        gap, text = frame.copy(), frame.assign(b="high")
        gap.loc[500, "b"] = np.nan
        for bad, words in (
            (dd.from_pandas(gap, npartitions=3), "column 'b' has 1 such value"),
            (dd.from_pandas(text, npartitions=3), "column 'b' does not hold numbers"),
        ):
            with pytest.raises(ValueError, match=words):
                fitted.fit(bad, "tree")
        with pytest.raises(ValueError, match="no column 'trees'"):
            fitted.fit(dd.from_pandas(frame, npartitions=2), "trees")
        whole = dd.from_pandas(frame, npartitions=2)
        with pytest.raises(ValueError, match="2 partitions and y 3"):
            fitted.fit(whole[["a"]], dd.from_pandas(frame["tree"], npartitions=3))
        assert fitted.draws_ is before


def test_copies_of_a_model_with_a_client(client, table):
    one = model(client)
    assert clone(one).engine is client
    assert clone(model(RowBlocks(client=client))).engine.client is client
    assert pickle.loads(pickle.dumps(one)).engine == "dask"


def test_a_saved_model_knows_no_cluster(client, folder, tmp_path):
    fitted = model(client, n_draws=10).fit(folder, "tree")
    fitted.save(tmp_path / "model.pasb")
    read = pasb.load(tmp_path / "model.pasb")
    assert read.engine == "cpu"
    rows = pd.DataFrame(np.zeros((1, 3)), columns=["a", "b", "c"])
    assert np.array_equal(read.predict_proba(rows), fitted.predict_proba(rows))


class TestPrediction:
    def test_lazy_and_the_same(self, client, table, folder, expected):
        X, _ = table
        wanted, labels = expected.predict_proba(X), expected.predict(X)
        chunked = da.from_array(X, chunks=(200, 2))
        proba = expected.predict_proba(chunked)
        assert proba.chunks == ((200, 200, 200, 100), (3,))
        assert np.array_equal(proba.compute(), wanted)
        assert np.array_equal(expected.predict(chunked).compute(), labels)
        assert np.array_equal(
            expected.predict_proba(chunked, n_draws=7).compute(),
            expected.predict_proba(X, n_draws=7),
        )

    def test_of_frames_and_files(self, client, table, folder):
        X, _ = table
        fitted = model("cpu", n_draws=10).fit(folder, "tree")
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        wanted = fitted.predict_proba(frame)
        whole = dd.from_pandas(frame.assign(z="not used")[["c", "z", "a", "b"]], npartitions=3)
        assert np.array_equal(fitted.predict_proba(whole).compute(), wanted)
        proba = fitted.predict_proba(folder)
        assert proba.shape == (N, 3)
        assert np.array_equal(proba.compute(), wanted)
        with pytest.raises(ValueError, match="no column 'a'"):
            fitted.predict_proba(whole[["b", "c"]]).compute()
