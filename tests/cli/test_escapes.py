"""Control characters in labels, names and cells do not reach the terminal."""

from __future__ import annotations

from tests.cli.commands import FEW, pasb_run


def test_labels_and_names_do_not_reach_the_terminal(tmp_path):
    evil = "\x1b]0;owned\x07\x1b[2J"
    rows = "".join(f"{k % 7},{k % 3}{evil},{'ab'[k % 2]}{evil}\n" for k in range(60))
    (tmp_path / "t.csv").write_text(f"size{evil},level,y\u202e\n" + rows)
    arguments = ["fit", tmp_path / "t.csv", "--target", "y\u202e", "--out", tmp_path / "m.pasb"]
    result = pasb_run(*arguments, *FEW)
    assert result.exit_code == 0, result.output
    printed = [result.output]
    printed.append(pasb_run("summary", tmp_path / "m.pasb").output)
    printed.append(pasb_run("summary", tmp_path / "m.pasb", "--json").output)
    printed.append(pasb_run("predict", tmp_path / "m.pasb", tmp_path / "t.csv").output)
    (tmp_path / "n.csv").write_text("a\x1b[2J,b\n1,2\n")
    printed.append(pasb_run("predict", tmp_path / "m.pasb", tmp_path / "n.csv").output)
    for text in printed:
        assert not set(text) & set("\x1b\x07\u202e"), text
    assert "\\x1b" in printed[0]


def test_labels_that_differ_look_different(tmp_path):
    """Rich drops the bell and its like, and both classes were called a."""
    rows = "".join(f"{k % 7},a{['', chr(7)][k % 2]}\n" for k in range(60))
    (tmp_path / "t.csv").write_text(f"size{chr(8)},y\n" + rows)
    model = tmp_path / "m.pasb"
    result = pasb_run("fit", tmp_path / "t.csv", "--target", "y", "--out", model, *FEW)
    predicted = pasb_run("predict", model, tmp_path / "t.csv")
    assert "a (30), a\\x07 (30)" in result.output
    assert "size\\x08" in result.output
    assert "a\\x07" in predicted.output
    assert not set(result.output + predicted.output) & set("\x07\x08")


def test_messages(tmp_path):
    result = pasb_run("fit", tmp_path / "no\x1b[2J.csv", "--target", "y", "--out", "m.pasb")
    assert "\x1b" not in result.output
    assert "no such file" in result.stderr
