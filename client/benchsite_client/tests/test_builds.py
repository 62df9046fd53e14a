"""`benchsite builds`: what it refuses, the comment that it keeps up to date, and how the action calls it."""

import json
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from django.conf import settings

from benchsite.accounts.models import Role
from benchsite_client import messages
from benchsite_client.forges import MARKER, CommentFailed, update_comment
from benchsite_client.tests.installed import installed, packages
from runs.models import Matrix
from runs.tests.factories import make_user
from runs.tests.programs import get_token
from runs.tests.world import make_world

__all__ = ["installed", "packages"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
PLAN = """\
format = "benchsite-plan"
version = 3

[matrix]
entries = [{ database = "Redis", mode = "always" }]
workloads = ["Redis"]
rungs = [2]
"""
BUILDS = ("--build", "this", "folder=/srv/this", "commit=abcd1234", "--build", "base", "folder=/srv/base")


@pytest.fixture
def signed_in(installed, live_server, team):
    make_world(team, name="Redis")
    user = make_user(team=team, role=Role.BUILDER)
    token = get_token(team, user, "matrices:run", "builds:run", "runs:read")
    installed.environment = {"BENCHSITE_URL": live_server.url, "BENCHSITE_TOKEN": token}
    (installed.home / "plan.toml").write_text(PLAN)
    return installed


def test_code_of_forks_never_meets_secrets(signed_in):
    code, printed, complaints = signed_in.run("builds", "plan.toml", *BUILDS, GITHUB_EVENT_NAME="pull_request_target")

    assert (code, printed) == (2, "") and "secrets" in complaints
    assert Matrix.objects.count() == 1


def test_builds_of_forks_have_no_token_and_start_nothing(signed_in):
    skipped = signed_in.run("builds", "plan.toml", *BUILDS, "--without-token=skip", BENCHSITE_TOKEN="")

    assert skipped == (0, "No token here, as in builds of forks: nothing is measured (--without-token=skip).\n", "")
    assert signed_in.run("builds", "plan.toml", *BUILDS, BENCHSITE_TOKEN="")[0] == 2


def test_runner_without_the_role_starts_nothing(signed_in, team, live_server):
    token = get_token(team, make_user(team=team, role=Role.RUNNER), "matrices:run")
    code, _, complaints = signed_in.run("builds", "plan.toml", *BUILDS, BENCHSITE_TOKEN=token)

    assert code == 2 and "builds:run" in complaints and Matrix.objects.count() == 1


@pytest.mark.parametrize(
    ("file", "options", "part"),
    [
        ("", BUILDS, "has no table [matrix]"),
        ("[matrix", BUILDS, "cannot be read"),
        (PLAN, ("--build", "this", "folder"), "is no KEY=VALUE"),
        (PLAN, ("--build", "this", "secret=1"), "is no KEY=VALUE"),
        (PLAN, ("--build", "this", "commit=no commit", "folder=/srv/this"), "4 to 64 letters"),
    ],
)
def test_nonsense_is_one_sentence(signed_in, file, options, part):
    (signed_in.home / "plan.toml").write_text(file)
    code, _, complaints = signed_in.run("builds", "plan.toml", *options)

    assert code == 2 and part in complaints and "Traceback" not in complaints


class Forge(BaseHTTPRequestHandler):
    """Comments as GitHub and GitLab answer them. The first page is full of those of others."""

    def do_GET(self):
        page = int(self.path.rpartition("page=")[2])
        self.answer(self.server.comments[100 * (page - 1) : 100 * page])

    def do_POST(self):
        self.server.comments.append({"id": len(self.server.comments) + 1, **self.read()})
        self.answer(self.server.comments[-1])

    def do_PATCH(self):
        comment = self.server.comments[int(self.path.rpartition("/")[2]) - 1]
        comment.update(self.read())
        self.answer(comment)

    do_PUT = do_PATCH

    def read(self):
        self.server.requests.append((self.command, self.path, dict(self.headers)))
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, value):
        body = json.dumps(value).encode()
        self.send_response(200 if self.server.is_allowed else 403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def forge():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Forge)
    server.comments = [{"id": number, "body": f"{number} {MARKER}"} for number in range(1, 121)]
    server.requests, server.is_allowed = [], True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(params=["github", "gitlab"])
