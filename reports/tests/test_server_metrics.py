"""The machines and the counters of a run's servers in figures on the time axis of its series, and their addresses."""

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from django.urls import reverse

from reports.compare.figures.layout import Frame
from reports.compare.figures.run_series import Window
from reports.compare.figures.server_metrics import ServerMetricsFigure, counter_lines, machine_lines
from reports.compare.figures.svg import render_svg
from reports.compare.figures.theme import DARK, LIGHT
from runs.results import artifacts
from runs.results.measures.host import HostSamples, Samples
from runs.tests.factories import make_run, make_sweep
from runs.tests.pages import artifact_folder

__all__ = ["artifact_folder"]
HOSTILE = "<script>alert(1)</script>"


def host(machine="db-1", node=1, **columns):
    ones = np.ones(20)
    usual = {
        "core0_busy": 0.5, "core1_busy": 1.0, "servers_cores": 1.0, "clients_cores": 0.001, "other_cores": 0.4,
        "running": 3.0, "disk_busy": 0.25, "disk_written_bytes_s": 2**21, "disk_read_bytes_s": 0.0,
        "network_sent_bytes_s": 0.0, "memory_bytes": 4 * 2**30, "memory_available_bytes": 2**30,
        "node1_cores": 1.0, "node1_memory_bytes": 2**29,
    }  # fmt: skip
    rates = {name: value * ones for name, value in {**usual, **columns}.items()}
    return HostSamples(
        machine=machine, node=node, columns={"at_s": 1001.0 + np.arange(20), "interval_s": ones, **rates}
    )


def figure(*hosts, counters=None):
    lines = counter_lines(counters, 1000.0) if counters else machine_lines(hosts, 1000.0)
    return ServerMetricsFigure("servers", lines, Window(5.0, 15.0), subject="The machines", lacking="Nothing.")


def test_one_machine_tells_cpu_apart_by_its_users():
    made = figure(host(interrupts_s=9_000.0))
    cpu = {line.name: line.values[0] for line in made.panels["CPU (% of the cores)"]}
    assert cpu == {"CPU": 75.0, "servers": 50.0, "other processes": 20.0}
    assert [line.name for line in made.panels["disk (MiB/s)"]] == ["written"]
    assert made.panels["memory in use (GiB)"][0].values[0] == 3.0
    assert made.panels["interrupts (1/s)"][0].values[0] == 9_000.0
    assert "0 throughout: network" in made.caption
    assert ("disk (MiB/s)", "read") not in {(row[1], row[2]) for row in made.table.rows if row[3]}


def test_several_machines_share_each_panel():
    made = figure(host(), host("db-2", node=2), host("client", node=None))
    assert all([line.name for line in lines] == ["db-1", "db-2"] for title, lines in made.panels.items()
               if "of servers" not in title)  # fmt: skip
    assert "disk written (MiB/s)" in made.panels


@pytest.mark.parametrize("frame", [Frame(LIGHT), Frame(DARK, narrow=True)], ids=["light", "narrow dark"])
def test_panels_lie_below_each_other_on_one_axis(frame):
    made = figure(host(HOSTILE), host("db-2", node=2))
    drawing = made.draw(frame)
    assert HOSTILE not in json.dumps(drawing)
    axes = [value for name, value in drawing["layout"].items() if name.startswith("yaxis")]
    ends = [end for axis in reversed(axes) for end in axis["domain"]]
    assert ends == sorted(ends) and len(axes) == len(made.panels)
    assert drawing["layout"]["xaxis"]["range"] == [0.0, 20.0]
    keyed = [trace["name"] for trace in drawing["data"] if trace["showlegend"]]
    assert sorted(keyed) == sorted(set(keyed))
    assert {shape["x0"] for shape in drawing["layout"]["shapes"]} == {0.0, 15.0}  # warm-up and tail


def test_svg_draws_each_panel_within_its_own_part():
    made = figure(host())
    root = ET.fromstring(render_svg(made.draw(Frame(LIGHT)), height_px=made.height_px, title=made.caption))
    lines = list(root.iter("{http://www.w3.org/2000/svg}polyline"))
    heights = [{float(place.split(",")[1]) for place in line.get("points").split()} for line in lines]
    assert all(len(height) == 1 for height in heights)  # every value is constant
    tops = [height.pop() for height in heights]
    assert tops == sorted(tops) or len(set(tops)) == len(tops)
    assert max(tops) < made.height_px


def test_counters_have_units_by_their_names():
    seconds = np.arange(1.0, 4.0)
    columns = {
        "at_s": 1000 + seconds, "interval_s": np.ones(3), "cache_hits_per_s": np.array([9.0, 9.0, np.nan]),
        "cache_misses_per_s": np.ones(3), "log_bytes_per_s": np.full(3, 2.0**20), "replication_lag_s": np.full(3, 0.5),
        "flushes_pending": np.zeros(3),
    }  # fmt: skip
    made = figure(counters=Samples(columns=columns))
    assert list(made.panels) == [
        "cache hit ratio (% of reads)", "cache hits (1/s)", "cache misses (1/s)", "log (MiB/s)", "replication lag (s)"
    ]  # fmt: skip
    assert made.panels["cache hit ratio (% of reads)"][0].values[0] == 90.0
    assert made.panels["log (MiB/s)"][0].values.tolist() == [1.0] * 3
    assert made.caption.endswith("0 throughout: flushes pending.")
    assert made.table.rows[2] == (3.0, "cache hit ratio (% of reads)", "cache hit ratio", None)


def test_each_cache_has_a_ratio_of_its_own():
    two = {"at_s": 1000 + np.arange(1.0, 3.0), "interval_s": np.ones(2)}
    rows = {"row_cache_hits_per_s": np.full(2, 3.0), "row_cache_misses_per_s": np.ones(2)}

    made = figure(counters=Samples(columns={**two, **rows}))

    assert made.panels["row cache hit ratio (% of reads)"][0].values.tolist() == [75.0, 75.0]


def test_says_so_where_nothing_was_sampled():
    assert figure().empty == "Nothing." == figure(host(node=None)).empty


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["servers", "counters"])
def test_addresses_give_the_drawing_and_its_numbers(client_in, team, artifact_folder, kind):
    run = make_run(make_sweep(team=team))
    begin_s = run.measurement_sets.get().window_from.timestamp()
    address = reverse(f"figure-run-{kind}", args=[run.pk])
    assert "not" in client_in.get(address).json()["empty"]
    rows = [f"{begin_s + i:.3f},1,0.5,{i}" for i in range(1, 9)]
    names = "core0_busy,running" if kind == "servers" else "cache_hits_per_s,flushes_pending"
    artifacts.store(
        run, {"servers": "host"}.get(kind, kind), f"{kind}.csv", "\n".join([f"at_s,interval_s,{names}", *rows]).encode()
    )
    answer = client_in.get(address).json()
    assert len(answer["figure"]["data"]) == 2
    numbers = client_in.get(reverse(f"figure-run-{kind}-data", args=[run.pk, "csv"])).content.decode()
    assert numbers.splitlines()[0] == "second,quantity,of,value" and len(numbers.splitlines()) == 1 + 16
    assert client_in.get(address, {"as": "svg"})["Content-Type"] == "image/svg+xml"
