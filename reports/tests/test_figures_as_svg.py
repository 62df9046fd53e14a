"""Figures as SVG for readers without JavaScript: well-formed, with every side, whatever the names are."""

import itertools
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from django.urls import reverse

from reports.compare.curves import Standing
from reports.compare.figures import overlay
from reports.compare.figures.ceilings import CeilingsFigure
from reports.compare.figures.ladder import LadderFigure
from reports.compare.figures.latency import LatencyFigure
from reports.compare.figures.latency_points import Choice
from reports.compare.figures.layout import Frame, scatter
from reports.compare.figures.points import marker
from reports.compare.figures.svg import CORNERS, Axis, render_svg, svg_of_text
from reports.compare.figures.theme import DARK, LIGHT, SYMBOLS
from reports.tests.curves import curve, point
from reports.tests.test_compare_page import sources, study
from reports.tests.test_history_figure import measured, wave
from reports.trends.figures.history import AXES, HistoryFigure
from reports.trends.histories import THROUGHPUT_METRIC, build_history, build_points

SVG = "{http://www.w3.org/2000/svg}"
UGLY = "</text><script>alert(1)</script>&\x00\"'"


def drawn(figure, theme=LIGHT):
    return ET.fromstring(render_svg(figure.draw(Frame(theme)), height_px=figure.height_px, title=figure.caption))


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
@pytest.mark.parametrize("sides", [1, 3, 12])
def test_bars_have_one_rectangle_for_each_side(theme, sides):
    root = drawn(CeilingsFigure([curve(mode=f"mode-{n}") for n in range(sides)]), theme)
    area = root.find(f"{SVG}g")
    assert len(area.findall(f".//{SVG}rect")) == sides
    assert all(float(rect.get("height")) > 0 < float(rect.get("width")) for rect in area.iter(f"{SVG}rect"))


def test_bars_have_the_patterns_that_the_key_names():
    losses = [0.0, 1.0, None]
    record = curve().durability
    root = drawn(
        CeilingsFigure(
            [curve(mode=f"m{n}", durability={**record, "loss_window_s": loss}) for n, loss in enumerate(losses)]
        )
    )
    bars = root.find(f"{SVG}g").findall(f".//{SVG}rect")
    fills = [bar.get("fill") for bar in bars]
    patterns = {f"url(#{pattern.get('id')})": pattern[0].tag for pattern in root.iter(f"{SVG}pattern")}
    assert sorted(patterns.values()) == [f"{SVG}circle", f"{SVG}path"]
    assert len([fill for fill in fills if fill in patterns]) == 2 and len(fills) == 3


def test_every_symbol_has_its_own_mark():
    layout = LatencyFigure([curve()], Choice()).draw(Frame(LIGHT))["layout"]
    marks = set()
    symbols = (*SYMBOLS, *overlay.SYMBOLS)
    for symbol in symbols:
        trace = scatter([10.0], [1.0], symbol, marker=marker("#000", symbol, 8))
        root = ET.fromstring(render_svg({"data": [trace], "layout": layout}, height_px=400, title=""))
        marks.add(ET.tostring(root.find(f"{SVG}g")[-1]))
    assert len(marks) == len(symbols)


def test_legend_tells_points_that_do_not_count_from_ceilings():
    rejected = replace(curve(), points=(*curve().points, point(64, 3000.0, standing=Standing.REJECTED)))
    for figure in (LadderFigure([rejected, curve()]), LatencyFigure([rejected, curve()], Choice())):
        data = figure.draw(Frame(LIGHT))["data"]
        keys = [trace for trace in data if trace["x"] == [None] and "legendgroup" not in trace]
        symbols = [key["marker"]["symbol"].removesuffix("-open") for key in keys]
        assert len(symbols) > 1 and len(set(symbols)) == len(symbols)
        assert set(symbols) <= {"circle", *CORNERS}
        hollow = [trace["marker"]["symbol"] for trace in data if trace["name"].endswith("not counted")]
        assert len(set(hollow)) == 1 and len(hollow) == 2, "drawn as the legend says"


