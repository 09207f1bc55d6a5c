"""The wheel and the source distribution: built, and looked into as an index would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path

import pytest
from packaging.metadata import Metadata

import pasb

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
BUILD = """
import os, sys
from hatchling import build
os.chdir(sys.argv[1])
print(build.build_wheel(sys.argv[2]), build.build_sdist(sys.argv[2]))
"""


def build(out, address=None):
    """Run the build backend."""
    pytest.importorskip("hatchling", reason="the build backend comes with pip install '.[dev]'")
    around = {name: value for name, value in os.environ.items() if name != "PASB_ADDRESS"}
    return subprocess.run(
        [sys.executable, "-c", BUILD, str(ROOT), str(out)],
        capture_output=True,
        text=True,
        check=False,
        env=around if address is None else around | {"PASB_ADDRESS": address},
    )


def paths_of(done, out):
    assert done.returncode == 0, done.stderr
    return [out / name for name in done.stdout.split()[-2:]]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Paths of the wheel and the source distribution."""
    out = tmp_path_factory.mktemp("dist")
    return paths_of(build(out), out)


@pytest.fixture(scope="module")
def wheel(built):
    with zipfile.ZipFile(built[0]) as archive:
        yield archive


@pytest.fixture(scope="module")
def sources(built):
    with tarfile.open(built[1]) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
        info = archive.extractfile(f"pasb-{pasb.__version__}/PKG-INFO").read().decode()
    return names, info


@pytest.fixture(scope="module")
def described(wheel):
    """The text that an index reads."""
    return metadata_of(wheel)


def metadata_of(wheel):
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return wheel.read(name).decode("utf-8")


def tracked():
    done = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip("no git repository to compare with")
    return [name for name in done.stdout.splitlines() if (ROOT / name).is_file()]


class TestWheel:
    def test_holds_the_package_and_nothing_else(self, wheel):
        names = [name for name in wheel.namelist() if ".dist-info/" not in name]
        ours = [name.removeprefix("src/") for name in tracked() if name.startswith("src/pasb/")]
        assert sorted(names) == sorted(ours)

    def test_is_pure_and_typed(self, built, wheel):
        assert built[0].name == f"pasb-{pasb.__version__}-py3-none-any.whl"
        assert "pasb/py.typed" in wheel.namelist()

    def test_has_command_and_licence(self, wheel):
        info = f"pasb-{pasb.__version__}.dist-info"
        assert "pasb = pasb.cli:main" in wheel.read(f"{info}/entry_points.txt").decode()
        assert wheel.read(f"{info}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()


class TestSources:
    def test_hold_what_tests_need(self, sources):
        names, _ = sources
        for name in ("README.md", "Makefile", "pyproject.toml", "hatch_build.py", "LICENSE"):
            assert name in names
        assert {name.split("/")[0] for name in names} >= {"src", "tests", "docs", "benchmarks"}

    def test_hold_no_rubbish(self, sources):
        names, _ = sources
        assert not [
            n for n in names if re.search(r"__pycache__|\.nb[ic]$|\.venv|^reproduction/data/", n)
        ]
        ours = {name for name in tracked() if not name.startswith("reproduction/data/")}
        assert set(names) - {"PKG-INFO"} <= ours | {os.path.dirname(name) for name in ours}

    def test_say_of_themselves_what_the_wheel_does(self, sources, described):
        assert sources[1] == described


class TestDescription:
    def test_is_valid(self, described):
        """What ``twine check`` looks at: fields, classifiers' form, the kind of description."""
        read = Metadata.from_email(described, validate=True)
        assert read.name == "pasb"
        assert str(read.version) == pasb.__version__
        assert read.description_content_type == "text/markdown"
        assert read.license_expression == "BSD-3-Clause"
        assert str(read.requires_python) == PROJECT["requires-python"]

    def test_is_complete(self, described):
        headers = message_from_string(described)
        assert headers["Summary"] == PROJECT["description"]
        assert headers["Keywords"]
        found = headers.get_all("Classifier")
        assert "Typing :: Typed" in found
        minor = [c.rpartition(".")[2] for c in found if re.search(r":: 3\.\d+$", c)]
        assert minor == ["11", "12", "13"]
        assert {"plots", "files", "cuda"} <= set(headers.get_all("Provides-Extra"))

    def test_links_work_where_there_is_no_repository(self, described):
        """An index has no files beside the text: every link needs an address of its own."""
        text = described.partition("\n\n")[2]
        assert "# pasb" in text
        assert "StickLogisticClassifier" in text
        for target in re.findall(r"\]\(([^)]*)\)", text):
            assert re.match(r"https?://", target), target

    def test_no_address_is_made_up(self, described):
        """There is no public one yet; when there is, it belongs here."""
        assert message_from_string(described).get_all("Project-URL") is None
        assert "urls" not in PROJECT


class TestReleases:
    """Built with PASB_ADDRESS, as CONTRIBUTING.md says; here one that is reserved for examples."""

    ADDRESS = "https://example.org/people/pasb"

    @pytest.fixture(scope="class")
    def released(self, tmp_path_factory):
        out = tmp_path_factory.mktemp("release")
        with zipfile.ZipFile(paths_of(build(out, self.ADDRESS + "/"), out)[0]) as archive:
            return metadata_of(archive)

    def test_have_links(self, released):
        Metadata.from_email(released, validate=True)
        found = message_from_string(released).get_all("Project-URL")
        links = dict(line.split(", ") for line in found)
        assert links.keys() == {"Source", "Documentation", "Changelog", "Issues"}
        assert links["Source"] == self.ADDRESS
        assert all(link.startswith(self.ADDRESS) for link in links.values())

    def test_lead_from_the_readme_to_files_that_are_there(self, released):
        text = released.partition("\n\n")[2]
        targets = re.findall(r"\]\(([^)]*)\)", text)
        ours = [target for target in targets if target.startswith(self.ADDRESS)]
        assert len(ours) > 5
        assert all(target.startswith("https://") for target in targets)
        for target in ours:
            where = target.removeprefix(self.ADDRESS)
            found = re.fullmatch(r"/(blob|raw)/HEAD/([^#]+)(#.*)?", where)
            assert where.startswith("#") or (ROOT / found[2]).exists(), target
        pictures = re.findall(r"!\[[^\]]*\]\(([^)]*)\)", text)
        assert pictures
        assert all(target.startswith(f"{self.ADDRESS}/raw/HEAD/") for target in pictures)

    @pytest.mark.parametrize("address", ["example.org/pasb", "https://example.org", "http://a.b/c"])
    def test_refuse_what_is_no_address(self, tmp_path, address):
        done = build(tmp_path, address)
        assert done.returncode != 0
        assert "PASB_ADDRESS must be the https address of the repository" in done.stderr
        assert not list(tmp_path.iterdir())