def job(request, forge, tmp_path):
    """The variables of a job, and the path of its comments."""
    address = f"http://127.0.0.1:{forge.server_port}"
    if request.param == "gitlab":
        variables = {
            "GITLAB_CI": "true", "CI_API_V4_URL": f"{address}/api/v4", "CI_PROJECT_ID": "42",
            "CI_MERGE_REQUEST_IID": "7", "GITLAB_TOKEN": "hush",
        }  # fmt: skip
        return variables, "/api/v4/projects/42/merge_requests/7/notes"
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}))
    variables = {
        "GITHUB_ACTIONS": "true", "GITHUB_API_URL": address, "GITHUB_REPOSITORY": "team/server",
        "GITHUB_EVENT_PATH": str(event), "GITHUB_TOKEN": "hush",
    }  # fmt: skip
    return variables, "/repos/team/server/issues/7/comments"


def test_one_comment_is_updated(forge, job):
    variables, path = job

    update_comment(variables, "first")
    update_comment(variables, "second")

    own = [comment["body"] for comment in forge.comments if comment["body"].startswith(MARKER)]
    assert own == [f"{MARKER}\nsecond"] and len(forge.comments) == 121
    (posted, place, headers), (changed, *_) = forge.requests
    assert (posted, place) == ("POST", path) and changed in ("PATCH", "PUT")
    assert "hush" in (headers.get("Authorization", "") + headers.get("Private-Token", ""))


def test_refusal_of_the_forge_is_a_sentence(forge, job):
    forge.is_allowed = False
    with pytest.raises(CommentFailed, match="HTTP 403"):
        update_comment(job[0], "text")


@pytest.mark.parametrize("change", [{"GITHUB_TOKEN": "", "GITLAB_TOKEN": ""}, {"GITHUB_ACTIONS": "", "GITLAB_CI": ""}])
def test_without_token_or_forge_nothing_is_sent(forge, job, change):
    with pytest.raises(CommentFailed):
        update_comment({**job[0], **change}, "text")
    assert forge.requests == []


def test_token_is_not_sent_without_tls(job):
    far = {"GITHUB_API_URL": "http://forge.example", "CI_API_V4_URL": "http://forge.example"}
    with pytest.raises(CommentFailed, match="TLS"):
        update_comment({**job[0], **far}, "text")


def test_names_of_builds_are_no_markup():
    build = {"name": "a|b", "commit": "abcd", "branch": "<img src=x>", "version": "8", "counted": 5}
    answer = {"verdict": "pass", "builds": [build], "comparisons": []}

    text = messages.describe_builds(answer, "https://site.example/m")

    assert r"a\|b" in text and r"\<img src=x\>" in text


def test_action_and_template_start_no_code_of_forks():
    root = Path(settings.BASE_DIR)
    action, template = (root / "action.yml").read_text(), (root / "client/ci/gitlab.yml").read_text()
    # Inputs reach the shell as variables: a branch with a quote in its name is no command.
    assert "${{" not in action.partition("run: bash")[2]
    script = (root / "client/ci/builds.sh").read_text()
    assert "--without-token=skip" in script and "pull_request_target" not in action + template


def test_script_passes_each_line_as_one_build(tmp_path, signed_in):
    """The action's script with the installed client in the place of a fresh environment."""
    commands = tmp_path / "commands"
    commands.mkdir()
    for name, text in {
        "python3": f'mkdir -p "$4/bin"; cp {commands}/pip {commands}/benchsite "$4/bin"',
        "pip": "exit 0",
        "benchsite": "printf '%s\\n' \"$@\"",
    }.items():
        (commands / name).write_text(f"#!/bin/sh\n{text}\n")
        (commands / name).chmod(0o755)
    variables = {
        "PATH": f"{commands}:{os.environ['PATH']}", "PLAN": "plan file.toml", "COMMENT": "true", "STRICT": "false",
        "BUILDS": "this folder=/srv/* commit=$(id)\n\nbase folder=/srv/base\n",
    }  # fmt: skip
    script = Path(settings.BASE_DIR, "client/ci/builds.sh")

    done = subprocess.run(["bash", script], env=variables, capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == [
        "builds", "plan file.toml", "--without-token=skip", "--build", "this", "folder=/srv/*", "commit=$(id)",
        "--build", "base", "folder=/srv/base", "--comment",
    ]  # fmt: skip