def test_given_ticks_stand_on_a_logarithmic_axis():
    axis = Axis({"type": "log", "tickvals": [1, 10, 100], "range": [-0.1, 2.1]}, [], 0.0, 100.0)
    assert axis.ticks() == [(0.0, "1"), (1.0, "10"), (2.0, "100")]


@pytest.mark.parametrize("scale", ["linear", "log", "loglog"])
def test_curves_lie_within_the_drawing(scale):
    root = drawn(LatencyFigure([curve(mode="off"), curve(mode="always")], Choice(scale=scale, load_ops_s=2000.0)))
    open_lines = [line for line in root.iter(f"{SVG}polyline") if line.get("fill") == "none"]
    lines = [line for line in open_lines if line.get("points") and float(line.get("stroke-width"))]
    assert len(lines) == 2
    for line in lines:
        for x, y in (map(float, place.split(",")) for place in line.get("points").split()):
            assert 0 <= x <= 720 and 0 <= y <= 400


@pytest.mark.parametrize("along", AXES)
def test_history_has_the_axis_that_is_visible(along):
    figure = HistoryFigure(build_history(THROUGHPUT_METRIC, build_points(measured(wave(200)))), along=along)
    texts = [text.text for text in drawn(figure).iter(f"{SVG}text")]
    assert "throughput (ops/s), not from 0" in texts and "1k" in texts
    assert not {"0.500", "0.200"} & set(texts)  # of the axis for marks at the bottom


def test_bars_keep_the_width_below_their_names():
    sides = [replace(curve(mode=f"mode-{n}"), database_name="A database of a long name") for n in range(10)]
    root = drawn(CeilingsFigure(sides))
    area = root.find(f"{SVG}clipPath/{SVG}rect")
    assert float(area.get("width")) > 400
    texts = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    assert len([text for text in texts if text.startswith("A database of a long name  mode-")]) == 10


def test_keys_of_long_names_do_not_overlap():
    sides = [replace(curve(mode=mode), database_name="A database of a long name") for mode in ("off", "always")]
    root = drawn(LatencyFigure(sides, Choice()))
    keys = [text for text in root.iter(f"{SVG}text") if text.get("font-size") is None]
    assert len(keys) >= 3
    places = sorted((float(key.get("y")), float(key.get("x")), len(key.text)) for key in keys)
    for (y, x, length), (next_y, next_x, _) in itertools.pairwise(places):
        assert next_y > y or next_x > x + 5.5 * length


def test_names_are_text_and_nothing_else():
    side = replace(curve(), database_name=UGLY, mode=UGLY)
    for figure in (CeilingsFigure([side]), LatencyFigure([side], Choice())):
        root = drawn(figure)
        assert not list(root.iter(f"{SVG}script"))
        texts = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
        assert any("<script>" in text or "…" in text for text in texts)


@pytest.mark.django_db
def test_page_offers_each_figure_without_javascript(client_in, team):
    study(team)
    html = client_in.get(reverse("compare")).content.decode()
    addresses = [url.replace("&amp;", "&") + "&as=svg" for url in sources(html)]
    assert len(addresses) == 2 and all(address.replace("&", "&amp;") in html for address in addresses)
    for address in addresses:
        response = client_in.get(address)
        assert response["Content-Type"] == "image/svg+xml" and ET.fromstring(response.content).tag == f"{SVG}svg"
        sized = ET.fromstring(client_in.get(f"{address}&width=506&height=99999").content)
        assert (sized.get("width"), sized.get("height")) == ("506", "360")


def test_figure_without_data_is_a_drawing_of_its_reason():
    root = ET.fromstring(svg_of_text(f"No point counts: {UGLY} " + "and so on " * 20, LIGHT.muted))
    lines = [text.text for text in root.iter(f"{SVG}text")]
    assert len(lines) > 2 and lines[0].startswith("No point counts: </text><script>")
    assert float(root.get("height")) > 20 * len(lines)
