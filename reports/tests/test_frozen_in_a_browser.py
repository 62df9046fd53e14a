"""A frozen report in Chromium: drawn, quiet, open to everybody, on paper, and as a file without any network."""

import re
from pathlib import Path

import pytest
from django.urls import reverse

from benchsite.tests.browser import axe_findings, chromium, list_scrolling_tables, playwright
from reports.published.figure_images import encoded_anew, keep_pictures
from reports.published.links import find_link
from reports.tests.snapshots import published
from reports.tests.test_report_pictures import png
from reports.tests.test_sanitising_reports import spoilt_content

__all__ = ["chromium"]

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


class Reader:
    """A browser of somebody without an account, that notes what it complains of and what it asks for."""

    def __init__(self, chromium, **options):
        self.context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.page = self.context.new_page()
        self.complaints, self.asked = [], []
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append("a dialog opened"), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def open(self, url, figures=3):
        self.page.goto(url, wait_until="domcontentloaded")  # Plotly may be on its way.
        if figures:
            for figure in self.page.locator("figure").all():  # They are drawn in view.
                figure.scroll_into_view_if_needed()
            self.page.evaluate("scrollTo(0, 0)")
            self.page.wait_for_function(
                "n => document.querySelectorAll('figure .svg-container').length >= n", arg=figures
            )
        return self.page


def get_token(report):
    return find_link(report).token


@pytest.fixture
def reader(chromium):
    made = []

    def make(**options):
        made.append(Reader(chromium, **options))
        return made[-1]

    yield make
    for one in made:
        one.context.close()


def widest(page):
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


