"""Reading tables: what they hold, what is refused, and that nothing hangs."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pandas as pd
import pytest

from pasb.covariates import table_reading
from pasb.covariates.table_reading import beside, read_chunks, read_table
from pasb.covariates.table_writing import write_table
from pasb.covariates.tables import TableError


def written(tmp_path, text, name="table.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def all_columns(names):
    return names


@pytest.mark.parametrize("name", ["a.csv", "a.CSV", "a.csv.gz", "a.tsv", "a.tsv.gz", "a.parquet"])
def test_what_is_written_reads_back(tmp_path, name):
    table = pd.DataFrame({"x": [0.1, 2.0], "n": [1, 2], "y": ["a", "b"]})
    write_table(table, tmp_path / name)
    again = read_table(tmp_path / name)
    assert again["x"].astype(float).tolist() == [0.1, 2.0]
    assert again["y"].tolist() == ["a", "b"]


def test_cells_of_csv_stay_text(tmp_path):
    table = read_table(written(tmp_path, 'x,y\n01,NA\n 1.50 ,\n"a,b",None\n'))
    assert table["x"].tolist() == ["01", " 1.50 ", "a,b"]
    assert table["y"].tolist() == ["NA", "", "None"]


def test_types_of_parquet_stay(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    content = {
        "u": pa.array([2**64 - 1, 1], pa.uint64()),
        "t": pa.array([0, 1], pa.timestamp("us", "UTC")),
        "l": [[1], [2]],
    }
    pq.write_table(pa.table(content), tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    assert table["u"].tolist() == [2**64 - 1, 1]
    assert table["t"].dt.year.tolist() == [1970, 1970]
    assert all(isinstance(dtype, pd.ArrowDtype) for dtype in table.dtypes)


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "in chunks"])
def test_the_first_line_may_name_the_separator(tmp_path, whole):
    """As Excel writes it; the header was thought to name too few columns."""
    for line in ("sep=;\n", "\ufeffSEP=;\r\n", '"sep=;"\n'):
        path = written(tmp_path, line + "x;y;z\n1,5;a;2\n2,5;b;\n")
        table = read_table(path) if whole else next(read_chunks(path, all_columns, 10))
        assert table["x"].tolist() == ["1,5", "2,5"]
        assert list(table.columns) == ["x", "y", "z"]
    path = written(tmp_path, "sep=;\nx;y\n1;2\n1;2;3\n")
    with pytest.raises(TableError, match="row 2 has 3 cells, but the header names 2 columns"):
        read_table(path) if whole else list(read_chunks(path, all_columns, 10))


def test_separators_in_quotes_are_none(tmp_path):
    path = written(tmp_path, '"a, b, c";d\n1;2\n')
    assert list(read_table(path).columns) == ["a, b, c", "d"]


@pytest.mark.parametrize(
    ("content", "encoding", "message"),
    [
        (b"PK\x03\x04\x14\0\x06\0\xff", "utf-8", "is a spreadsheet or another zip file: save"),
        (b"PK\x03\x04\x14\0\x06\0\xff\n1\n", "latin-1", "is a spreadsheet or another zip file"),
        (b"PAR1\x15\0\xff\n1\n", "utf-8", "is Parquet: let its name end in .parquet"),
        (b"\x1f\x8b\x08\0\xff\n1\n", "utf-8", "is packed with gzip: let its name end in .csv.gz"),
        ("x,y\n1,a\n".encode("utf-16"), "utf-8", "text in UTF-16: say --encoding utf-16"),
        ("x,y\n1,a\n".encode("utf-16-le"), "utf-8", "text in UTF-16-LE: say --encoding utf-16-le"),
        (b"a\0b,c\n1,2\n", "utf-8", "is not text in UTF-8"),
    ],
)
def test_what_is_no_text_is_called_what_it_is(tmp_path, content, encoding, message):
    with pytest.raises(TableError, match=message):
        read_table(written(tmp_path, content), encoding)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separator_follows_from_the_header(tmp_path, separator):
    path = written(
        tmp_path, separator.join("xyz") + "\n" + separator.join(("1,5", "2", "3")) + "\n"
    )
    if separator == ",":
        path.write_text("x,y,z\n1,2,3\n")
    assert list(read_table(path).columns) == ["x", "y", "z"]


def test_byte_order_mark_and_spaces_around_names(tmp_path):
    path = written(tmp_path, "\ufeffx, y \n1,2\n")
    assert list(read_table(path).columns) == ["x", "y"]


def test_encoding(tmp_path):
    path = written(tmp_path, "größe;y\n1,5;a\n".encode("latin-1"))
    assert list(read_table(path, "latin-1").columns) == ["größe", "y"]
    with pytest.raises(TableError, match=r"not text in UTF-8.*--encoding, often latin-1"):
        read_table(path)
    with pytest.raises(TableError, match="no encoding 'klingon'"):
        read_table(path, "klingon")
    for other in ("utf-16", "ascii"):
        with pytest.raises(TableError, match=f"not text in {other.upper()}; .* out for UTF-8"):
            read_table(written(tmp_path, "größe,y\n1,a\n"), other)


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("", "a.csv", "is empty"),
        ("x,y\n", "a.csv", "no rows"),
        (b"x,y\n\xff\xfe,1\n", "a.csv", "UTF-8"),
        ("x,y\n1,2\n1,2,3,4\n", "a.csv", "row 2 has 4 cells, but the header names 2 columns"),
        ("x,y\n1,2,3\n4,5,6\n", "a.csv", r"row 1 has 3 cells, .* 2 columns \(2 such rows"),
        ("x,y\n1,2\n1\n", "a.csv", "row 2 has 1 cell, but .* write empty cells out"),
        ("not parquet", "a.parquet", "cannot be read"),
        ("not gzip", "a.csv.gz", "cannot be read"),
        ("x", "a.xlsx", "must end in .csv"),
    ],
)
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "in chunks"])
def test_unreadable_files(tmp_path, text, name, message, whole):
    path = written(tmp_path, text, name)
    with pytest.raises(TableError, match=message) as error:
        read_table(path) if whole else list(read_chunks(path, all_columns, 10))
    assert name in str(error.value)


def test_missing_file_suggests_the_nearest(tmp_path):
    written(tmp_path, "x\n1\n", "vehicles.csv")
    with pytest.raises(TableError, match=r"no such file; did you mean 'vehicles\.csv'"):
        read_table(tmp_path / "vehicle.csv")


def test_a_file_of_another_name_is_not_suggested(tmp_path):
    """That both end in .csv makes no names alike."""
    for name in ("link.csv", "inf.txt", "in"):
        written(tmp_path, "x\n1\n", name)
    with pytest.raises(TableError, match=r"no such file$"):
        read_table(tmp_path / "inf.csv")
    written(tmp_path, "x\n1\n", "info.tsv.gz")
    with pytest.raises(TableError, match=r"did you mean 'info.tsv.gz'\?$"):
        read_table(tmp_path / "inf.csv")


def test_a_folder_is_not_a_table(tmp_path):
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path)


@pytest.mark.parametrize("header", ["y,b,y", "y, y,b", "y,b,y ", "b,b,y,y"])
def test_names_that_occur_twice_are_refused_before_a_reader_renames_them(tmp_path, header):
    """pandas would call the second one y.1, and the label would be among the covariates."""
    path = written(tmp_path, f"{header}\n1,2,3,4\n"[: len(header) + 8])
    with pytest.raises(TableError, match="two columns are named 'y'; rename one"):
        read_table(path)


def test_all_names_that_occur_twice_are_named(tmp_path):
    with pytest.raises(TableError, match=r"2 problems:\n- two .* 'a'.*\n- two .* 'b'"):
        read_table(written(tmp_path, "a,b,a,b\n1,2,3,4\n"))


def test_names_that_occur_twice_in_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    columns = [pa.array([1, 2]), pa.array([3, 4])]
    pq.write_table(pa.table(columns, names=["y", "y "]), tmp_path / "t.parquet")
    with pytest.raises(TableError, match="two columns are named 'y'"):
        read_table(tmp_path / "t.parquet")


def test_a_hundred_thousand_columns(tmp_path):
    """A check of every pair of names would not end."""
    n = 100_000
    names = ",".join(f"c{k}" for k in range(n))
    path = written(tmp_path, f"{names}\n" + ",".join("1" * n) + "\n")
    assert read_table(path).shape == (1, n)


class TestChunks:
    @pytest.mark.parametrize("name", ["a.csv", "a.tsv.gz", "a.parquet"])
    def test_the_parts_make_the_whole(self, tmp_path, name):
        table = pd.DataFrame({"x": np.arange(25), "y": ["a", "b", "c", "d", "e"] * 5, "z": 1.5})
        write_table(table, tmp_path / name)
        parts = list(read_chunks(tmp_path / name, lambda names: ["x", "y"], 10))
        assert [len(part) for part in parts] == [10, 10, 5]
        whole = pd.concat(parts)
        assert list(whole.columns) == ["x", "y"]
        assert whole["x"].astype(int).tolist() == list(range(25))

    def test_memory_does_not_grow_with_the_rows(self, tmp_path):
        """What is read of a long file is not kept."""
        path = tmp_path / "long.csv"
        with open(path, "w") as file:
            file.write("x,y\n")
            for k in range(200_000):
                file.write(f"{k}.123456789,label\n")
        import tracemalloc

        tracemalloc.start()
        peaks = []
        for part in read_chunks(path, all_columns, 1000):
            assert len(part) == 1000
            peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert peaks[-1] < 1.5 * peaks[9] + 2**20


class TestMemory:
    def test_a_table_that_cannot_fit_is_refused(self, tmp_path, monkeypatch):
        write_table(pd.DataFrame({"x": np.zeros(100_000), "y": 1}), tmp_path / "t.parquet")
        monkeypatch.setenv("PASB_MEMORY", "0.001")
        with pytest.raises(TableError, match=r"100,000 rows and 2 columns.*PASB_MEMORY"):
            read_table(tmp_path / "t.parquet")
        rows = sum(len(part) for part in read_chunks(tmp_path / "t.parquet", all_columns, 1000))
        assert rows == 100_000

    @pytest.mark.skipif(sys.platform != "linux", reason="needs limits of the address space")
    def test_a_limit_of_the_process_gives_an_error(self, tmp_path):
        """pyarrow's threads wait for ever in such a process; pasb reads without them."""
        rng = np.random.default_rng(0)
        table = pd.DataFrame({f"x{k}": rng.normal(size=1_000_000) for k in range(10)})
        table.to_parquet(tmp_path / "t.parquet")
        code = f"""
            import resource
            from pathlib import Path
            import pandas, pyarrow.parquet
            from pasb.covariates import free_memory, table_reading
            table_reading.memory_limit = lambda: 2**50  # as if nothing were known of the limit
            used = int(Path("/proc/self/statm").read_text().split()[0]) * 4096
            resource.setrlimit(resource.RLIMIT_AS, (used + 60 * 2**20,) * 2)
            try:
                table_reading.read_table(Path({str(tmp_path / "t.parquet")!r}))
            except table_reading.TableError as error:
                print(error)
        """
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert "does not fit into memory" in done.stdout, done.stderr


