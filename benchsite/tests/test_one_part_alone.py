"""`manage.py component` becomes one part of a site, for containers and service managers."""

import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from django.conf import settings as site
from django.core.exceptions import ImproperlyConfigured

from benchsite.core.generator_access import read_access, write_access
from benchsite.local import components
from benchsite.management.commands.component import NAMES, component
from benchsite.tests.databases import database_url

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def test_it_starts_what_the_supervisor_starts(settings):
    settings.BIND = "0.0.0.0"
    settings.GENERATOR_TOKEN = "bsg_lab-7_secret"
    settings.STATED_REDIS_URL = "redis://lab-7:password@redis.example:6379/0"
    parts = {name: component(name) for name in NAMES}
    assert "0.0.0.0:8000" in " ".join(parts["web"].argv)
    assert parts["scheduler"].argv == components.scheduler().argv
    assert parts["conductor"].argv == components.conductor().argv
    assert "load.lab-7" in parts["generator"].argv
    path = site.VAR_DIR / "generators" / "lab-7.json"
    assert parts["generator"].env == {"BENCHSITE_GENERATOR": "lab-7", "BENCHSITE_GENERATOR_FILE": str(path)}
    assert read_access(path) == {
        "site_url": "", "credential": "bsg_lab-7_secret", "redis_url": settings.STATED_REDIS_URL
    }  # fmt: skip


def test_credential_of_a_file_stays_there(tmp_path, settings):
    """So that a later enrolment, which writes the same file, takes effect."""
    settings.GENERATOR_ACCESS_FILE = tmp_path / "generator.json"
    settings.GENERATOR_TOKEN = "bsg_lab-7_secret"
    settings.STATED_REDIS_URL = "redis://:password@redis.example:6379/0"
    write_access(
        settings.GENERATOR_ACCESS_FILE,
        {"site_url": "http://web", "credential": "bsg_lab-7_secret", "redis_url": "redis://other/0"},
    )

    environment = component("generator").env

    assert environment["BENCHSITE_GENERATOR_FILE"] == str(settings.GENERATOR_ACCESS_FILE)
    assert environment["REDIS_URL"] == "redis://redis.example:6379/0"


@pytest.mark.parametrize("slots", ["0", "65", "many"])
def test_refuses_slots_that_no_pool_has(monkeypatch, settings, slots):
    settings.GENERATOR_TOKEN = "bsg_lab-7_secret"
    monkeypatch.setenv("BENCHSITE_GENERATOR_SLOTS", slots)
    with pytest.raises(ImproperlyConfigured, match="BENCHSITE_GENERATOR_SLOTS"):
        component("generator")


def test_the_scheduler_leaves_signs_of_life_and_ends_when_told(tmp_path, settings):
    environment = {
        "PATH": os.environ["PATH"],
        "DATABASE_URL": database_url(),
        "REDIS_URL": settings.REDIS_URL,
        "BENCHSITE_SECRET_KEY": "k" * 60,
        "BENCHSITE_VAR": str(tmp_path),
    }
    argv = [sys.executable, "manage.py", "component", "scheduler"]
    with subprocess.Popen(argv, cwd=site.BASE_DIR, env=environment, stderr=subprocess.PIPE) as process:
        end = time.monotonic() + 60
        while not (tmp_path / "alive").exists():
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0


def test_load_generators_log_in_the_format_of_the_site(tmp_path):
    environment = {
        "PATH": os.environ["PATH"],
        "REDIS_URL": f"unix://{tmp_path}/none.sock",
        "BENCHSITE_VAR": str(tmp_path),
        "BENCHSITE_LOG_FORMAT": "json",
        "BENCHSITE_GENERATOR_TOKEN": "bsg_lab-7_secret",
        "BENCHSITE_SITE_URL": "http://127.0.0.1:1",
    }
    argv = [sys.executable, "manage.py", "component", "generator"]
    with subprocess.Popen(argv, cwd=site.BASE_DIR, env=environment, stderr=subprocess.PIPE, text=True) as process:
        entries = (json.loads(line) for line in process.stderr if line.startswith("{"))
        assert any("Cannot connect" in entry["message"] for entry in entries)
        own = psutil.Process(process.pid)
        assert not [
            name for part in (own, *own.children()) for name, text in part.environ().items() if "secret" in text
        ]
        process.kill()
