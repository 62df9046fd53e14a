"""`benchsite mcp` asked by the real SDK over standard input: thirty questions, and never a number by itself."""

import asyncio
import json
import re
import sys
from pathlib import Path

import pytest

from benchsite.accounts.models import Role
from benchsite_client.tests.installed import installed, packages
from reports.tests.verdicts import commit_runs, make_test
from reports.trends.baselines import set_baseline
from runs.models import Matrix, Run
from runs.tests.factories import make_run, make_sweep, make_user
from runs.tests.programs import get_token
from runs.tests.world import make_world

sdk = pytest.importorskip("mcp", reason="The MCP SDK is not installed.")
__all__ = ["installed", "packages"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
SCOPES = ("runs:read", "matrices:run", "databases:write")
PARTS = {"text", "value", "unit", "n", "interval", "verdict", "mode"}
# A number with the unit of something measured, in a text.
MEASURED = re.compile(r"\d\s*(ops/s|µs|us\b|ms\b|MB/s)")


def ask(installed, *questions):
    """The answers to (tool, arguments), each as (is_error, structured content or text)."""

    async def converse():
        server = sdk.StdioServerParameters(
            command=sys.executable,
            args=["-m", "benchsite_client", "mcp"],
            env={"PYTHONPATH": ":".join([str(installed.folder), *sys.path]), "HOME": str(installed.home),
                 "PYTHONUTF8": "1", **installed.environment},
        )  # fmt: skip
        async with sdk.Client(server) as client:
            names = {tool.name: tool for tool in (await client.list_tools()).tools}
            answers = []
            for tool, arguments in questions:
                result = await client.call_tool(tool, arguments)
                texts = [part.text for part in result.content if part.type == "text"]
                answers.append((bool(result.is_error), result.structured_content or "\n".join(texts)))
            return names, answers

    return asyncio.run(asyncio.wait_for(converse(), 100))


def list_bare_numbers(part, place="", context=frozenset()):
    """Where a number stands without n, interval, verdict and mode."""
    if isinstance(part, dict):
        if "value" in part:
            if not part.keys() >= PARTS or not all(part[name] for name in ("n", "interval", "verdict", "mode")):
                yield f"{place}: {part}"
            interval = part.get("interval", {})
            if not ({"low", "high"} <= interval.keys() and None not in interval.values()) and not interval.get("none"):
                yield f"{place}: no interval and no reason"
            return
        for name, child in part.items():
            yield from list_bare_numbers(child, f"{place}/{name}", context | part.keys())
    elif isinstance(part, list):
        for at, child in enumerate(part):
            yield from list_bare_numbers(child, f"{place}/{at}", context)
    else:
        is_number = isinstance(part, int | float) and not isinstance(part, bool)
        # Sentences of a verdict or of a check have the verdict and the mode beside them, and say n themselves.
        is_measured = isinstance(part, str) and MEASURED.search(part) and "mode" not in context
        if is_number or is_measured:
            yield f"{place}: {part}"


@pytest.fixture
def site(installed, live_server, team):
    """Results of two commits and a curve with repeats, single runs and rejected ones; and a plan."""
    user = make_user(team=team, role=Role.RUNNER)
    world = make_world(team, name="Redis")
    curve = make_sweep(team=team, matrix=world.matrix, database=world.database, mode="always", name="redis always A")
    for threads, rates in {2: (1000.0, 1040.0, 1080.0), 4: (2000.0, 2010.0), 8: (3000.0,)}.items():
        for repeat, rate in enumerate(rates, 1):
            make_run(curve, threads=threads, repeat=repeat, throughput=rate)
    make_run(curve, threads=16, verdict="reject", throughput=9999.0)
    failed = make_run(curve, threads=32, status="failed", reason="client_failed")
    test = make_test(team)
    base = [
        commit_runs(test, f"{number}" * 8, 1000.0, days_ago=20 - number, repeats=3, session=f"job {number}")
        for number in range(1, 9)
    ]
    new = commit_runs(test, "d" * 8, 800.0, days_ago=1, repeats=3, session="job 9")
    set_baseline(team, user, "release", base[-1], chosen="The runs of a release.")
    installed.environment = {"BENCHSITE_URL": live_server.url, "BENCHSITE_TOKEN": get_token(team, user, *SCOPES)}
    return {"curve": curve, "failed": failed, "new": new[0], "base": base[-1][0], "world": world}


def test_thirty_questions_never_answer_a_bare_number(installed, site):
    curve, world = str(site["curve"].pk), site["world"]
    run = str(Run.objects.filter(sweep=site["curve"], threads=2).first().pk)
    plan = {
        "name": "asked", "entries": [{"database": "Redis", "mode": "always"}], "workloads": ["Redis"], "rungs": [2, 4],
        "load_generators": [world.generator.name],
    }  # fmt: skip
    questions = [
        ("list_curves", {}), ("list_curves", {"mode": "always"}), ("list_curves", {"database": "nothing"}),
        ("read_curve", {"curve": curve}), ("read_ceiling", {"curve": curve}),
        ("read_curve", {"curve": str(world.sweep.pk)}), ("read_ceiling", {"curve": str(world.sweep.pk)}),
        ("read_latency", {"curve": curve, "load": "2 threads"}),
        ("read_latency", {"curve": curve, "load": "2 threads", "operation": "READ", "statistic": "mean"}),
        ("read_latency", {"curve": curve, "load": "8 threads", "operation": "UPDATE"}),
        ("list_runs", {}), ("list_runs", {"status": "failed"}), ("list_runs", {"commit": "d" * 8}),
        ("read_run", {"run": run}), ("read_run", {"run": str(site["failed"].pk)}),
        ("read_run", {"run": str(Run.objects.get(verdict="reject").pk)}),
        ("judge_run", {"run": str(site["new"].pk)}), ("judge_run", {"run": str(site["base"].pk)}),
        ("judge_run", {"run": run}), ("judge_run", {"run": str(site["new"].pk), "baseline": "release"}),
        ("compare", {"base": "8" * 8, "new": "d" * 8}), ("compare", {"base": "release", "new": "d" * 8}),
        ("list_plans", {}), ("read_plan", {"plan": "Redis"}), ("list_databases", {}), ("list_workloads", {}),
        ("list_systems", {}), ("list_baselines", {}), ("preview_plan", {"plan": plan}), ("store_plan", {"plan": plan}),
    ]  # fmt: skip
    assert len(questions) == 30

    tools, answers = ask(installed, *questions)

    assert [answer for is_error, answer in answers if is_error] == []
    bare = {
        f"{tool} {arguments}": list(list_bare_numbers(answer))
        for (tool, arguments), (_, answer) in zip(questions, answers, strict=True)
    }
    assert {question: places for question, places in bare.items() if places} == {}
    points = answers[3][1]["points"]
    assert [(point["load"], point["throughput"]["n"]) for point in points][:3] == [
        ("2 threads", "3"), ("4 threads", "2"), ("8 threads", "1")
    ]  # fmt: skip
    first, single = points[0]["throughput"], points[2]["throughput"]
    assert first["interval"]["low"] < first["value"] < first["interval"]["high"] and first["mode"] == "always"
    assert "One run says nothing" in single["interval"]["none"]
    assert "[" in first["text"] and "n = 3" in first["text"]
    ratio = answers[20][1]["tests"][0]["metrics"]["throughput"]
    assert ratio["value"] == pytest.approx(0.8, rel=0.05) and "against" in ratio["n"]
    assert tools["read_curve"].annotations.read_only_hint and not tools["start_plan"].annotations.read_only_hint


def test_refusals_are_sentences_and_change_nothing(installed, site, team):
    runner = installed.environment["BENCHSITE_TOKEN"]
    viewer = make_user(team=team, role=Role.VIEWER, username="viola")
    before = Matrix.objects.count()
    plan = {"entries": [{"database": "Nowhere", "mode": "always"}], "workloads": [], "rungs": [2]}
    _, answers = ask(
        installed,
        ("read_curve", {"curve": "nonsense"}),
        ("read_latency", {"curve": str(site["curve"].pk), "load": "3 threads"}),
        ("read_latency", {"curve": str(site["curve"].pk), "load": "2 threads", "operation": "SCAN"}),
        ("compare", {"base": "nothing-like-it", "new": "d" * 8}),
        ("judge_builds", {"plan": "Redis"}),
        ("store_plan", {"plan": plan}),
        ("read_curve", {}),
    )
    assert [is_error for is_error, _ in answers] == [True] * len(answers)
    texts = [json.dumps(text) for _, text in answers]
    assert "2 threads; 4 threads" in texts[1] and "READ mean" in texts[2] and "Traceback" not in " ".join(texts)

    installed.environment["BENCHSITE_TOKEN"] = get_token(team, viewer, "runs:read")
    _, ((is_error, text),) = ask(installed, ("store_plan", {"plan": plan}))
    assert is_error and "matrices:run" in str(text) and Matrix.objects.count() == before
    installed.environment["BENCHSITE_TOKEN"] = runner


def test_without_the_sdk_it_says_how_to_install_it(installed):
    """The wheel's own dependencies alone."""
    code, printed, complaints = installed.run("mcp", BENCHSITE_URL="https://x.example", BENCHSITE_TOKEN="bs_x")

    assert (code, printed) == (2, "") and "./client[mcp]" in complaints


def test_extra_names_the_sdk():
    text = Path(__file__).parents[2].joinpath("pyproject.toml").read_text()

    assert 'mcp = ["mcp>=' in text and "mcp" not in text.partition("[project.optional-dependencies]")[0]
