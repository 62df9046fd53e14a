"""The single-file client alone, against a stand-in for a site that is busy, slow, or sends it elsewhere."""

import json
import os
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.conf import settings

pytestmark = pytest.mark.slow

CLIENT = settings.BASE_DIR / "static" / "benchsite-upload.py"
RUN = {
    "id": "1", "name": "redis \x1b[31mA\r\n16t", "permalink": "http://x/1", "url": "/api/v1/runs/1", "phase": "measure",
    "verdict_url": "/api/v1/runs/1/verdict", "throughput_ops_s": 1000.0, "verdict": "pass", "findings": [],
}  # fmt: skip
METRIC = {
    "name": "READ p99", "ratio": 0.8, "state": "regressed", "reason": "READ p99 is 25 % higher | <b>\x00",
}  # fmt: skip


def verdict(word, *metrics):
    return {
        "verdict": word, "reasons": [f"{word}: said"], "new": {"runs": ["1"]}, "left_out": [], "metrics": list(metrics),
        "base": {"chosen": "By the rule."},
    }  # fmt: skip


class Stand(ThreadingHTTPServer):
    """Answers its requests with the given answers in order, and keeps the requests."""

    daemon_threads = False  # `end` waits for them: none outlives its test.

    def __init__(self, *answers) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.answers = list(answers)
        self.requests: list[object] = []
        self.thread = threading.Thread(target=self.serve_forever, args=(0.02,))
        self.thread.start()

    def end(self) -> None:
        self.shutdown()
        self.server_close()
        self.thread.join()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answers(BaseHTTPRequestHandler):
    server: Stand

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.requests.append((self.command, self.path, dict(self.headers), body))
        status, answer, more = (*self.server.answers.pop(0), {})[:3]
        text = json.dumps(answer).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(text)), **more}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = answer

    def log_message(self, *_) -> None:
        pass


@pytest.fixture
def run_client(tmp_path):
    """Runs it against a stand-in; its exit code, and what it printed."""
    (tmp_path / "run-1.txt").write_text("[OVERALL], Throughput(ops/sec), 1000\n")

    def ran(*answers, options=(), python=sys.executable, env=None, files=("run-1.txt",)):
        site = Stand(*answers)
        try:
            whole = {"PATH": os.environ["PATH"], "BENCHSITE_TOKEN": "bs_secret", "BENCHSITE_URL": site.address}
            whole |= {"BENCHSITE_PATIENCE": "20", "PYTHONUTF8": "1", **(env or {})}
            ended = subprocess.run(
                [python, str(CLIENT), *options, *files],
                cwd=tmp_path,
                env=whole,
                capture_output=True,
                text=True,
                timeout=60,
            )
        finally:
            site.end()
        return ended.returncode, ended.stdout + ended.stderr, site.requests

    return ran


STORED = (201, {"state": "saved", "runs": [RUN]})


@pytest.mark.parametrize(("word", "options", "code"), [
    ("pass", (), 0), ("improvement", (), 0), ("regression", (), 1), ("mixed", (), 1), ("mixed", ("--mixed=pass",), 0),
    ("inconclusive", (), 0), ("inconclusive", ("--strict",), 4), ("error", (), 5),
])  # fmt: skip
def test_it_ends_as_the_verdict_says(run_client, word, options, code):
    assert run_client(STORED, (200, verdict(word)), options=options)[0] == code


def test_retries_busy_site_with_same_key_and_same_body(run_client):
    busy = (503, {"type": "/problems/overloaded", "detail": "busy"}, {"Retry-After": "1"})
    exit_code, output, requests = run_client((429, {}, {"Retry-After": "0"}), busy, STORED, (200, verdict("pass")))
    assert exit_code == 0 and "again in" in output
    keys = {headers["Idempotency-Key"] for method, _, headers, _ in requests if method == "POST"}
    assert len(keys) == 1 and [method for method, *_ in requests] == ["POST"] * 3 + ["GET"]
    sizes = {len(body) for method, _, _, body in requests if method == "POST"}
    assert len(sizes) == 1 and b'filename="run-1.txt"' in requests[0][3]


def test_it_follows_a_large_upload_until_it_is_read(run_client):
    waiting = {"state": "reading", "url": "/api/v1/uploads/7", "runs": []}
    exit_code, _, requests = run_client((202, waiting), (200, waiting), (200, STORED[1]), (200, verdict("pass")))
    assert exit_code == 0 and [path for _, path, *_ in requests][1:3] == ["/api/v1/uploads/7"] * 2
    failed = {"state": "failed", "url": "/api/v1/uploads/7", "runs": [], "detail": "no YCSB output"}
    exit_code, output, _ = run_client((202, waiting), (200, failed))
    assert exit_code == 5 and "no YCSB output" in output


