"""Each command of the installed client against a live site, and what it says where something is wrong."""

import json
import os
import pty
import socket
import stat
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.utils import timezone

from benchsite_client.tests.installed import installed, packages
from reports.models import Baseline, BaselineRun
from runs.catalog import load_catalog
from runs.models import Run
from runs.queue import live
from runs.tests.factories import make_load_generator, make_matrix, make_run, make_sweep
from runs.tests.importing import summary
from runs.tests.programs import MANIFEST, get_token
from runs.tests.world import make_world

__all__ = ["installed", "packages"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
SCOPES = ("runs:read", "runs:write", "matrices:run")


@pytest.fixture
def signed_in(installed, live_server, team, user):
    """A client that is signed in at the live site."""
    token = get_token(team, user, *SCOPES)
    code, printed, complaints = installed.run("login", live_server.url, stdin=f"{token}\n")
    assert (code, complaints) == (0, ""), printed
    return installed


@pytest.fixture
def sweep(team):
    return make_sweep(team=team)


def test_login_is_private_and_used(signed_in, live_server):
    path = signed_in.home / ".config" / "benchsite" / "login.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(path.read_text())["address"] == f"{live_server.url}/"

    code, printed, _ = signed_in.run("open", "--print")

    assert (code, printed) == (0, f"{live_server.url}/\n")
    assert signed_in.run("login", "--forget")[0] == 0 and not path.exists()


def test_wrong_token_is_one_sentence_and_stored_nowhere(installed, live_server):
    code, _, complaints = installed.run("login", live_server.url, stdin="bs_wrong\n")

    assert code == 2 and "HTTP 401" in complaints and complaints.count("\n") == 1
    assert not (installed.home / ".config").exists()


def test_token_goes_to_its_own_site_only(signed_in):
    code, _, complaints = signed_in.run("open", BENCHSITE_URL="https://elsewhere.example")

    assert code == 2 and "benchsite login" in complaints


@pytest.mark.parametrize("command", [
    ("run", "nightly"), ("watch", "nightly"), ("verdict", "x"), ("export",), ("open",),
])  # fmt: skip
def test_without_login_is_one_sentence(installed, command):
    code, printed, complaints = installed.run(*command)

    assert (code, printed) == (2, "")
    assert complaints == (
        "benchsite: No site or no token: run `benchsite login ADDRESS`, or set BENCHSITE_URL and BENCHSITE_TOKEN.\n"
    )


def test_no_network_is_one_sentence(installed):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
        code, _, complaints = installed.run(
            "export", BENCHSITE_URL=address, BENCHSITE_TOKEN="bs_x", BENCHSITE_PATIENCE="0.1"
        )

    assert code == 3 and complaints.startswith("benchsite: given up after 0.1 s: the site cannot be reached")


class Proxy(BaseHTTPRequestHandler):
    """Notes what it is asked for, and answers like an empty site."""

    requests: list[str] = []

    def do_GET(self) -> None:
        self.requests.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_) -> None:
        pass


def test_goes_through_a_proxy(installed):
    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=(0.02,))
        thread.start()
        address = f"http://127.0.0.1:{proxy.server_address[1]}"
        arguments = ("login", "http://benchsite.example", "--allow-http")
        code, _, complaints = installed.run(*arguments, stdin="bs_x\n", http_proxy=address)
        proxy.shutdown()
        thread.join()

    assert code == 0, complaints
    assert Proxy.requests == ["http://benchsite.example/api/v1/runs?limit=1"]


def test_uploads_and_ends_as_the_verdict_says(signed_in):
    (signed_in.home / "manifest.json").write_text(json.dumps(MANIFEST))
    (signed_in.home / "run.txt").write_bytes(summary())

    code, printed, complaints = signed_in.run("upload", "--manifest", "manifest.json", "--no-verdict", "run.txt")

    stored = Run.objects.get()
    assert code == 5, complaints
    assert str(stored.pk) in printed and "The benchmark failed." in printed


