"""The report in Chromium: no messages, no scrolling sideways, nothing that axe calls serious.

`make test` installs Chromium where it can. Without one these tests are skipped.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="pip install '.[dev]'")
axe = pytest.importorskip("axe_core_python.sync_playwright", reason="pip install '.[dev]'")

EVERYWHERE = pytest.mark.parametrize(
    ("width", "scheme"), [(width, scheme) for width in (400, 1600) for scheme in ("light", "dark")]
)
# a fourth of the time: of what is right, not every place is described
ONLY_VIOLATIONS = {"resultTypes": ["violations"]}
NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser():
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    with playwright.sync_playwright() as tool:
        own = Path(tool.chromium.executable_path)
        if found is None and not own.exists():
            pytest.skip("no Chromium: apt-get install chromium, or playwright install chromium")
        launched = tool.chromium.launch(
            executable_path=None if found is None else found, args=["--no-sandbox"]
        )
        yield launched
        launched.close()


@pytest.fixture(scope="module", params=["report", "hostile", "letters"])
def path(request, tmp_path_factory):
    file = tmp_path_factory.mktemp("pages") / f"{request.param}.html"
    request.getfixturevalue(request.param).write_html(file)
    return file


@EVERYWHERE
def test_accessible(browser, path, width, scheme):
    # axe is a script, which the page's own policy refuses
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
    )
    page = context.new_page()
    page.goto(path.as_uri())
    for summary in page.query_selector_all("summary"):
        summary.click()
    found = axe.Axe().run(page, options=ONLY_VIOLATIONS)["violations"]
    serious = [v for v in found if v["impact"] in ("serious", "critical")]
    assert not serious, [(v["id"], v["nodes"][0]["html"]) for v in serious]
    context.close()


@EVERYWHERE
def test_no_message_under_its_own_policy(browser, path, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page, messages = context.new_page(), []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("dialog", lambda dialog: messages.append(dialog.message))
    page.on("requestfailed", lambda request: messages.append(request.url))
    page.goto(path.as_uri())
    for summary in page.query_selector_all("summary"):
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert not messages
    context.close()


def test_keyboard_reaches_everything(browser, path):
    page = browser.new_page()
    page.goto(path.as_uri())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    for _ in range(4):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") != "BODY"
    page.close()


def test_prints(browser, path):
    page = browser.new_page()
    page.goto(path.as_uri())
    assert page.pdf(format="A4")[:4] == b"%PDF"
    page.close()


@pytest.mark.parametrize("link", ["nav a[href='#order']", "a.skip"])
def test_links_stay_in_the_frame_of_a_notebook(browser, report, tmp_path, link):
    around = tmp_path / "notebook.html"
    around.write_text(f"<!doctype html><title>Around</title>{report._repr_html_()}", "utf-8")
    page = browser.new_page()
    page.goto(around.as_uri())
    frame = page.query_selector("iframe").content_frame()
    frame.focus(link)
    page.keyboard.press("Enter")
    target = frame.get_attribute(link, "href")
    frame.wait_for_selector(f"{target}:target")
    assert frame.url == f"about:srcdoc{target}"
    assert frame.evaluate(f"document.querySelector('{target}').getBoundingClientRect().top") < 640
    page.close()
