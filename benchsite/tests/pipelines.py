"""A stand-in for a CI: the shell steps of docs/ci.md in a folder like a checkout, with the CI's environment."""

import json
import os
import random
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from django.conf import settings

DOC = settings.BASE_DIR / "docs" / "ci.md"
THREADS = 16
RUN_S = 180


def blocks(language: str) -> list[str]:
    """The fenced blocks of docs/ci.md in this language, in their order."""
    return re.findall(rf"^```{language}\n(.*?)^```", DOC.read_text(), re.MULTILINE | re.DOTALL)


def github_steps(name: str, job: str) -> list[str]:
    """What a job of the workflow of this name runs."""
    workflow = next(one for text in blocks("yaml") if (one := yaml.safe_load(text)).get("name") == name)
    return [step["run"] for step in workflow["jobs"][job]["steps"] if "run" in step]


def gitlab_steps(measure: str, judge: str) -> list[str]:
    pipeline = next(one for text in blocks("yaml") if "judge" in (one := yaml.safe_load(text)))
    shared = pipeline[pipeline[judge]["extends"]]["script"]
    results = pipeline[judge]["variables"]["RESULTS"]
    return [*pipeline[measure]["script"], *(step.replace("$RESULTS", results) for step in shared)]


def jenkins_steps() -> list[str]:
    return re.findall(r"sh '''\n(.*?)'''", blocks("groovy")[0], re.DOTALL)


def ycsb_output(level_ops_s: float, seed: int, *, seconds: int = RUN_S, noise: float = 0.004) -> str:
    """What a stock client prints at its end, with sixteen threads that are always busy."""
    chance = random.Random(seed)
    rate = level_ops_s * chance.lognormvariate(0, noise)
    each = round(rate * seconds / 2)
    lines = [f"[OVERALL], RunTime(ms), {seconds * 1000}", f"[OVERALL], Throughput(ops/sec), {2 * each / seconds}"]
    for operation in ("READ", "UPDATE"):
        mean = THREADS / rate * 1e6 * 0.97
        said = {
            "Operations": each, "AverageLatency(us)": f"{mean:.3f}", "MinLatency(us)": round(mean * 0.3),
            "MaxLatency(us)": round(mean * 20), "50thPercentileLatency(us)": round(mean * 0.85),
            "95thPercentileLatency(us)": round(mean * 2),
            "99thPercentileLatency(us)": round(mean * 3.4 * chance.lognormvariate(0, noise)), "Return=OK": each,
        }  # fmt: skip
        lines += [f"[{operation}], {name}, {value}" for name, value in said.items()]
    return "\n".join([*lines, ""])


@dataclass
class Checkout:
    """A folder with what docs/ci.md asks for; `bench/run.sh` prints what a YCSB client would."""

    folder: Path
    site: str
    token: str = ""
    outputs: list[str] = field(default_factory=list)
    said: str = ""  # what the last build printed

    def measuring(self, *outputs: str) -> "Checkout":
        """The next builds' runs print these, one after the other."""
        bench = self.folder / "bench"
        bench.mkdir(parents=True, exist_ok=True)
        (bench / "manifest.json").write_text(blocks("json")[0])
        for number, text in enumerate(outputs, 1):
            (bench / f"output-{number}").write_text(text)
        script = bench / "run.sh"
        turn = f"i=$(($(cat bench/i) % {len(outputs)} + 1))"
        script.write_text(f"#!/bin/sh\n{turn}; echo $i > bench/i; cat bench/output-$i\n")
        script.chmod(0o755)
        (bench / "i").write_text("0")
        return self

    def build(self, steps: list[str], **env: str) -> int:
        """Run the steps as a CI does, until one fails; its exit code."""
        whole = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(self.folder), "LANG": "C.UTF-8",
            "BENCHSITE_URL": self.site, "BENCHSITE_TOKEN": self.token, "BENCHSITE_PATIENCE": "5", **env,
        }  # fmt: skip
        self.said = ""
        for step in steps:
            assert "${{" not in step, "an expression inside of a shell step"
            ended = subprocess.run(
                ["bash", "-e", "-c", step], cwd=self.folder, env=whole, capture_output=True, text=True, timeout=120
            )
            self.said += ended.stdout + ended.stderr
            if ended.returncode:
                return ended.returncode
        return 0


def github(
    folder: Path, commit: str, *, build: int, branch: str = "main", fork: bool = False, job: str = "benchmark"
) -> dict[str, str]:
    """The variables of a push, or of a pull request of a fork, which has no secrets."""
    event: dict[str, Any] = {}
    if fork:
        event = {"pull_request": {"head": {"sha": commit, "ref": branch, "repo": {"full_name": "someone/db"}}}}
    (folder / "event.json").write_text(json.dumps(event))
    return {
        "GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "acme/db", "GITHUB_RUN_ID": str(build),
        "GITHUB_JOB": job,
        "GITHUB_SHA": "0" * 40 if fork else commit, "GITHUB_REF_NAME": "7/merge" if fork else branch,
        "GITHUB_HEAD_REF": branch if fork else "", "GITHUB_EVENT_NAME": "pull_request" if fork else "push",
        "GITHUB_EVENT_PATH": str(folder / "event.json"), "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "GITHUB_OUTPUT": str(folder / "outputs.txt"),
        "GITHUB_SERVER_URL": "https://github.com", "BUILD_NUMBER": str(build),
    }  # fmt: skip


def workflow_run(folder: Path, commit: str, *, build: int, branch: str, attempt: int = 1) -> dict[str, str]:
    """The variables of the workflow that judges a fork's results afterwards, on the default branch."""
    env = github(folder, "1" * 40, build=build + 1000)
    before = {
        "id": build, "head_sha": commit, "head_branch": branch, "head_repository": {"full_name": "someone/db"},
        "run_attempt": attempt,
    }  # fmt: skip
    (folder / "event.json").write_text(json.dumps({"workflow_run": before}))
    return env | {"GITHUB_EVENT_NAME": "workflow_run"}


def gitlab(commit: str, *, build: int, branch: str = "main", job: str = "judge") -> dict[str, str]:
    return {
        "GITLAB_CI": "true", "CI_PROJECT_ID": "42", "CI_PIPELINE_ID": str(build), "CI_JOB_NAME": job,
        "CI_COMMIT_SHA": commit, "CI_COMMIT_BRANCH": branch, "CI_JOB_URL": f"https://gitlab.example/jobs/{build}",
    }  # fmt: skip


def jenkins(commit: str, *, build: int, branch: str = "main") -> dict[str, str]:
    return {
        "JENKINS_URL": "https://ci.example/", "JOB_NAME": "db/main", "BUILD_NUMBER": str(build), "GIT_COMMIT": commit,
        "GIT_BRANCH": f"origin/{branch}", "BUILD_URL": f"https://ci.example/job/db/{build}/",
    }  # fmt: skip
