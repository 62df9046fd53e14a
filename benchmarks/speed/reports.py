"""How many readers a published report serves: requests of its page each second, kept and made anew."""

import http.client
import statistics
import threading
import time
from typing import Final

from benchmarks.speed.report import BenchmarkFailed, Report
from benchmarks.synthetic_data import Wanted, generate
from benchmarks.synthetic_data.equipment import TEAMS
from benchsite.components import HOST
from benchsite.supervisor import Site
from benchsite.teams.models import Team
from reports.frozen import publication
from reports.frozen.links import make_link, rotate
from reports.models import Report as PublishedReport
from reports.selection import Selection
from runs.models import Matrix

WANTED: Final = 200.0  # requests per second
ROUNDS: Final = 5
ROUND_S: Final = 4.0
CLIENTS: Final = 8
ANEW: Final = 10  # pages of each round that are made with nothing kept
TITLE: Final = "Benchmark of Benchsite"


def measure(site: Site) -> Report:
    """A report of forty curves, asked for by eight readers at once on the same machine, in rounds."""
    slug = TEAMS[0][0]
    if not Team.objects.filter(slug=slug).exists():
        generate(Wanted(runs=2_100, with_series=0, append=True))
    team = Team.objects.get(slug=slug)
    report = PublishedReport.objects.filter(team=team, title=TITLE).first()
    if report is None:
        matrix = Matrix.objects.filter(team=team, name__startswith="Forty sweeps").earliest("created_at")
        report = publication.begin(team, None, Selection(matrix=str(matrix.pk)).query(), TITLE)
        publication.publish(report, None, {})
        publication.set_access(report, PublishedReport.Access.PUBLIC, None, None)
    size = len(_get(site.port, f"/r/{make_link(report).token}"))
    rows: list[list[str | int | float]] = []
    for number in range(1, ROUNDS + 1):
        anew = _anew(site.port, report)
        path = f"/r/{make_link(report).token}"
        times = _asked(site.port, path)
        kept = len(times) / ROUND_S
        rows.append([number, kept, anew, kept / anew, statistics.median(times) * 1000, _p99(times) * 1000])
    figure = statistics.median(float(row[1]) for row in rows)
    return Report(
        name="report-page",
        title=f"The page of a published report of forty curves, {size / 1024:.0f} KiB compressed, {CLIENTS} readers",
        columns=("round", "kept, requests/s", "made anew, requests/s", "ratio", "median ms", "p99 ms"),
        rows=rows,
        figure=figure,
        unit="requests/s",
        wanted=f"at least {WANTED:.0f}",
        met=figure >= WANTED,
        notes="Readers and server share the machine. Whether the link is open is asked of the database every time.",
    )


def _asked(port: int, path: str) -> list[float]:
    """How long each request took, of all clients, each with one connection."""
    times: list[float] = []
    failures: list[str] = []
    end = time.monotonic() + ROUND_S

    def ask() -> None:
        connection = http.client.HTTPConnection(HOST, port, timeout=30)
        mine = []
        try:
            while time.monotonic() < end:
                began = time.monotonic()
                _read(connection, path)
                mine.append(time.monotonic() - began)
        except (OSError, http.client.HTTPException, BenchmarkFailed) as error:
            failures.append(str(error))
        finally:
            connection.close()
        times.extend(mine)

    clients = [threading.Thread(target=ask) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    if failures or not times:
        raise BenchmarkFailed(f"The report's page was not served: {failures[:1] or 'no answer'}")
    return times


def _anew(port: int, report: PublishedReport) -> float:
    """Pages each second with nothing kept, one after the other: nobody asked for them by this link yet."""
    took = 0.0
    for _ in range(ANEW):
        path = f"/r/{rotate(report, None).token}"
        began = time.monotonic()
        _get(port, path)
        took += time.monotonic() - began
    return ANEW / took


def _get(port: int, path: str) -> bytes:
    connection = http.client.HTTPConnection(HOST, port, timeout=30)
    try:
        return _read(connection, path)
    finally:
        connection.close()


def _read(connection: http.client.HTTPConnection, path: str) -> bytes:
    connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
    response = connection.getresponse()
    body = response.read()
    if response.status != http.HTTPStatus.OK:
        raise BenchmarkFailed(f"{path} answers {response.status}.")
    return body


def _p99(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.99)]
