"""``pasb fit`` with --until and --max-seconds, and what is printed of how good the draws are."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import pasb
from pasb.classifiers.stick_classifier import StickClassifier
from pasb.cli import app

FEW = ["--chains", "2", "--warmup", "30", "--seed", "1", "--jobs", "1", "--no-progress"]


@pytest.fixture
def fit(tmp_path):
    """Run ``pasb fit`` on a small table; the result and the path of the model."""
    path, out = tmp_path / "t.csv", tmp_path / "m.pasb"
    lines = (f"{k % 7},{k % 5},{'ab'[(k % 7 + k % 3) > 4]}" for k in range(60))
    path.write_text("\n".join(["size,age,y", *lines]))

    def run(*options):
        arguments = ["fit", path, "--target", "y", "--out", out, *FEW, *options]
        return CliRunner().invoke(app, [str(argument) for argument in arguments]), out

    return run


@pytest.fixture
def slow(monkeypatch):
    """The clock advances by a second whenever it is looked at."""
    now = [0.0]

    def tick():
        now[0] += 1
        return now[0]

    monkeypatch.setattr(StickClassifier, "_clock", staticmethod(tick))


def flat(text):
    return " ".join(text.split())


def test_until(fit):
    done, out = fit("--draws", "5000", "--until", "rhat=1.05, ess=150")
    assert done.exit_code == 0, done.output
    model = pasb.load(out)
    assert model.until == {"rhat": 1.05, "ess": 150}
    assert model.draws_.ended == "until"
    assert model.diagnostics_.worst_ess >= 150
    assert "error of probabilities, 95 % of rows" in flat(done.output)
    assert "Note:" not in done.output


def test_limits_of_the_user_are_those_of_the_report(fit):
    done, _ = fit("--draws", "120", "--until", "ess=5000")
    assert done.exit_code == 0, done.output
    assert "should be above 5000" in flat(done.output)
    assert "Note: The draws are not good enough yet" in flat(done.output)
    assert "n_draws" not in done.output


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("400", "'400' is no limit"),
        ("ess:400", "'ess:400' is no limit"),
        ("ess=many", "'ess=many' is no limit"),
        ("", "names no limit"),
        ("r_hat=1.01", "--until has no key 'r_hat'"),
        ("rhat=1", "--until rhat must be a number between 1 and 2"),
        ("ess=-4", "--until ess must be a number of draws"),
    ],
)
def test_bad_limits(fit, text, part):
    done, out = fit("--until", text)
    assert done.exit_code == 2
    assert part in done.stderr
    assert 'write for instance --until "rhat=1.01,ess=400"' in done.stderr
    assert not out.exists()


@pytest.mark.usefixtures("slow")
class TestMaxSeconds:
    def test_keeps_what_was_drawn(self, fit):
        done, out = fit("--draws", "100000", "--max-seconds", "200")
        assert done.exit_code == 0, done.output
        model = pasb.load(out)
        assert model.draws_.ended == "time"
        assert 10 <= model.draws_.n_draws < 100_000
        made = f"after {model.draws_.n_draws} of 100000 draws of each chain"
        assert f"Note: The time (--max-seconds) was spent {made}." in flat(done.output)
        again = CliRunner().invoke(app, ["summary", str(out)]).output
        assert made in flat(again)

    def test_too_short(self, fit, tmp_path):
        done, out = fit("--max-seconds", "20", "--checkpoint", tmp_path / "run")
        assert done.exit_code == 2
        assert done.stderr.startswith("Error: --max-seconds 20 is too short: it was spent after ")
        assert "set a smaller --warmup" in done.stderr
        assert f"continues from the checkpoint in '{tmp_path / 'run'}'" in done.stderr
        assert not out.exists()


class TestStoppedInTheWarmup:
    """Ctrl-C, SIGTERM and callbacks take one path."""

    def test_has_a_code_of_its_own(self, fit, monkeypatch):
        monkeypatch.setattr(StickClassifier, "_callbacks", lambda self: [lambda info: True])
        done, out = fit("--draws", "50")
        assert done.exit_code == 3
        assert done.stderr.startswith("Error: STOPPED IN THE WARM-UP, after 1 sweep:")
        assert "A run with --checkpoint can be continued" in flat(done.stderr)
        assert f"{out} is marked as not converged" in flat(done.stderr)
        assert "Coefficients" not in done.output
        with pytest.warns(pasb.ConvergenceWarning, match="m.pasb: STOPPED IN THE WARM-UP"):
            assert not pasb.load(out).converged_
        again = CliRunner().invoke(app, ["summary", str(out)]).output
        assert "STOPPED IN THE WARM-UP" in again

    def test_whoever_uses_it_is_told(self, fit, monkeypatch, tmp_path):
        monkeypatch.setattr(StickClassifier, "_callbacks", lambda self: [lambda info: True])
        _, out = fit("--draws", "50")
        table, told = str(tmp_path / "t.csv"), "Note: STOPPED IN THE WARM-UP, after 1 sweep"
        for options in ([], ["--out", str(tmp_path / "p.csv")], ["--best-draw"]):
            done = CliRunner().invoke(app, ["predict", str(out), table, *options])
            assert done.exit_code == 0, done.output
            assert flat(done.output).count(told) == 1
            assert "do not use its predictions" in flat(done.output)
        done = CliRunner().invoke(app, ["export", str(out), str(tmp_path / "draws.nc")])
        assert told in flat(done.output)
        done = CliRunner().invoke(app, ["summary", str(out), "--json"])
        assert json.loads(done.output)["convergence"]["ended"] == "warm-up"

    def test_beyond_it_the_draws_count(self, fit, monkeypatch):
        stop = [lambda info: info.sweep >= 40]
        monkeypatch.setattr(StickClassifier, "_callbacks", lambda self: stop)
        done, out = fit("--draws", "50")
        assert done.exit_code == 0
        assert "stopped after 10 of 50 draws" in flat(done.output)
        assert pasb.load(out).draws_.ended == "interrupted"


def test_no_time(fit):
    done, _ = fit("--max-seconds", "0")
    assert done.exit_code == 2
    assert "--max-seconds must be positive, not 0" in done.stderr
