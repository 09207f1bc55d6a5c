"""Build the website: ``python docs/site/build.py`` writes docs/_build/html.

Sources come from three places: the pages of docs/, which read well on their own, those of
docs/site/, and the gallery. They are put together in docs/_build/source, with links between them
set right. Python in the first fit and the how-to pages is run, and the built pages show what it
says; so are the guides, with short fits, and the examples of docstrings. Warnings are errors.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import zlib
from pathlib import Path
from urllib.parse import unquote

import long_pages
from doctests import failures, modules_with_examples
from page_outputs import with_outputs
from reference import write_reference

SITE = Path(__file__).parent
DOCS = SITE.parent
ROOT = DOCS.parent
BUILD = DOCS / "_build"
SOURCE = BUILD / "source"

# pages of the root that belong to the site, by the name they have there
FROM_ROOT = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "src/pasb/datasets/README.md": "data_sets.md",
}
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def main() -> int:
    """Put the sources together and build."""
    os.environ.setdefault("MPLBACKEND", "Agg")  # no windows
    for folder in (SOURCE, BUILD / "html"):  # pages that are gone must not stay
        shutil.rmtree(folder, ignore_errors=True)
    assemble(SOURCE)
    copy_mathjax(SOURCE / "static" / "mathjax")
    for page in sorted([SOURCE / "first_fit.md", *(SOURCE / "howto").glob("*.md")]):
        page.write_text(with_outputs(page.read_text("utf-8"), str(page)), "utf-8")
    for name in long_pages.PAGES:
        long_pages.run((DOCS / name).read_text("utf-8"), name)
    wrong = failures(modules_with_examples())
    for text in wrong:
        print(text, file=sys.stderr)
    if wrong:
        return 1
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    done = subprocess.run([*command, str(SOURCE), str(BUILD / "html")], check=False)
    if done.returncode == 0:
        missing, elsewhere = dead_links(BUILD / "html")
        for line in missing:
            print(f"dead link: {line}", file=sys.stderr)
        if missing:
            return 1
        print(
            f"Links within the site lead somewhere; {elsewhere} to other sites were not followed."
        )
        print(f"The site is in {BUILD / 'html' / 'index.html'}")
    return done.returncode


def assemble(source: Path) -> None:
    """Copy all pages into one folder."""
    shutil.copytree(SITE, source, ignore=shutil.ignore_patterns("__pycache__", "build.py"))
    pages = {path: path.name for path in DOCS.glob("*.md")}
    pages |= {ROOT / name: new for name, new in FROM_ROOT.items()}
    for path, new in pages.items():
        text = path.read_text("utf-8")
        (source / new).write_text(relinked(text, path, pages), "utf-8")
    for folder in ("images", "paper", "calibration"):
        shutil.copytree(DOCS / folder, source / folder)
    shutil.copytree(ROOT / "examples" / "gallery", source / "examples_gallery")
    write_reference(source / "reference")
    write_inventories(source)


def copy_mathjax(folder: Path) -> None:
    """MathJax and its fonts out of a package of the registry, so that formulas need no network."""
    found = importlib.util.find_spec("sphinx-mathjax-offline")
    if found is None or found.origin is None:
        raise SystemExit("sphinx-mathjax-offline is missing: pip install -e '.[docs]'")
    package = Path(found.origin).parent / "static" / "mathjax"
    for name in ("tex-chtml.js", "output/chtml/fonts"):
        there = folder / name
        there.parent.mkdir(parents=True, exist_ok=True)
        if (package / name).is_dir():
            shutil.copytree(package / name, there)
        else:
            shutil.copy(package / name, there)


def relinked(text: str, path: Path, pages: dict[Path, str]) -> str:
    """Links to other pages lead to their places on the site; those to files become plain code."""
    known = {page.resolve(): new for page, new in pages.items()}

    def one(found: re.Match) -> str:
        words, target = found.groups()
        if re.match(r"https?:|mailto:|#", target):
            return found.group(0)
        name, _, anchor = target.partition("#")
        there = (path.parent / name).resolve()
        if there in known:
            return f"[{words}]({known[there]}{'#' + anchor if anchor else ''})"
        if there.is_relative_to(DOCS / "paper") or there.is_relative_to(DOCS / "calibration"):
            return found.group(0)
        return f"{words} (`{there.relative_to(ROOT)}`)" if there.exists() else words

    return LINK.sub(one, text)


def write_inventories(source: Path) -> None:
    """Small inventories of other sites, so that links to them need no network."""
    lines: dict[str, list[str]] = {}
    for line in (SITE / "inventories.txt").read_text("utf-8").splitlines():
        site, name, kind, address = line.split()
        lines.setdefault(site, []).append(f"{name} py:{kind} 1 {address} -")
    (source / "inventories").mkdir()
    for site, entries in lines.items():
        head = f"# Sphinx inventory version 2\n# Project: {site}\n# Version: \n"
        head += "# The remainder of this file is compressed using zlib.\n"
        body = zlib.compress("\n".join([*entries, ""]).encode("utf-8"))
        (source / "inventories" / f"{site}.inv").write_bytes(head.encode("utf-8") + body)


# what a page shows or runs, and what it leads to
SHOWN = re.compile(
    r'<(?:img|script|source|iframe)\s[^>]*?src="([^"]+)"|<link\s[^>]*?href="([^"]+)"'
)
LED_TO = re.compile(r'<a\s[^>]*?href="([^"]+)"')


def dead_links(folder: Path) -> tuple[list[str], int]:
    """Links, pictures and scripts that lead nowhere, and the number of addresses elsewhere.

    Anchors count too. What a page shows or runs must be of the site: it works without a network.
    """
    ids: dict[Path, set[str]] = {}
    dead, elsewhere = [], set()

    def anchors(path: Path) -> set[str]:
        if path not in ids:
            ids[path] = set(re.findall(r'\bid="([^"]+)"', path.read_text("utf-8")))
        return ids[path]

    for page in sorted(folder.rglob("*.html")):
        if page.is_relative_to(folder / "_static"):  # templates of the theme
            continue
        text = page.read_text("utf-8")
        shown = {one or two for one, two in SHOWN.findall(text)}
        for target in shown | set(LED_TO.findall(text)):
            if re.match(r"[a-z]+:|//", target):
                if target in shown and not target.startswith("data:"):
                    dead.append(f"{page.relative_to(folder)} -> {target}")
                elsewhere.add(target)
                continue
            name, _, anchor = target.partition("#")
            name = unquote(name.partition("?")[0])
            there = (page.parent / name).resolve() if name else page.resolve()
            if there.is_dir():
                there /= "index.html"
            lost = not there.exists()
            if lost or (anchor and there.suffix == ".html" and anchor not in anchors(there)):
                dead.append(f"{page.relative_to(folder)} -> {target}")
    return dead, len({target for target in elsewhere if target.startswith("http")})


if __name__ == "__main__":
    sys.exit(main())