def test_verdict_ends_with_the_codes_of_uploads(signed_in, sweep, team):
    runs = [make_run(sweep, threads=4, repeat=number, throughput=1900 + number) for number in (1, 2, 3)]
    baseline = Baseline.objects.create(team=team, name="release", set_at=timezone.now())
    BaselineRun.objects.create(baseline=baseline, run=runs[0])

    code, printed, complaints = signed_in.run("verdict", str(runs[2].pk), "--baseline", "release")
    strict, report, _ = signed_in.run("verdict", str(runs[2].pk), "--baseline", "release", "--strict", "--json")

    assert code == 0 and printed.endswith("No decision yet.\n"), (printed, complaints)
    assert strict == json.loads(report)["exit_code"] == 4
    assert json.loads(report)["verdicts"][0]["verdict"] == "inconclusive"


def test_verdict_of_no_run_is_one_sentence(signed_in):
    code, _, complaints = signed_in.run("verdict", "01890000-0000-7000-8000-000000000000")

    assert code == 2 and "HTTP 404" in complaints and complaints.count("\n") == 1


def test_run_queues_a_plan_once(signed_in, team):
    world = make_world(team, name="nightly")
    bindings = {system.binding.name: "digest" for system in load_catalog().systems.values()}
    entries, generator = [(world.database, "always")], make_load_generator(name="load-1", bindings=bindings)
    draft = make_matrix(
        team=team, name="draft", entries=entries, workloads=[world.workload], load_generators=[generator],
        submitted_at=None,
    )  # fmt: skip

    code, printed, complaints = signed_in.run("run", "draft")

    assert code == 0 and printed.startswith("draft is queued: http://"), complaints
    queued = draft.runs.filter(status="queued").count()
    assert queued > 0
    code, _, complaints = signed_in.run("run", "draft")
    assert code == 2 and "draft was queued before." in complaints
    assert draft.runs.filter(status="queued").count() == queued


def test_run_names_an_unknown_plan(signed_in):
    code, _, complaints = signed_in.run("run", "weekly")

    assert code == 2 and complaints == "benchsite: Your team has no plan with the name or id weekly.\n"


def test_watch_prints_runs_until_they_have_ended(signed_in, team):
    world = make_world(team, name="nightly")
    good = make_run(world.sweep, threads=4, throughput=1900)
    bad = make_run(world.sweep, threads=8, throughput=2000, verdict="reject")

    code, printed, _ = signed_in.run("watch", "nightly")
    _, lines, _ = signed_in.run("watch", str(world.matrix.pk), "--json")

    assert code == 5 and f"{good.name}: 1,900 ops/s, checks: pass\n" in printed
    assert f"{bad.name}: 2,000 ops/s, checks: reject" in printed and "All 3 runs have ended" in printed
    assert {json.loads(line)["id"] for line in lines.splitlines()} == {str(run.pk) for run in (world.run, good, bad)}


def test_watch_draws_what_runs_in_a_terminal(signed_in, team):
    world = make_world(team, name="nightly")
    run = make_run(world.sweep, threads=4, status="running")
    for second in range(1, 9):
        live.publish(run.pk, live.StatusLine(1, second, 1_700_000_000 + second, second * 1000, second * 1000, {}))
    ours, theirs = pty.openpty()
    process = signed_in.start("watch", "nightly", stdout=theirs)
    os.close(theirs)

    screen = read_until(ours, "ops/s")
    Run.objects.filter(pk=run.pk).update(
        status="cancelled", reason="cancelled_by_user", finished_at=timezone.now(), claim=None, stage=""
    )
    screen += read_until(ours, "have ended")
    os.close(ours)

    assert process.wait(30) == 5
    assert f"1/2 {run.name} ▂▃▄▅▅▆▇█ 8,000 ops/s" in screen
    for stream in (process.stdin, process.stderr):
        stream.close()


def read_until(terminal: int, text: str) -> str:
    screen = ""
    while text not in screen:
        screen += os.read(terminal, 4096).decode(errors="replace")
    return screen


def test_open_finds_rows(signed_in, sweep, live_server):
    run = make_run(sweep, threads=4, throughput=1900)

    for row in (run, sweep):
        code, printed, _ = signed_in.run("open", "--json", str(row.pk))
        assert code == 0 and json.loads(printed)["address"].startswith(f"{live_server.url}/")
        assert str(row.pk) in printed
