"""Throughput against loss: measured losses before stated ones, and the frontier of both."""

from dataclasses import replace

from benchsite.core.formatting import THIN
from reports.compare.figures.ceilings import CeilingsFigure
from reports.compare.figures.layout import Frame
from reports.compare.figures.loss import LossFigure
from reports.compare.figures.theme import LIGHT
from reports.tests.curves import curve, point
from runs.catalog import load_catalog
from runs.catalog.measured_losses import power_cut_loss


def side(system, mode, ceiling_ops_s, **changes):
    record = load_catalog().system(system).mode(mode).durability.as_dict()
    points = [point(2, ceiling_ops_s / 2), point(4, ceiling_ops_s), point(8, ceiling_ops_s * 0.9)]
    return curve(system, mode, points, system=system, durability=record, **changes)


def rows(*curves):
    table = LossFigure(curves).table
    return {row[1]: dict(zip(table.columns, row, strict=True)) for row in table.rows}


def test_measured_loss_replaces_the_record():
    everysec = rows(side("redis", "everysec", 30_000.0))["everysec"]
    measured = power_cut_loss("redis", "everysec")
    assert everysec["oldest lost write, maximum (s)"] == measured.oldest_lost_max_s < 1.0
    assert everysec["power cuts"] == 60 and everysec["measured with version"] == "7.0.15"
    assert everysec["loss at a power cut"] == "lost at most 0.983 s in 60 power cuts"


def test_no_loss_in_some_cuts_is_a_bound():
    always = rows(side("redis", "always", 20_000.0))["always"]
    assert always["oldest lost write, maximum (s)"] == 0
    assert always["loss at a power cut"] == f"lost none in 60 power cuts: at most 4.87{THIN}% lose any (95 %)"


def test_mode_without_measurement_is_hollow_at_its_record():
    stated = side("mongodb", "w1-no-journal", 15_000.0)
    assert rows(stated)["w1-no-journal"]["loss at a power cut"] == "stated: loses at most 60.0 s"
    figure = LossFigure([stated, side("redis", "everysec", 30_000.0)]).draw(Frame(LIGHT))
    symbols = {trace["legendgroup"]: trace["marker"]["symbol"] for trace in figure["data"] if trace.get("text")}
    assert symbols["mongodb · w1-no-journal"].endswith("-open") and not symbols["redis · everysec"].endswith("-open")


def test_frontier_leaves_out_what_another_side_beats():
    marked = rows(
        side("redis", "off", 40_000.0),
        side("redis", "no", 38_000.0),
        side("redis", "everysec", 30_000.0),
        side("redis", "always", 20_000.0),
        side("postgresql", "on", 9_000.0),
    )
    column = "no side loses less and measured more"
    assert [mode for mode, row in marked.items() if row[column] == "no"] == ["on", "no"]


def test_other_workloads_have_no_common_frontier():
    figure = LossFigure([side("redis", "off", 40_000.0), side("redis", "always", 20_000.0, workload="Workload C")])
    assert figure.frontier == []


def test_lower_bounds_are_stated_with_their_reason():
    short = replace(side("redis", "always", 20_000.0), points=[point(2, 10_000.0), point(4, 20_000.0)])
    figure = LossFigure([short])
    assert "At least: the ladder is too short" in figure.caption
    assert f"at least 20.0k{THIN}ops/s" in figure.draw(Frame(LIGHT))["data"][0]["text"][0]
    assert rows(short)["always"]["ladder"] == "at least: the ladder is too short"


def test_unknown_durability_is_named_in_the_caption():
    unknown = curve("Mystery", "strange", durability={}, system="mystery")
    assert "Not placed, no ceiling or durability unknown: Mystery · strange" in LossFigure([unknown]).caption
    assert LossFigure([unknown]).empty.startswith("No sweep has both")


def test_loss_above_the_record_is_noted_in_every_figure():
    honest = side("redis", "everysec", 30_000.0)
    planted = replace(honest, durability={**honest.durability, "loss_window_s": 0.5, "worst_loss_window_s": None})
    for figure in (CeilingsFigure, LossFigure):
        assert not any("Loss of" in note for note in figure([honest]).notes)
        [note] = [note for note in figure([planted]).notes if "Loss of" in note]
        assert note == "Loss of redis · everysec: the record says 0.5 s at most, measured 0.983 s"