def test_the_token_is_sent_to_nobody_else_and_is_no_option(run_client):
    exit_code, _, requests = run_client((302, {}, {"Location": "http://127.0.0.1:1/elsewhere"}))
    assert exit_code == 3 and len(requests) == 1
    assert run_client(options=("--token", "bs_x"))[0] == 2
    exit_code, output, _ = run_client(env={"BENCHSITE_URL": "http://benchsite.example"})
    assert exit_code == 2 and "without TLS" in output
    assert run_client(env={"BENCHSITE_URL": "file:///etc/passwd"})[0] == 2


def test_a_token_may_lie_in_a_file(run_client, tmp_path):
    (tmp_path / "token").write_text("bs_other\n")
    exit_code, _, requests = run_client(STORED, (200, verdict("pass")), options=("--token-file", "token"))
    assert exit_code == 0 and requests[0][2]["Authorization"] == "Bearer bs_other"


def test_what_it_prints_and_writes_holds_nothing_but_text(run_client, tmp_path):
    options = ("--summary", "s.md", "--junit", "j.xml", "--json", "o.json")
    exit_code, output, _ = run_client(STORED, (200, verdict("regression", METRIC)), options=options)
    assert exit_code == 1 and "\x1b" not in output
    assert "\\| &lt;b&gt;" in (tmp_path / "s.md").read_text() and "<b>" not in (tmp_path / "j.xml").read_text()
    import xml.etree.ElementTree as ET

    assert ET.parse(tmp_path / "j.xml").getroot().attrib["failures"] == "1"
    assert json.loads((tmp_path / "o.json").read_text())["exit_code"] == 1


def test_sends_job_as_session_and_lists_flagged_manifests(run_client, tmp_path):
    (tmp_path / "m.json").write_text('{"cluster": {"nodes": 1}}')
    github = {
        "GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "o/r", "GITHUB_RUN_ID": "7", "GITHUB_JOB": "confirm",
        "GITHUB_RUN_ATTEMPT": "2",
    }  # fmt: skip
    options = ("--manifest", "m.json", "--runner", "bench", "--flagged", "flagged.txt")
    flagged = {**verdict("inconclusive"), "flagged": True}
    exit_code, output, requests = run_client(STORED, (200, flagged), options=options, env=github)
    assert exit_code == 0 and "measure this test again in a new job" in output
    assert (tmp_path / "flagged.txt").read_text() == "m.json\n"
    assert b'"session": "github:o/r:7:confirm:2"' in requests[0][3] and b'"name": "bench"' in requests[0][3]
    run_client(STORED, (200, verdict("pass")), options=options, env=github)
    assert (tmp_path / "flagged.txt").read_text() == "m.json\n"


@pytest.mark.parametrize("detail", ["It is no result.", "a.txt: It is no result."])
def test_reason_of_a_file_that_is_refused_is_said_once(run_client, detail):
    errors = [{"pointer": "#/files", "detail": "It is no result.", "file": "a.txt"}]
    refusal = {"type": "/problems/unsupported-format", "detail": detail, "errors": errors}
    exit_code, output, _ = run_client((415, refusal))
    assert exit_code == 5 and output.count("a.txt: It is no result.") == output.count("It is no result.") == 1, output


def test_refusal_names_options_of_every_fault(run_client):
    faults = {
        "mode": ("“allways” is no mode.", "--mode"),
        "version": ("Too long.", "--database-version"),
        "target_ops_s": ("Too small.", "--target"),
        "cluster/name": ("Too long.", "--runner"),
        "runs/1/threads": ("Not stated.", "--threads of run 2"),
        "workload/properties/readproportion": ("No number.", "workload/properties/readproportion in --manifest"),
    }
    errors = [{"pointer": f"#/manifest/{field}", "detail": detail} for field, (detail, _) in faults.items()]
    detail = f"{errors[0]['pointer']}: {errors[0]['detail']}"
    refusal = {"type": "/problems/validation-error", "detail": detail, "errors": errors}
    exit_code, output, _ = run_client((400, refusal))
    assert exit_code == 2 and "#/manifest" not in output
    assert all(f"{option}: {text}" in output for text, option in faults.values())


def test_files_of_one_name_keep_their_folders(run_client, tmp_path):
    for client in ("client-1", "client-2"):
        (tmp_path / client).mkdir()
        (tmp_path / client / "out.txt").write_text("x")
    names = ("client-1/out.txt", "client-2/out.txt")
    _, _, requests = run_client(STORED, (200, verdict("pass")), files=names)
    assert all(f'filename="{name}"'.encode() in requests[0][3] for name in names)


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.12", "3.13"])
def test_it_runs_on_older_and_newer_pythons(run_client, version):
    python = shutil.which(f"python{version}")
    if python is None or subprocess.run([python, "--version"], capture_output=True).returncode:
        pytest.skip(f"no Python {version} here")
    assert run_client(STORED, (200, verdict("regression", METRIC)), python=python)[0] == 1
