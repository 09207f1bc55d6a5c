from __future__ import annotations

import dataclasses
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from pasb import datasets


def test_every_set_has_its_own_function_and_loads():
    for name in datasets.names():
        own = getattr(datasets, f"load_{name}", None) or getattr(datasets, f"make_{name}")
        np.testing.assert_array_equal(own().X, datasets.load(name).X)
    functions = {f for f in datasets.__all__ if f.startswith(("load_", "make_"))}
    assert len(functions) == len(datasets.names()) == 10


@pytest.mark.parametrize("name", datasets.names())
def test_every_set_says_what_it_is_and_what_to_cite(name):
    data = datasets.load(name)
    assert len(data.description) > 80
    assert len(data.citation) > 50
    assert str(len(data.y)) in data.description
    assert name in files("pasb.datasets").joinpath("README.md").read_text()
    assert repr(data).startswith(f"Dataset('{name}'")


def test_names_are_found_in_other_spellings():
    assert datasets.load(" Swiss Roll ").name == "swiss_roll"
    assert datasets.load("swiss-roll").name == "swiss_roll"
    assert datasets.load("IRIS").name == "iris"


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [("vehicles", "vehicle"), ("swissroll", "swiss_roll"), ("satimg", "satimage")],
)
def test_an_unknown_name_suggests_the_nearest(wrong, meant):
    with pytest.raises(ValueError, match=f"Did you mean '{meant}'") as caught:
        datasets.load(wrong)
    assert all(name in str(caught.value) for name in datasets.names())


def test_an_unknown_name_without_a_neighbour_lists_the_names():
    with pytest.raises(ValueError, match="Known names: square, iris") as caught:
        datasets.load("zzz")
    assert "Did you mean" not in str(caught.value)
    with pytest.raises(TypeError, match="must be a str"):
        datasets.load(3)


def test_a_dataset_is_frozen():
    iris = datasets.load_iris()
    with pytest.raises(dataclasses.FrozenInstanceError):
        iris.name = "other"


@pytest.mark.parametrize("name", ["wine", "satimage", "square"])
def test_frame(name):
    data = datasets.load(name)
    frame = data.frame()
    assert frame.columns.to_list() == [*data.feature_names, "class"]
    np.testing.assert_array_equal(frame[data.feature_names].to_numpy(), data.X)
    assert frame["class"].to_list() == data.y.tolist()
    frame.iloc[0, 0] = 1e9
    assert data.X[0, 0] != 1e9


def test_loading_needs_no_heavy_package_and_works_from_any_folder(tmp_path):
    code = (
        "import sys, numpy\n"
        "before = set(sys.modules)\n"
        "from pasb import datasets\n"
        "for name in datasets.names(): datasets.load(name).partition(scale='range')\n"
        "new = {m.split('.')[0] for m in set(sys.modules) - before}\n"
        "print(*sorted(new & {'pandas', 'sklearn', 'scipy', 'numba', 'socket', 'urllib3'}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def test_nothing_outside_the_package_is_read():
    folder = Path(str(files("pasb.datasets")))
    for source in [*folder.glob("*.py"), folder / "README.md"]:
        text = source.read_text()
        assert "shared" not in text
        assert "http" not in text
