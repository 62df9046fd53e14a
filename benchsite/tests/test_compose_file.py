"""docker-compose.yml, .env.example and the Dockerfile: what matters of them, held against the code."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from importlib.resources import files
from pathlib import Path

import pytest
import yaml
from django.conf import settings
from django.core.management import load_command_class
from jsonschema.validators import validator_for  # type: ignore[import-untyped,unused-ignore]

from benchsite.core.production import SAMPLE_KEY
from benchsite.management.commands.component import NAMES

ROOT = Path(settings.BASE_DIR)
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES = COMPOSE["services"]
OURS = {"migrate", "web", "scheduler", "conductor", "generator", "conductor-docker"}
VARIABLE = re.compile(r"\$\{(\w+)(?::?[-?][^}]*)?\}")
DOCKERFILE = (ROOT / "Dockerfile").read_text()
# Written into every container by the image, or by Docker itself.
SECRETS = re.compile(r"PASSWORD|SECRET|TOKEN|ACCESS_KEY")

each_service = pytest.mark.parametrize("name", sorted(SERVICES))


def example() -> dict[str, str]:
    lines = (ROOT / ".env.example").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def schema_errors(text: str) -> list[str]:
    """What the schema of the Compose Specification refuses of this file."""
    schema = json.loads(files("check_jsonschema.builtin_schemas.vendor").joinpath("compose-spec.json").read_text())
    return [error.message for error in validator_for(schema)(schema).iter_errors(yaml.safe_load(text))]


def test_the_specification_accepts_every_compose_file():
    text = (ROOT / "docker-compose.yml").read_text()
    examples = re.findall(r"^    services:\n(?:^(?:     .*)?\n)+", (ROOT / "docs" / "deployment.md").read_text(), re.M)
    assert examples, "docs/deployment.md has the override for TLS"
    assert [schema_errors(each) for each in (text, *map(textwrap.dedent, examples))] == [[]] * (1 + len(examples))
    assert schema_errors(text.replace("read_only:", "readonly:"))
    assert schema_errors(text.replace("internal: true", "internal: 7"))


def test_it_has_every_part_of_a_site():
    assert {"postgres", "redis"} | OURS <= set(SERVICES)
    commands = {name: SERVICES[name]["command"] for name in OURS}
    generators = "${BENCHSITE_GENERATORS:-2}"
    assert commands.pop("migrate") == ["python", "manage.py", "prepare", "--generators", generators]
    assert SERVICES["generator"]["deploy"]["replicas"] == generators
    assert commands.pop("conductor-docker") == commands["conductor"]
    assert commands == {name: ["python", "manage.py", "component", name] for name in NAMES}
    for command in ("component", "prepare"):
        load_command_class("benchsite", command)


@each_service
def test_it_hardens_every_part(name):
    service = SERVICES[name]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", service["user"]), "a number, so that the image cannot make it root"
    assert service["cap_drop"] == ["ALL"] and service["read_only"] is True
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "cap_add", "pid", "network_mode", "ipc"} & set(service)


@each_service
def test_it_bounds_every_part(name):
    service = SERVICES[name]
    limits = service["deploy"]["resources"]["limits"]
    assert {"memory", "pids"} <= set(limits)
    assert ("cpus" in limits) is (name != "generator"), "a throttled client would measure its throttle"
    assert service["logging"]["options"] == {"max-size": "10m", "max-file": "5"}


@each_service
def test_it_looks_after_every_part(name):
    service = SERVICES[name]
    if name == "migrate":
        assert service["healthcheck"] == {"disable": True} and service["restart"] == "no"
        return
    assert service["restart"] == "unless-stopped"
    if name in OURS - {"web"}:
        assert "healthcheck" not in service, "the image has it, also for load generators of other hosts"
        return
    check = service["healthcheck"]
    assert check["test"][0] in ("CMD", "CMD-SHELL") and {"interval", "timeout", "retries"} <= set(check)


@each_service
def test_it_waits_for_what_it_needs(name):
    needed = SERVICES[name].get("depends_on", {})
    servers = {server: {"condition": "service_healthy"} for server in ("postgres", "redis")}
    if name == "migrate":
        assert needed == servers
    elif name in OURS:
        assert needed == {**servers, "migrate": {"condition": "service_completed_successfully"}}


def test_postgresql_is_not_process_1():
    """It takes an orphan that a signal ended for a server process that crashed, and restarts them all."""
    assert SERVICES["postgres"]["init"] is True


def test_one_service_builds_the_image():
    assert {name for name, service in SERVICES.items() if "build" in service} == {"migrate"}


def test_web_reaches_what_its_forms_try():
    assert {"targets"} <= set(SERVICES["web"]["networks"])
    assert SERVICES["target"]["networks"] == ["targets"]


def test_it_publishes_the_web_server_alone():
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published == {"web": ["${BENCHSITE_PUBLISH:-127.0.0.1:8000}:8000"]}
    assert COMPOSE["networks"]["data"] == COMPOSE["networks"]["queue"] == {"internal": True}
    assert SERVICES["postgres"]["networks"] == ["data"] and SERVICES["redis"]["networks"] == ["data", "queue"]


def test_generators_have_no_secret_and_reach_no_database():
    generator = SERVICES["generator"]
    assert set(generator["environment"]) == {
        "BENCHSITE_MACHINE", "BENCHSITE_LOG_FORMAT", "BENCHSITE_GENERATOR_SLOTS", "BENCHSITE_WORK"
    }  # fmt: skip
    assert generator["env_file"] == [{"path": "generator.env", "required": False}]
    assert generator["networks"] == ["queue", "outside", "targets"]
    assert generator["volumes"][-1] == "credentials:/srv/benchsite/credentials:ro"


def test_it_gives_no_secret_a_default():
    text = (ROOT / "docker-compose.yml").read_text()
    for variable in re.findall(r"\$\{[^}]*\}", text):
        name = VARIABLE.fullmatch(variable)
        assert name, variable
        if SECRETS.search(name[1]):
            assert ":?" in variable or variable.endswith(":-}"), variable
    values = example()
    assert values.pop("BENCHSITE_SECRET_KEY") == SAMPLE_KEY
    assert not {name: value for name, value in values.items() if SECRETS.search(name) and value}


def test_it_asks_for_what_the_example_names():
    values = set(VARIABLE.findall((ROOT / "docker-compose.yml").read_text()))
    assert values - set(example()) == {"DOCKER_GROUP"}
    assert set(example()) <= values


def test_it_passes_on_only_what_the_settings_read():
    code = "".join(path.read_text() for path in [*ROOT.glob("benchsite/**/*.py"), *ROOT.glob("workers/*.py")])
    for name in SERVICES["web"]["environment"]:
        if name.startswith("BENCHSITE_S3_"):
            assert f'"{name.removeprefix("BENCHSITE_S3_")}"' in code or name in code
        else:
            assert f'"{name}"' in code, name


def test_it_mounts_the_docker_socket_in_its_profile_alone():
    with_socket = [name for name, service in SERVICES.items() if "docker.sock" in str(service.get("volumes"))]
    assert with_socket == ["conductor-docker"]
    assert SERVICES["conductor-docker"]["profiles"] == ["docker"]
    assert SERVICES["target"]["profiles"] == ["target"]


def test_it_pins_every_image():
    bases = re.findall(r"^ARG PYTHON_IMAGE=(\S+)", DOCKERFILE, re.M)
    assert len(bases) == 1 and set(re.findall(r"^FROM (\S+)", DOCKERFILE, re.M)) == {"$PYTHON_IMAGE"}
    images = {service["image"] for service in SERVICES.values()} | set(bases)
    for image in images:
        assert re.fullmatch(r"\w+:\d[\w.-]*|benchsite:\$\{BENCHSITE_RELEASE:\?.*\}", image), image


def test_the_image_runs_as_nobody_and_holds_what_it_needs():
    final = DOCKERFILE.split("# --- The image.")[1]
    assert "\nUSER 10001:10001\n" in final and "HEALTHCHECK" in final
    assert 'ENTRYPOINT ["/usr/bin/tini", "--"]' in final
    assert "jdk-headless" not in final and "maven" not in final
    assert {service["user"] for name, service in SERVICES.items() if name in OURS} == {"10001:10001"}
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.M)
    for path in (path for paths in copied for path in shlex.split(paths)):
        assert (ROOT / path).exists(), path


def test_the_image_leaves_out_what_is_not_named():
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert next(line for line in lines if not line.startswith("#")) == "*"
    for room in ("benchsite", "runs", "workers", "reports", "benchmarks", "static", "templates", "manage.py"):
        assert f"!{room}" in lines
        assert re.search(rf"^COPY {room}\b", DOCKERFILE, re.M), room


def test_stage_of_bindings_has_what_the_build_imports(tmp_path):
    stage = DOCKERFILE.split("AS bindings")[1].split("FROM")[0]
    for sources, target in re.findall(r"^COPY (.+) (\S+)$", stage, re.MULTILINE):
        for source in map(Path, sources.split()):
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, tmp_path / target)
            else:
                (tmp_path / target).mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / source, tmp_path / target)

    argv = [sys.executable, "-S", "workers/systems/build.py", "--help"]
    done = subprocess.run(argv, cwd=tmp_path, env={}, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
