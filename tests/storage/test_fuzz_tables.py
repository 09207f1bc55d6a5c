"""Property-based fuzzing of tables: they are read, or refused with an error that names the file.

Every property has a quick test and a slow one with many more examples.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st
from tests.storage.fuzzing import (
    byte_changes,
    changed_bytes,
    check_message,
    many,
    times,
)

from pasb import TableEncoder
from pasb.cli.training_table import ColumnOptions, training_table
from pasb.covariates import tables
from pasb.covariates.encoder_file import encoder_from_json, encoder_to_json
from pasb.covariates.table_writing import write_table
from pasb.covariates.tables import TableError

pytestmark = pytest.mark.filterwarnings(
    "ignore::pasb.errors.ConvergenceWarning", "ignore::RuntimeWarning"
)


# ---------------------------------------------------------------- tables


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


def use(path, target="y"):
    """Read a table and take it apart, as the command line does."""
    try:
        table, labels, *_ = training_table(path, target, ColumnOptions())
        assert len(table) == len(labels) > 0
        encoder = TableEncoder().fit(table)
        assert np.isfinite(encoder.transform(table)).all()
        assert encoder_to_json(encoder_from_json(encoder_to_json(encoder)))
    except TableError as error:
        check_message(error, path)


def check_random_bytes_as_a_table(place, content, ending, zipped):
    path = place / f"random{ending}"
    path.write_bytes(gzip.compress(content) if zipped else content)
    use(path)


cells = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.floats().map(str),
    st.sampled_from(
        ["", "nan", "NA", "a", "b", '"', '""', "\0", "1e999", "True", " ", "-", "\ufeff"]
    ),
    st.text(max_size=5),
)
headers = st.lists(
    st.sampled_from(["y", " y", "y ", "a", "a", "", "Unnamed: 0", "1", "a.1"])
    | st.text(max_size=4),
    min_size=1,
    max_size=4,
)


def check_random_text_as_a_table(place, header, rows, separator, ending):
    lines = [separator.join(cells) for cells in (header, *rows)]
    path = place / f"text{ending}"
    content = "\n".join(lines).encode("utf-8", "surrogatepass")
    path.write_bytes(gzip.compress(content) if ending.endswith(".gz") else content)
    use(path)


columns = st.one_of(
    st.lists(st.floats(), min_size=4, max_size=4),
    st.lists(st.integers(-(2**63), 2**63 - 1) | st.none(), min_size=4, max_size=4),
    st.lists(st.booleans() | st.none(), min_size=4, max_size=4),
    st.lists(st.text(st.characters(codec="utf-8"), max_size=3) | st.none(), min_size=4, max_size=4),
    st.lists(st.dates().map(pd.Timestamp), min_size=4, max_size=4),
    st.lists(st.binary(max_size=3), min_size=4, max_size=4),
    st.lists(st.lists(st.integers(0, 9), max_size=2), min_size=4, max_size=4),
)


def check_random_parquet(place, frame, category, changes):
    pytest.importorskip("pyarrow")
    path = place / "random.parquet"
    table = pd.DataFrame({name: pd.Series(values) for name, values in frame.items()})
    if category:
        table["y"] = pd.Categorical(["b", "a", "b", "a"])
    try:
        table.to_parquet(path)
    except Exception:  # pyarrow cannot store it
        return
    path.write_bytes(changed_bytes(path.read_bytes(), changes))
    use(path)


RANDOM_BYTES = {
    "content": st.binary(max_size=200) | st.text("ay,;\n\t\"'01.\0", max_size=80).map(str.encode),
    "ending": st.sampled_from(tables.ENDINGS),
    "zipped": st.booleans(),
}
RANDOM_TEXT = {
    "header": headers,
    "rows": st.lists(st.lists(cells, min_size=1, max_size=5), max_size=6),
    "separator": st.sampled_from([",", ";", "\t"]),
    "ending": st.sampled_from(tables.SEPARATED),
}
PARQUET = {
    "frame": st.dictionaries(
        st.sampled_from(["y", " y", "a", "b", ""]), columns, min_size=1, max_size=3
    ),
    "category": st.booleans(),
    "changes": st.just([]) | byte_changes,
}
test_random_bytes_as_a_table = times(200, RANDOM_BYTES, check_random_bytes_as_a_table)
test_random_bytes_as_a_table_many = many(200, RANDOM_BYTES, check_random_bytes_as_a_table)
test_random_text_as_a_table = times(300, RANDOM_TEXT, check_random_text_as_a_table)
test_random_text_as_a_table_many = many(300, RANDOM_TEXT, check_random_text_as_a_table)
test_random_parquet = times(150, PARQUET, check_random_parquet)
test_random_parquet_many = many(150, PARQUET, check_random_parquet)


def test_a_table_reads_back(place):
    """The properties above do not pass by refusing everything."""
    path = place / "sound.parquet"
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "y": ["u", "v", "u", "v"]})
    write_table(table, path)
    X, labels, *_ = training_table(path, "y", ColumnOptions())
    assert TableEncoder().fit_transform(X).ravel().tolist() == [1.0, 2.0, 3.0, 4.0]
    assert labels.tolist() == ["u", "v", "u", "v"]
    use(Path(path))
