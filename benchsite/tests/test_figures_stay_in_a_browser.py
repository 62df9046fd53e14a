"""A plot takes the place of the server's drawing, and nothing moves: texts, bars and keys stay where they are."""

import pytest
from django.urls import reverse

from benchsite.tests.browser import chromium, site
from runs.tests.factories import make_run, make_sweep

__all__ = ["chromium", "site"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
MAX_SHIFT_PX = 3
# The texts of an element with their middles, and the boxes of its bars, from its left top.
READ = """(element) => {
  const origin = element.getBoundingClientRect();
  const place = (part) => {
    const box = part.getBoundingClientRect();
    return [box.left + box.width / 2 - origin.left, box.top + box.height / 2 - origin.top];
  };
  const texts = [...element.querySelectorAll("text")].filter((text) => text.textContent.trim());
  const bars = [...element.querySelectorAll(".bars .point path, svg[role=img] g > g > rect")];
  const named = texts.map((text) => [text.textContent.trim(), ...place(text)]);
  return [...named, ...bars.map((bar) => ["bar", ...place(bar)])];
}"""
# The drawing as a part of the page, where its texts can be asked.
INLINE = """async (plot) => {
  const host = document.createElement("div");
  host.id = `drawing-of-${plot.id}`;
  host.innerHTML = await (await fetch(plot.querySelector("img").src)).text();
  document.body.append(host);
}"""


def test_plots_are_where_their_drawings_were(site):
    for number, mode in enumerate(("off", "everysec")):
        rival = make_sweep(matrix=site.world.matrix, workload=site.world.workload, mode=mode)
        for threads in (2, 4, 8):
            make_run(rival, threads=threads, throughput=1500.0 * threads * (1 + number))
    page = site.open(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    page.goto(f"{site.url}{reverse('compare')}?v=1&matrix={site.world.matrix.pk}", wait_until="networkidle")
    plots = page.locator(".figure__plot[id]").all()
    assert len(plots) == 2
    for plot in plots:
        plot.evaluate(INLINE)
    plots[0].hover()
    page.wait_for_function("() => document.querySelectorAll('.js-plotly-plot[role=application]').length === 2")
    page.mouse.move(2, 2)

    for plot in plots:
        drawn = page.locator(f"#drawing-of-{plot.get_attribute('id')} > svg").evaluate(READ)
        plotted = plot.evaluate(READ)

        assert sorted(text for text, *_ in drawn) == sorted(text for text, *_ in plotted)
        for text, x, y in plotted:
            nearest = min(max(abs(x - a), abs(y - b)) for other, a, b in drawn if other == text)
            assert nearest <= MAX_SHIFT_PX, (text, x, y)


def test_a_turned_phone_gets_figures_of_its_width(site):
    page = site.open(viewport={"width": 900, "height": 390}, reduced_motion="reduce")
    page.goto(f"{site.url}{reverse('compare')}?v=1&matrix={site.world.matrix.pk}", wait_until="networkidle")
    assert page.locator(".figure__plot[id] img").count() == 2
    with page.expect_response(lambda response: "narrow=1" in response.url):
        page.set_viewport_size({"width": 390, "height": 900})
    page.wait_for_function("() => document.querySelectorAll('.js-plotly-plot').length === 2")
    with page.expect_response(lambda response: "/figures/" in response.url and "narrow=1" not in response.url):
        page.set_viewport_size({"width": 900, "height": 390})
