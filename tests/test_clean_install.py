"""The documented installation on every Python that is supported, from a wheel and nothing else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
VERSIONS = [
    match.group(1)
    for text in PROJECT["classifiers"]
    if (match := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", text))
]


def interpreter(version: str) -> str | None:
    """A Python of this version that runs, on the path or among those of pyenv."""
    kept = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for found in (shutil.which(f"python{version}"), *map(str, kept)):
        if found is None:
            continue
        asked = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
        done = subprocess.run([found, "-c", asked], capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout.strip() == version:
            return found
    return None


def block_about_arviz() -> tuple[str, str]:
    """What the guide says to install, and the lines behind it."""
    guide = (ROOT / "docs" / "guide.md").read_text("utf-8")
    asked = re.search(r"`pip install '(arviz-stats[^']*)'`", guide).group(1)
    return asked, re.search(r"```python\n(import arviz_stats\n.*?)```", guide, re.DOTALL).group(1)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The package as it would be published."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder]
    done = subprocess.run([*build, ROOT], capture_output=True, text=True, check=False)
    skip_where_packages_cannot_be_had(done)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("pasb-*.whl")
    return built


def skip_where_packages_cannot_be_had(done: subprocess.CompletedProcess[str]) -> None:
    if "No matching distribution" in done.stderr or "connection" in done.stderr.lower():
        pytest.skip(f"the packages cannot be had here: {done.stderr.strip().splitlines()[-1]}")


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_the_guide_works_after_the_documented_installation(version, wheel, tmp_path):
    python = interpreter(version)
    if python is None:
        pytest.skip(f"this machine has no Python {version}")
    asked, lines = block_about_arviz()
    subprocess.run([python, "-m", "venv", tmp_path / "clean"], check=True)
    inside = tmp_path / "clean" / ("Scripts" if os.name == "nt" else "bin") / "python"
    install = [inside, "-m", "pip", "install", "--quiet"]
    done = subprocess.run([*install, wheel, asked], capture_output=True, text=True, check=False)
    skip_where_packages_cannot_be_had(done)
    assert done.returncode == 0, done.stderr
    script = (
        "from sklearn.datasets import load_iris\n"
        "from pasb import StickLogisticClassifier\n"
        "X, y = load_iris(return_X_y=True, as_frame=True)\n"
        "model = StickLogisticClassifier(n_warmup=50, n_draws=50, random_state=1).fit(X, y)\n"
        f"{lines}"
        "print(arviz_stats.summary(model.posterior_).shape)\n"
    )
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "NUMBA_CACHE_DIR")}
    done = subprocess.run(
        [inside, "-W", "ignore", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=kept,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"\(\d+, \d+\)", done.stdout)


def test_this_python_is_supported():
    assert f"{sys.version_info.major}.{sys.version_info.minor}" in VERSIONS
