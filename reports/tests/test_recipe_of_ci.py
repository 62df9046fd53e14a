"""The recipe of docs/ci.md with the client itself: one job for each commit, its exit codes and what people see."""

import datetime as dt
import json
import os
import subprocess
import sys

import pytest
from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from benchsite.accounts.models import Scope
from benchsite.accounts.tokens import make
from reports.models import History
from runs.models import Run, Sweep
from runs.tests.importing import summary

CLIENT = settings.BASE_DIR / "static" / "benchsite-upload.py"
MANIFEST = {
    "system": "redis", "mode": "always", "database": "redis", "workload": "YCSB A", "threads": 8, "purpose": "demo",
    "cluster": {"name": "bench", "hardware": "bench-1: 16 cores"},
}  # fmt: skip
NOISE = (0, 150, -220, 90, -60, 200, -110, 40, -180, 120, 10, -90, 60, -30, 110, -70, 20)


@pytest.fixture
def run_job(live_server, team, user, tmp_path):
    """Upload the result of a job for a commit; the client's exit code and output."""
    token = make(team, user, name="ci", scopes=(Scope.RUNS_READ, Scope.RUNS_WRITE))
    (tmp_path / "manifest.json").write_text(json.dumps(MANIFEST))

    def run(number: int, operations: int, branch: str = "main", attempt: int = 1) -> tuple[int, str]:
        half = operations // 2 + NOISE[number % len(NOISE)]
        (tmp_path / "run-1.txt").write_bytes(summary(reads=half, updates=half))
        env = {
            "PATH": os.environ["PATH"], "PYTHONUTF8": "1", "BENCHSITE_TOKEN": token, "BENCHSITE_URL": live_server.url,
            "GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "acme/store", "GITHUB_JOB": "benchmark",
            "GITHUB_RUN_ID": str(1000 + number), "GITHUB_RUN_ATTEMPT": str(attempt), "GITHUB_REF_NAME": branch,
            "GITHUB_SHA": f"{number:04x}feed{number:032x}",
        }  # fmt: skip
        command = [sys.executable, str(CLIENT), "--manifest", "manifest.json", "run-1.txt"]
        ended = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
        at = timezone.now() - dt.timedelta(days=15 - number)
        runs = Run.objects.filter(commit__startswith=f"{number:04x}feed")
        runs.update(finished_at=at, started_at=at - dt.timedelta(seconds=10))
        Sweep.objects.filter(runs__in=runs).update(created_at=at)
        return ended.returncode, ended.stdout + ended.stderr

    return run


def run_two_weeks(run_job) -> list[tuple[int, str]]:
    return [run_job(number, 100_000 if number < 12 else 82_000) for number in range(14)]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_loss_of_18_percent_ends_red_and_stays_red(run_job, client_in, team):
    ended = run_two_weeks(run_job)
    assert [code for code, _ in ended] == [0] * 13 + [1], ended[-1][1]
    assert "Flagged: measure this test again in a new job." in ended[12][1]
    assert "Regression since commit 000cfeed" in ended[13][1]
    assert run_job(14, 82_000)[0] == 1
    news = client_in.get(reverse("news"))
    ((_, change),) = news.context["changes"]["histories"]
    assert change.point.commit.startswith("000cfeed") and change.relative == pytest.approx(-0.18, abs=0.01)
    lost = Run.objects.get(commit__startswith="000cfeed")
    client_in.post(reverse("history-accept", args=[History.objects.get().config_key]), {"run": lost.pk})
    code, output = run_job(15, 82_000)
    assert code == 0 and "Regression" not in output
