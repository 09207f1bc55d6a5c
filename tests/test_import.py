"""What importing the package gives, and what it loads."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest
from sklearn.exceptions import ConvergenceWarning

import pasb


class TestImport:
    def test_is_light(self):
        script = (
            "import sys, pasb; "
            "print([m for m in ('sklearn', 'numba', 'scipy', 'pandas') if m in sys.modules])"
        )
        out = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        )
        assert out.stdout.strip() == "[]"

    @pytest.mark.parametrize("name", sorted(pasb.__all__))
    def test_every_public_name_is_there(self, name):
        assert getattr(pasb, name) is not None
        assert name in dir(pasb)

    def test_unknown_names(self):
        with pytest.raises(AttributeError, match="no attribute 'nothing'"):
            _ = pasb.nothing
        assert "__version__" in dir(pasb)


def test_the_warning_is_scikit_learns_too():
    assert issubclass(pasb.ConvergenceWarning, ConvergenceWarning)
    assert pasb.errors.ConvergenceWarning is pasb.ConvergenceWarning
    assert pickle.loads(pickle.dumps(pasb.ConvergenceWarning)) is pasb.ConvergenceWarning
    with pytest.raises(AttributeError, match="no attribute 'Warning'"):
        pasb.errors.Warning  # noqa: B018


def test_importing_pasb_imports_nothing_large():
    code = "import sys, pasb, pasb.errors; print({'sklearn', 'numpy', 'numba'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