@pytest.mark.parametrize(
    "ugly", [pytest.param(False, id="usual", marks=pytest.mark.long), pytest.param(True, id="hostile")]
)
def test_it_is_drawn_without_a_complaint_and_asks_nobody_else(team, reader, live_server, ugly):
    report = published(team, **(spoilt_content(team) if ugly else {}))
    url = f"{live_server.url}/r/{get_token(report)}"
    for width, scheme in ((1280, "light"), (390, "dark")):
        frozen = reader(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page = frozen.open(url)
        assert widest(page) <= 0, f"{width} {scheme}"
        assert width > 390 or list_scrolling_tables(page) == []
        assert frozen.complaints == []
        assert {address.split("/r/")[0].split("/static/")[0] for address in frozen.asked} == {live_server.url}


def test_open_tables_stay_within_a_telephone(team, reader, live_server):
    report = published(team)
    frozen = reader(viewport={"width": 390, "height": 900})
    page = frozen.open(f"{live_server.url}/r/{get_token(report)}")
    page.evaluate("document.querySelectorAll('details').forEach((fold) => (fold.open = true))")
    page.wait_for_function("document.querySelectorAll('figure details tbody tr').length > 0")

    assert widest(page) <= 0
    sides = "[...document.querySelectorAll('figure')].map((figure) => figure.scrollWidth - figure.clientWidth)"
    assert max(page.evaluate(sides)) <= 0


@pytest.mark.parametrize("width", [12, *(pytest.param(width, marks=pytest.mark.long) for width in (40, 390))])
def test_axes_without_room_for_a_label_keep_their_titles(team, reader, live_server, width):
    """plotly.js computes a title's place from the labels that are shown."""
    report = published(team)
    frozen = reader()
    page = frozen.open(f"{live_server.url}/r/{get_token(report)}")
    page.evaluate(
        """async (width) => {
          for (const { data, layout } of document.querySelectorAll("figure .js-plotly-plot")) {
            const plot = document.body.appendChild(document.createElement("div"));
            const narrow = { ...structuredClone(layout), autosize: false, width, height: 300 };
            await Plotly.newPlot(plot, structuredClone(data), narrow);
          }
        }""",
        width,
    )
    assert frozen.complaints == []


def test_axe_finds_nothing_serious(team, reader, live_server):
    report = published(team, access="public", demonstration="Too short.", plan="x")
    token = get_token(report)
    for address in (f"/r/{token}", f"/r/{token}/embed", reverse("public-reports", args=[team.slug])):
        frozen = reader(reduced_motion="reduce")
        page = frozen.open(live_server.url + address, figures=0)
        page.wait_for_load_state("networkidle")
        findings = axe_findings(page)
        page.emulate_media(color_scheme="dark")
        page.wait_for_load_state("networkidle")
        findings += axe_findings(page)
        page.set_viewport_size({"width": 390, "height": 900})
        assert findings + axe_findings(page) == [], address


def test_the_file_needs_no_network_at_all(team, reader, live_server, client, tmp_path):
    report = published(team, **spoilt_content(team))
    file = tmp_path / "report.html"
    file.write_bytes(client.get(f"/r/{get_token(report)}.html").content)
    frozen = reader(offline=True, viewport={"width": 390, "height": 900})
    page = frozen.open(file.as_uri())
    assert list_scrolling_tables(page) == []
    page.set_viewport_size({"width": 1280, "height": 900})
    assert frozen.asked == [file.as_uri()]
    assert frozen.complaints == []
    assert page.locator("figure .main-svg .trace").count() > 5
    page.get_by_role("button", name="Dark", exact=True).click()
    page.wait_for_function("() => getComputedStyle(document.querySelector('.main-svg text')).fill !== ''")
    with page.expect_download() as downloaded:
        page.get_by_role("button", name="PNG", exact=True).first.click()
    assert Path(downloaded.value.path()).read_bytes().startswith(b"\x89PNG")
    assert frozen.complaints == []


def test_a_hidden_frame_is_drawn_when_it_is_shown(team, reader, client, tmp_path):
    (tmp_path / "report.html").write_bytes(client.get(f"/r/{get_token(published(team))}.html").content)
    around = tmp_path / "around.html"
    around.write_text('<iframe src="report.html" width="800" height="900" style="display: none"></iframe>')
    frozen = reader(offline=True)
    frozen.page.goto(around.as_uri())
    frame = frozen.page.frame_locator("iframe")
    frozen.page.wait_for_timeout(500)  # in which the figures would be drawn
    assert frame.locator(".svg-container").count() == 0
    frozen.page.eval_on_selector("iframe", "frame => frame.style.display = ''")
    frame.locator("#ceilings .main-svg .trace").first.wait_for()
    assert frozen.complaints == []


def test_the_file_is_read_without_javascript(team, reader, client, tmp_path):
    report = published(team)
    keep_pictures(report.revisions.get(), {"ceilings": encoded_anew(png((1200, 630)))})
    file = tmp_path / "report.html"
    file.write_bytes(client.get(f"/r/{get_token(report)}.html").content)
    frozen = reader(java_script_enabled=False, offline=True)
    page = frozen.open(file.as_uri(), figures=0)
    assert page.locator("#ceilings img").evaluate("image => image.naturalWidth") == 1200
    page.locator("#ceilings details summary").get_by_text("Table").click()
    assert page.locator("#ceilings table tbody tr").count() == 3


def test_the_page_is_read_without_javascript(team, reader, live_server):
    report = published(team)
    keep_pictures(report.revisions.get(), {"ceilings": encoded_anew(png((1200, 630)))})
    page = reader(java_script_enabled=False).open(f"{live_server.url}/r/{get_token(report)}", figures=0)
    page.locator("#ceilings img").scroll_into_view_if_needed()
    assert page.locator("#ceilings img").is_visible()
    page.locator("#latency details summary").get_by_text("Table").click()
    assert page.locator("#latency table tbody tr").count() > 5
    assert page.get_by_role("link", name="One HTML file").is_visible()


@pytest.mark.long
def test_a_picture_stands_where_the_figure_will_be(team, reader, live_server):
    report = published(team)
    keep_pictures(report.revisions.get(), {"ceilings": encoded_anew(png((1200, 630)))})
    url = f"{live_server.url}/r/{get_token(report)}"
    frozen = reader(color_scheme="dark")
    frozen.page.route("**/plotly*", lambda route: None)  # on its way for ever
    page = frozen.open(url, figures=0)
    page.wait_for_function("() => document.querySelector('#ceilings img').naturalWidth === 1200")
    assert page.locator("#ceilings img").is_visible()
    before = page.locator("#ceilings .figure__plot").bounding_box()
    page.unroute("**/plotly*")
    frozen.open(url)
    assert page.locator("#ceilings .main-svg").count() and not page.locator("#ceilings img").count()
    assert page.locator("#ceilings .figure__plot").bounding_box() == before
    assert frozen.complaints == []


def test_on_paper_nothing_is_cut_and_nothing_is_to_be_clicked(team, reader, live_server):
    report = published(team, notes="[elsewhere](https://e.example/paper)")
    frozen = reader(color_scheme="dark")
    page = frozen.open(f"{live_server.url}/r/{get_token(report)}")
    while sum("theme=light" in url for url in frozen.asked) < page.locator("figure[data-src]").count():
        page.wait_for_timeout(100)  # What a reader in the dark needs for paper is fetched when all is quiet.
    page.wait_for_timeout(500)
    pdf = page.pdf(format="A4", prefer_css_page_size=True)
    boxes = set(re.findall(rb"/MediaBox \[0 0 (\d+)", pdf))
    assert boxes == {b"594", b"841"}  # upright, and turned for the wide table
    page.wait_for_timeout(1500)  # After printing, figures are drawn for the screen again, one by one.
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print", color_scheme="light")
    page.set_viewport_size({"width": 680, "height": 1000})
    for part in (".themes", ".report__files", ".figure__tools", ".skip"):
        assert not page.locator(part).first.is_visible(), part
    heads = page.locator("thead").evaluate_all("all => all.map((one) => getComputedStyle(one).display)")
    assert set(heads) == {"table-header-group"}
    after = "getComputedStyle(document.querySelector('.report__notes a'), '::after').content"
    assert "e.example/paper" in page.evaluate(f"{after} + document.querySelector('.report__notes a').href")
    edges = page.locator("figure .main-svg").evaluate_all("all => all.map((one) => one.getBoundingClientRect().right)")
    assert max(edges) <= 681
    ink = page.locator("figure .xtick text").first.evaluate("one => getComputedStyle(one).fill")
    assert ink == "rgb(91, 100, 114)"  # the light drawing's
    assert frozen.complaints == []


def test_a_frame_in_this_site_shows_one_figure(team, reader, live_server):
    token = find_link(published(team)).token
    frozen = reader(viewport={"width": 640, "height": 420})
    page = frozen.open(f"{live_server.url}/r/{token}/embed?figure=latency", figures=1)
    assert page.locator("figure").count() == 1
    assert widest(page) <= 0 and frozen.complaints == []


assert playwright


def test_control_of_slides_leaves_the_caption_free(team, reader, live_server):
    page = reader(viewport={"width": 1280, "height": 800}).open(
        f"{live_server.url}/r/{get_token(published(team))}#present"
    )
    page.wait_for_function("() => document.querySelector('.is-presented figcaption')?.textContent")
    caption, bar = (page.locator(path).bounding_box() for path in (".is-presented figcaption", ".present__bar"))
    assert caption["y"] + caption["height"] <= bar["y"]
