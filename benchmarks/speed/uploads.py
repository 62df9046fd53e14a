"""How fast programs upload, and that nothing is lost when the server is killed in the middle of ten thousand."""

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Final

from django.core.files.base import ContentFile

from benchmarks.speed.live import BenchmarkFailed
from benchmarks.speed.report import Report
from benchmarks.speed.typical import MANIFEST, typical
from benchmarks.speed.uploader import Sent, body_of, send_all
from benchsite.env import env_int
from benchsite.supervisor import Site
from benchsite.teams import tokens
from benchsite.teams.bootstrap import ensure_demo_team
from benchsite.teams.models import Team, User
from runs.models import MeasurementSet, Run, UploadKey
from runs.uploading import api_upload, upload_lifecycle
from runs.uploading.api_upload import Asked
from runs.uploading.manifest import manifest_of
from runs.uploading.processing import work_on

SUSTAINED: Final = 1_500
IN_ONE_GO: Final = 2_000  # `make test-long` has the ten thousand
# Where the site is slow, fewer are sent: the bench takes three minutes at most.
SUSTAINED_S, IN_ONE_GO_S = 30.0, 70.0
ALONE: Final = 30  # by either way, one after the other
CHECKS: Final = 2_000  # of the token
CONNECTIONS: Final = 8
KILLS: Final = 3  # a site starts no part more often
WANTED_A_SECOND, WANTED_P99_S, WANTED_CHECK_S = 40.0, 0.5, 0.001


def measure(site: Site) -> Report:
    """Uploads of a text and two logs, all different, client and server on this machine."""
    team, user = ensure_demo_team()
    token = tokens.make(team, user, name="benchmark", scopes=["runs:write"])
    prefix = f"bench-{time.time():.0f}"
    send_all(site.url, token, range(100), _body, connections=CONNECTIONS, prefix=f"{prefix}-warm", most_s=10.0)
    # Made before: what is measured is how they are taken, not how they are written.
    bodies = {number: _body(number) for number in range(SUSTAINED)}
    before = Run.objects.count()
    sustained = send_all(
        site.url,
        token,
        range(SUSTAINED),
        bodies.__getitem__,
        connections=CONNECTIONS,
        prefix=f"{prefix}-s",
        most_s=SUSTAINED_S,
    )
    lost = sustained.asked - (Run.objects.count() - before)
    once, twice = _alone(team, user, prefix)
    check_s = median(_timed(partial(tokens.bearer_of, token)) for _ in range(CHECKS))
    number = env_int("BENCHSITE_BENCH_UPLOADS", IN_ONE_GO, least=100, most=1_000_000)
    most_s = float("inf") if number > IN_ONE_GO else IN_ONE_GO_S
    killed, left, kills = _while_killing(site, token, number, f"{prefix}-k", most_s)
    figure = sustained.answered / sustained.seconds
    met = (
        figure >= WANTED_A_SECOND and sustained.quantile_s(0.99) < WANTED_P99_S and check_s < WANTED_CHECK_S
        and lost == left == 0 and not sustained.failed and not killed.failed
    )  # fmt: skip
    return Report(
        name="uploads",
        title=f"Uploads of a text and two logs, {typical(0).size / 1000:.0f} KB, {CONNECTIONS} connections",
        columns=("what", "number", "a second", "median ms", "p99 ms", "lost"),
        rows=[
            ["sustained", sustained.asked, figure, *_ms(sustained), lost],
            [f"in one go, the web server killed {kills} times", killed.asked, killed.answered / killed.seconds,
             *_ms(killed), left],
            ["one after the other, in memory", ALONE, 1 / once, once * 1000, "-", "-"],
            ["one after the other, as the import page does it", ALONE, 1 / twice, twice * 1000, "-", "-"],
            ["check of a token", CHECKS, 1 / check_s, check_s * 1000, "-", "-"],
        ],
        figure=figure,
        unit="uploads/s",
        wanted=f"at least {WANTED_A_SECOND:g}, p99 under {WANTED_P99_S * 1000:g} ms, none lost; a token in under 1 ms",
        met=met,
        notes=f"In memory is {twice / once:.1f} times as fast as the import page's way. Of the uploads in one go "
        f"{killed.repeats:,} requests were repeats; nothing was stored twice.",
        raw={"failed": [*sustained.failed, *killed.failed]},
    )  # fmt: skip


def _body(number: int) -> bytes:
    return body_of(typical(number), number)


def _ms(sent: Sent) -> tuple[float, float]:
    return sent.quantile_s(0.5) * 1000, sent.quantile_s(0.99) * 1000


def _alone(team: Team, user: User, prefix: str) -> tuple[float, float]:
    """Seconds of one upload by either way, in turn, so that neither gains by a machine that gets busier."""
    manifest = manifest_of({**MANIFEST, "notes": prefix})
    once, twice = [], []
    for number in range(ALONE):
        files = typical(10_000_000 + number).files
        arrived = [api_upload.brought(*file) for file in files]
        upload = Asked(team, user, "request", f"{prefix}-alone-{number}", manifest, arrived)
        once.append(_timed(partial(api_upload.upload, upload, lambda *rows: {})))
        others = typical(20_000_000 + number).files
        twice.append(_timed(partial(_as_the_page, team, user, others, manifest.model_dump())))
    return median(once), median(twice)


def _as_the_page(team: Team, user: User, files: tuple[tuple[str, bytes], ...], manifest: dict[str, object]) -> None:
    """Kept, read, shown, completed, read again and saved."""
    row, claim = upload_lifecycle.receive(team, user, [(name, ContentFile(content)) for name, content in files])
    upload_lifecycle.let_go(row.pk, claim, manifest=manifest)
    while working := upload_lifecycle.begin(row.pk):
        work_on(row.pk, working)


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _while_killing(site: Site, token: str, number: int, prefix: str, most_s: float) -> tuple[Sent, int, int]:
    """Uploads that are repeated until they are answered, how many are missing or there in halves, and the kills."""
    before = _whole()
    sent: list[Sent] = []

    def upload() -> None:
        numbers = range(1_000_000, 1_000_000 + number)
        sent.append(send_all(site.url, token, numbers, _body, connections=CONNECTIONS, prefix=prefix, most_s=most_s))

    thread = threading.Thread(target=upload)
    thread.start()
    dice, kills, due = random.Random(20_260_502), 0, time.monotonic() + 3
    while thread.is_alive():
        if kills < KILLS and time.monotonic() > due:
            _kill_web(site)
            kills, due = kills + 1, time.monotonic() + dice.uniform(10, 30)
        site.check()  # Starts it again.
        thread.join(0.2)
    after = _whole()
    attempts = sent[0].asked
    return sent[0], max(abs(attempts - (now - then)) for now, then in zip(after, before, strict=True)), kills


def _whole() -> tuple[int, ...]:
    return Run.objects.count(), MeasurementSet.objects.count(), UploadKey.objects.count()


def _kill_web(site: Site) -> None:
    """As the kernel does it when memory runs out: gunicorn and its workers, at once."""
    web = next((component for component in site.components if component.name == "web"), None)
    if web is None or web.guarded is None:
        raise BenchmarkFailed("The site has no web server that could be killed.")
    os.killpg(web.guarded.pgid, signal.SIGKILL)