class TestBeside:
    def test_results_and_errors_come_back(self):
        assert beside(lambda: 3) == 3
        with pytest.raises(KeyError, match="lost"):
            beside(lambda: {}["lost"])

    @pytest.mark.skipif(sys.platform == "win32", reason="signals")
    def test_signals_are_answered_meanwhile(self):
        """As SIGTERM is, while a long file is read."""
        done = threading.Event()
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGTERM))
        timer.start()
        try:
            with pytest.raises(KeyboardInterrupt):
                beside(lambda: done.wait(60))
        finally:
            done.set()
            timer.join()
            signal.signal(signal.SIGTERM, before)

    def test_parquet_is_read_in_another_thread(self, tmp_path, monkeypatch):
        write_table(pd.DataFrame({"x": [1]}), tmp_path / "t.parquet")
        seen = []

        def watched(work):
            seen.append(work)
            return work()

        monkeypatch.setattr(table_reading, "beside", watched)
        read_table(tmp_path / "t.parquet")
        list(read_chunks(tmp_path / "t.parquet", all_columns, 10))
        assert len(seen) >= 4


def test_parquet_without_pyarrow_says_how_to_get_it(tmp_path, monkeypatch):
    path = written(tmp_path, "x", "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(TableError, match=r"pip install 'pasb\[files\]'"):
        read_table(path)
    with pytest.raises(TableError, match=r"pip install 'pasb\[files\]'"):
        write_table(pd.DataFrame({"x": [1]}), path)


def test_gzip_that_ends_early(tmp_path):
    whole = gzip.compress(b"x,y\n" + b"1,2\n" * 10_000)
    path = written(tmp_path, whole[: len(whole) // 2], "t.csv.gz")
    with pytest.raises(TableError, match="cannot be read"):
        read_table(path)
