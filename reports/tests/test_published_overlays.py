"""Published numbers beside measured ones."""

from reports.compare.figures.overlay import overlays
from reports.compare.pages.charts import ceilings_picture, picture_link
from reports.compare.selection import Selection
from reports.tests.curves import curve


def test_overlays_are_throughputs_and_say_what_they_are():
    published = overlays(["aerospike-2017"])
    assert [(overlay.throughput_ops_s, overlay.latency_us) for overlay in published] == [
        (820_000, 300.0),
        (103_600, 21_860.0),
        (226_000, 202.0),
    ]
    assert all(
        "sum of the printed rates" in overlay.note and (overlay.study, overlay.year) == ("Aerospike", 2017)
        for overlay in published
    )


def test_a_latency_is_laid_only_over_its_own_kind():
    assert [overlay.latency_us for overlay in overlays(["vari-2013"], operation="READ", statistic="mean")] == [
        400.0,
        401.87,
        None,
    ]
    assert not any(overlay.latency_us for overlay in overlays(["vari-2013"], operation="READ", statistic="p99"))
    assert not any(overlay.latency_us for overlay in overlays(["vari-2013"], operation="UPDATE", statistic="mean"))


def test_load_overlays_are_loads_and_unknown_study_has_none():
    assert not overlays(["columbia-2016"]) and len(overlays(["columbia-2016"], phase="load")) == 3
    assert not overlays(["nobody-1999", ""])


def test_a_disputed_number_is_disputed_in_the_overlay_too():
    published = {overlay.label: overlay for overlay in overlays(["thumbtack-2014"])}
    assert "107.89 %" in published["Couchbase, 8 nodes, 95/5"].disputed
    assert not published["MongoDB, 8 nodes, 95/5"].disputed
    assert all(overlay.latency_us is None for overlay in published.values())


def test_the_figure_grows_with_the_published_bars():
    alone, beside = (
        picture_link(ceilings_picture(Selection(published=published)), [curve()])
        for published in ((), ("thumbtack-2013",))
    )
    assert alone.height_px == 0 and beside.height_px > 300
