"""What was dropped of an open load stands in tables, at points and in the method; closed loads have no such columns."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from django.urls import reverse

from reports.compare.figures.captions import list_doubts
from reports.compare.figures.ceilings import build_bars
from reports.compare.figures.latency import points_table
from reports.compare.figures.points import Drawn, build_hover_text
from reports.compare.figures.theme import LIGHT, looks
from reports.compare.pages.answer import find_answer
from reports.compare.pages.answer_messages import sentence
from reports.compare.pages.tables import sustained_table
from reports.compare.queries.curves import _offered
from reports.compare.selection import Selection
from reports.published.builder import chosen_names
from reports.published.drafts import Draft
from reports.published.method import FIELDS, method_sentences
from reports.tests.curves import curve, operation, point
from reports.tests.rendering import rendered
from runs.tests.factories import make_run, make_spec, make_sweep


@pytest.fixture
def make_curve():
    def make(arrivals, **changes):
        rung = replace(point(8, 970.0), target_ops_s=1_000, **changes)
        closed = curve(points=[rung], ladder="target")
        return replace(closed, setup=replace(closed.setup, arrivals=arrivals))

    return make


def test_dropped_shares_stand_in_the_table(make_curve):
    table = points_table([make_curve("poisson 1 ms", offered_ops_s=1_000.0, dropped_share=0.03)])

    row = dict(zip(table.columns, table.rows[0], strict=True))

    assert row["offered (ops/s)"] == 1_000.0
    assert (row["started (ops/s)"], row["dropped (share)"]) == (970.0, 0.03)


def test_tables_have_the_p99_of_what_was_offered(make_curve):
    """A repeat of which more than 1 % was dropped has none."""
    counted = {"offered": 10, "dropped": 0, "offered_ops_s": 1_000.0}
    parts = [{"READ": {"offered_percentiles_us": {"99": p99_us}}} for p99_us in (400, 900, None)]
    known, lost = (
        _offered([{**counted, "operations": part} for part in some])["offered_p99_us"] for some in (parts[:2], parts)
    )
    side = make_curve("poisson 1 ms", operations=(operation("READ", 100, kind="response"),), offered_p99_us=known)

    assert points_table([side]).rows[0][-1] == pytest.approx(600)
    assert lost == {}


def test_captions_say_that_latencies_lack_what_was_dropped(make_curve):
    sustained, dropped = (
        make_curve("poisson 1 ms", offered_ops_s=1_000.0, dropped_share=share) for share in (0.001, 0.5)
    )

    assert "Dropped" not in dict(remark for remark in list_doubts([sustained]) if remark[1])
    assert "up to 50" in dict(list_doubts([dropped]))["Dropped"]


def test_offered_rate_is_the_geometric_mean_of_repeats():
    arrivals = [{"offered": 10, "dropped": 0, "offered_ops_s": rate} for rate in (100.0, 100.0, 800.0)]
    assert _offered([*arrivals, {}])["offered_ops_s"] == pytest.approx(200.0)


def test_tables_of_closed_loads_have_no_such_columns(make_curve):
    assert not {"offered (ops/s)", "dropped (share)"} & set(points_table([make_curve("")]).columns)


def test_points_say_what_was_dropped(make_curve):
    side = make_curve("poisson 1 ms", offered_ops_s=1_000.0, dropped_share=0.03)
    drawn = Drawn(side.points[0], 970.0, 1.0, 1.0, 1.0, 1)

    assert "3 % dropped" in build_hover_text(looks([side], LIGHT)[side.sweep_id], drawn).replace("\u202f", " ")


@pytest.mark.parametrize(("arrivals", "rule"), [("poisson 1 ms", "at most 0.1 % was dropped"), ("", "growing backlog")])
def test_the_method_states_the_rule_of_its_ceiling(make_curve, arrivals, rule):
    text = " ".join(" ".join(method_sentences([make_curve(arrivals)], "service", None, None)).split())

    assert rule in text.replace("\u202f", " ")
    assert ("growing backlog" in text) == (not arrivals)
    assert ("arrivals and patience: poisson 1 ms" in text.replace("\u202f", " ")) == bool(arrivals)


def test_a_rate_that_dropped_more_is_no_ceiling(make_curve):
    """What was done of it is stated as that, hollow, and ranked with nothing."""
    overloaded = make_curve("poisson 1 ms", offered_ops_s=1_000.0, dropped_share=0.5)
    sustained = make_curve("poisson 1 ms", offered_ops_s=1_000.0, dropped_share=0.001)
    bar = next(bar for bar in build_bars([sustained, overloaded], LIGHT) if bar.side == str(overloaded.sweep_id))
    headline = sentence(find_answer([overloaded], None).findings[0])

    assert sustained.ceiling_ops_s == 970
    assert (overloaded.ceiling, overloaded.knee, overloaded.within_ceiling) == (None, None, ())
    assert (bar.hollow, bar.value, bar.value_label) == (True, 970, "970, no target was sustained")
    assert headline == "No offered rate was kept up; the most that was done is 970\u202fops/s."
    assert "No target was sustained, so there is no ceiling" in rendered("sweep/ceiling_text", curve=overloaded)
    assert "no target was sustained" in sustained_table([overloaded], {}).rows[0]


@pytest.mark.parametrize(("arrivals", "expected"), [("poisson 1 ms", ["table-points"]), ("", [])])
def test_reports_show_what_was_offered_unasked(make_curve, arrivals, expected):
    material = SimpleNamespace(curves=[make_curve(arrivals)], selection=Selection())
    assert chosen_names(Draft(), material, {"table-points"}) == expected


def test_environment_has_arrivals_and_patience():
    spec = {"load": {"open": {"arrivals": "poisson", "patience_ms": 1.0, "profile": []}}}
    fields = [FIELDS[name](SimpleNamespace(spec=spec)) for name in ("operations of an open load arrive", "patience")]
    assert fields == ["as a Poisson process", "dropped after 1 ms"]


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize(
    "page", ["compare", "sweep", "compare-headline", "figure-ceilings", "figure-latency", "why", "sizing"]
)
def test_pages_of_an_overload_state_no_ceiling(client_in, team, page):
    sweep = make_sweep(team=team, ladder="target")
    for target_ops_s in (15_000, 45_000):
        spec = make_spec(sweep, threads=64, target_ops_s=target_ops_s, generators=())
        spec["load"]["open"] = {"arrivals": "poisson", "patience_ms": 1.0, "profile": []}
        run = make_run(sweep, threads=64, target_ops_s=target_ops_s, throughput=17_512, spec=spec, verdict="pass")
        counts = {"offered": 5 * target_ops_s, "dropped": 2 * target_ops_s, "offered_ops_s": target_ops_s}
        run.measurement_sets.update(arrivals={**counts, "dropped_share": 0.4})
    args = {"sweep": [sweep.pk]}.get(page, [])
    query = {"why": f"?a={sweep.pk}"}.get(page, f"?v=1&matrix={sweep.matrix_id}")

    response = client_in.get(f"{reverse(page, args=args)}{query}", headers={"hx-request": "true"})
    text = response.content.decode()

    assert "100 % of the highest" not in text.replace("\u202f", " ")
    if page in ("compare", "compare-headline"):
        assert "No offered rate was kept up; the most that was done is 17.5k" in " ".join(text.split())
    if page == "why":
        assert "was sustained, so that it has no ceiling" in " ".join(text.split())
    if page == "sweep":
        assert "No target was sustained, so there is no ceiling" in " ".join(text.split())
