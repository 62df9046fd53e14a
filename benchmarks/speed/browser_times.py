"""Visits Compare with Chromium: `python -m benchmarks.speed.browser_times RUNS`, with BENCHSITE_VAR set.

It serves the generated results of that folder and prints its times as one line of JSON.
"""

import json
import os
import sys
from typing import Any, Final

from django.conf import settings
from django.db import connections

from benchmarks.speed.page_times import Pages, filled
from benchsite.core.paths import places
from benchsite.local.components import HOST, web
from benchsite.local.embedded import EmbeddedServers
from benchsite.local.preparation import collect_static
from reports.compare.selection import Selection
from runs.models import Sweep
from workers.provision.ports import free_port

CHROMIUM: Final = os.environ.get("BENCHSITE_CHROMIUM", "/usr/bin/chromium")
ROUNDS: Final = 5
SLOWED: Final = 4  # by the DevTools protocol
SETTLED_MS: Final = 1500  # without a change of the drawn figures
# Notes when the first figure is shown (image or plot), when the last one changed, and every task above 50 ms.
OBSERVER: Final = """
window.measured = { first: 0, last: 0, long: 0 };
window.painted = (note) => requestAnimationFrame(() => setTimeout(() => note(performance.now())));
new PerformanceObserver((list) => list.getEntries().forEach((task) => (measured.long += task.duration)))
  .observe({ type: "longtask", buffered: true });
document.addEventListener("load", ({ target }) => {
  if (target.matches?.(".figure__plot img")) painted((now) => ((measured.last = now), (measured.first ||= now)));
}, true);
new MutationObserver((changes) => {
  if (!changes.some(({ target }) => target.closest?.(".figure__plot"))) return;
  if (!document.querySelector(".figure__plot img, .js-plotly-plot .trace, .js-plotly-plot .point")) return;
  painted((now) => ((measured.last = now), (measured.first ||= now)));
}).observe(document, { subtree: true, childList: true });
"""
SETTLED: Final = """async (still) => {
  while (!measured.last || performance.now() - measured.last < still) await new Promise((go) => setTimeout(go, 100));
  return { ...measured, nodes: document.querySelectorAll("*").length };
}"""
# The statistic stands in the address of the drawing, and in the title of the plot. The time begins with the key that
# changes the menu: what scripts do in an event of their own begins later than in one of the reader.
AWAIT: Final = """() => {
  const menu = document.querySelector("select[name=stat]");
  menu.focus({ preventScroll: true });
  window.changed = new Promise((done) => menu.addEventListener("change", ({ timeStamp }) =>
    new MutationObserver(() => {
      const image = document.querySelector(`.figure__plot > img[src*="stat=${menu.value}"]`);
      const titles = [...document.querySelectorAll(".js-plotly-plot .ytitle")].map((title) => title.textContent);
      if (image || titles.some((title) => title.includes(menu.value))) painted((now) => done(now - timeStamp));
    }).observe(document.body, { subtree: true, childList: true, characterData: true }), { once: true }));
}"""
# The figures take part once the pointer reaches one of them.
REACH: Final = """async () => {
  const begin = performance.now(), before = measured.long, ready = ".js-plotly-plot[role=application]";
  document.querySelector(".figure__plot").dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
  while (document.querySelectorAll(ready).length < 2) await new Promise((go) => setTimeout(go, 20));
  const interactive = performance.now() - begin;
  await new Promise((go) => setTimeout(go, 500));
  return { interactive, more: measured.long - before };
}"""


def measure_page(browser: Any, url: str, cookie: tuple[str, str]) -> dict[str, float]:
    """One visit of a new browser: times in ms since the address was opened, of the menu since its change.

    `menu` is the change of a drawing, `redrawn` that of a plot; `more` are the long tasks of making the figures plots.
    """
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.add_cookies([{"name": cookie[0], "value": cookie[1], "domain": HOST, "path": "/"}])
    page = context.new_page()
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWED})
    page.add_init_script(OBSERVER)
    page.goto(url, wait_until="load")
    figures = page.evaluate(SETTLED, SETTLED_MS)
    figures["menu"] = choose_next(page)
    figures |= page.evaluate(REACH)
    figures["redrawn"] = choose_next(page)
    context.close()
    return dict(figures)


def choose_next(page: Any) -> float:
    """The next statistic of the menu by a key; milliseconds until its drawing is painted."""
    page.evaluate(AWAIT)
    page.keyboard.press("ArrowUp")
    return float(page.evaluate("changed"))


def measure_pages(urls: dict[str, str], cookie: tuple[str, str]) -> dict[str, list[dict[str, float]]]:
    """Each address as often as `ROUNDS` says, in turn; a first visit, for the server's cache, does not count."""
    from playwright.sync_api import sync_playwright

    rounds: dict[str, list[dict[str, float]]] = {page: [] for page in urls}
    with sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        for number in range(ROUNDS + 1):
            for page, url in urls.items():
                figures = measure_page(browser, url, cookie)
                rounds[page] += [figures] if number else []
        browser.close()
    return rounds


def selections(pages: Pages) -> dict[str, Selection]:
    """What is compared, by the name of the page."""
    grid = Sweep.objects.filter(matrix=pages.grid).values_list("pk", flat=True)
    rungs = Sweep.objects.filter(team=pages.team, ladder="threads", matrix__repeats=3).exclude(tags=["nightly"])
    return {
        "2 sides": Selection(sweeps=tuple(grid[:2])),
        "40 sides of 5 points": Selection(matrix=str(pages.grid.pk)),
        "40 sides of 20 points": Selection(sweeps=tuple(rungs.order_by("pk").values_list("pk", flat=True)[:40])),
    }


def main(runs: int) -> None:
    with EmbeddedServers(places(settings.VAR_DIR), logs=settings.VAR_DIR / "log", careless=True):
        filled(runs)
        collect_static()
        pages, port = Pages(), free_port()
        cookie = (settings.SESSION_COOKIE_NAME, pages.client.cookies[settings.SESSION_COOKIE_NAME].value)
        urls = {name: f"http://{HOST}:{port}/compare/{each.query()}" for name, each in selections(pages).items()}
        connections.close_all()
        server = web(port)
        server.start(settings.VAR_DIR / "supervised")
        assert server.guarded is not None
        with server.guarded:
            while not server.ready(server):
                assert not server.died, server.obituary()
            measured = measure_pages(urls, cookie)
    print(json.dumps(measured))


if __name__ == "__main__":
    main(int(sys.argv[1]))
