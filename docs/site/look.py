"""Open the pages of the built site in Chromium: ``python docs/site/look.py [--shots FOLDER]``.

Every page is opened at 400 and 1600 pixels, light and dark, and must have no warning or error in
the console, nothing fetched from elsewhere, all formulas set, no scrolling sideways and nothing
that axe calls serious. Then a word is searched for.
It takes about a second a page and view; ``--only`` chooses pages by a part of their address.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import shutil
import sys
import threading
from pathlib import Path

HTML = Path(__file__).parents[1] / "_build" / "html"
NAMES = ("chromium", "chromium-browser", "google-chrome")
VIEWS = [(width, scheme) for scheme in ("light", "dark") for width in (1600, 400)]
ONLY_VIOLATIONS = {"resultTypes": ["violations"]}  # the places of what is right take long
SERIOUS = ("serious", "critical")


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, format: str, *args: object) -> None:  # the name is the base class's
        """Say nothing."""


def chromium() -> str | None:
    """Where a Chromium is, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def findings(folder: Path, shots: Path | None = None, only: str = "") -> list[str]:
    """What is wrong with the pages, one line each."""
    from playwright.sync_api import sync_playwright

    pages = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.html"))
    pages = [name for name in pages if only in name and not name.startswith("_")]
    handler = functools.partial(Quiet, directory=str(folder))
    found: list[str] = []
    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server,
        sync_playwright() as tool,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        home = f"http://127.0.0.1:{server.server_address[1]}/"
        browser = tool.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        for width, scheme in VIEWS:
            context = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=scheme
            )
            # there is no network: what a page asks for elsewhere is an error in its console
            context.route(lambda url: not url.startswith(home), lambda route: route.abort())
            for name in pages:
                for line in _page(context, home, name):
                    found.append(f"{name}, {width}, {scheme}: {line}")
                    print(found[-1], flush=True)
                if shots is not None:
                    _shoot(
                        context.pages[-1], shots / f"{name.replace('/', '-')}-{width}-{scheme}.png"
                    )
                context.pages[-1].close()
            context.close()
        found += _search(browser, home)
        browser.close()
        server.shutdown()
    return found


def _page(context, home: str, name: str) -> list[str]:
    from axe_core_python.sync_playwright import Axe

    page, messages = context.new_page(), []
    page.on("console", lambda message: messages.append((message.type, message.text)))
    page.on("pageerror", lambda error: messages.append(("error", str(error))))
    page.goto(home + name, wait_until="load")
    lines = [
        f"{kind}: {text}"
        for kind, text in messages  # the theme logs what it does
        if kind in ("warning", "error")
    ]
    lines += _formulas(page)
    wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    if wide > 0:
        lines.append(f"scrolls sideways by {wide} pixels")
    for violation in Axe().run(page, options=ONLY_VIOLATIONS)["violations"]:
        if violation["impact"] in SERIOUS:
            nodes = violation["nodes"]
            lines.append(f"axe {violation['id']}, {len(nodes)} times: {nodes[0]['html'][:160]}")
    return lines


def _formulas(page) -> list[str]:
    """Formulas that were not set, or not understood."""
    written = page.locator(".math").count()
    if written:
        page.evaluate("() => window.MathJax && MathJax.startup && MathJax.startup.promise")
    done = page.locator(".math mjx-container").count()
    wrong = page.locator("mjx-merror").count()
    return [] if done == written and not wrong else [f"{done} of {written} formulas, {wrong} wrong"]


def _shoot(page, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=path)


def _search(browser, home: str) -> list[str]:
    """The search page finds what is on the site."""
    page = browser.new_page()
    page.goto(home + "search.html?q=diversion")
    page.wait_for_selector("#search-results li a", timeout=20_000)
    links = page.eval_on_selector_all("#search-results li a", "all => all.map(a => a.href)")
    page.close()
    return [] if any("diversion" in link for link in links) else [f"search found {links}"]


def main() -> int:
    """Look at the site that was built."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shots", type=Path, help="folder for pictures of the pages")
    parser.add_argument("--only", default="", help="pages whose address contains this")
    given = parser.parse_args()
    found = findings(HTML, given.shots, given.only)
    print(f"{len(found)} findings.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
