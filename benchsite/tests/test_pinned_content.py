"""Wheels are pinned by the hashes in requirements.lock, images of a release by digests that `make release` writes."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from django.conf import settings
from packaging.requirements import Requirement

ROOT = Path(settings.BASE_DIR)
WRITER = ROOT / ".ci" / "write_digests.py"
PINNED = r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}"
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]


def pins(text):
    requirements = [Requirement(line) for line in text if line]
    return {requirement.name.lower().replace("_", "-"): str(requirement.specifier) for requirement in requirements}


def test_the_lock_has_a_hash_of_every_pin():
    """`make lock` writes it after a change of requirements.txt."""
    lines = (ROOT / "requirements.lock").read_text().replace("\\\n", "").splitlines()
    locked = {}
    for line in lines:
        requirement, *hashes = line.split(" --hash=")
        assert hashes and all(re.fullmatch(r"sha256:[0-9a-f]{64}", text.strip()) for text in hashes), requirement
        locked |= pins([requirement.strip()])
    wanted = pins(line.split("#")[0].strip() for line in (ROOT / "requirements.txt").read_text().splitlines())
    assert {name: locked.get(name) for name in wanted} == wanted


def test_installations_demand_the_hashes():
    for file in ("Makefile", "Dockerfile"):
        assert re.search(r"install .*--require-hashes", (ROOT / file).read_text()), file


@pytest.fixture
def registry(tmp_path, monkeypatch):
    """A `docker` whose registry answers with this text."""

    def answers(text):
        command = tmp_path / "docker"
        command.write_text(f"#!/bin/sh\necho '{text}'\n")
        command.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    return answers


@pytest.fixture
def writer():
    specification = importlib.util.spec_from_file_location("write_digests", WRITER)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_a_release_names_every_image_by_its_digest(registry, writer):
    registry("sha256:" + "ab" * 32)
    text = writer.document((ROOT / "docker-compose.yml").read_text(), (ROOT / "Dockerfile").read_text())
    services = yaml.safe_load(text)["services"]
    ours = {name for name, service in COMPOSE.items() if service["image"].startswith("benchsite:")}
    assert set(services) == set(COMPOSE) - ours | {"migrate"}
    for name, service in services.items():
        if "build" in service:
            assert COMPOSE[name]["image"].startswith("benchsite:"), name
            assert re.fullmatch(PINNED, service["build"]["args"]["PYTHON_IMAGE"]), name
        else:
            assert re.fullmatch(PINNED, service["image"]), name
            assert service["image"].partition("@")[0] == COMPOSE[name]["image"]


def test_an_answer_that_is_no_digest_writes_nothing(registry):
    registry("sha256:short")
    done = subprocess.run([sys.executable, WRITER], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "No digest of" in done.stderr
    assert not (ROOT / "docker-compose.digests.yml").exists()
