"""What the lint makes of the answers of pip-audit."""

import importlib.util
import json
from types import ModuleType

import pytest
from django.conf import settings


@pytest.fixture(scope="module")
def check() -> ModuleType:
    path = settings.BASE_DIR / ".ci" / "check_advisories.py"
    spec = importlib.util.spec_from_file_location("check_advisories", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def answer(*dependencies):
    return json.dumps({"dependencies": list(dependencies), "fixes": []})


SOUND = {"name": "numpy", "version": "2.4.6", "vulns": []}
UNKNOWN = {"name": "django", "skip_reason": "Dependency not found"}
BAD = {"name": "django", "version": "3.2", "vulns": [{"id": "PYSEC-1", "fix_versions": ["3.2.1"]}]}


@pytest.mark.parametrize(
    ("dependencies", "code", "said"),
    [
        ([SOUND], 0, "none is known for any pin"),
        ([SOUND, UNKNOWN], 0, "not checked: django"),
        ([UNKNOWN], 0, "not checked, because"),
        ([SOUND, BAD], 1, "django 3.2: PYSEC-1, mended in 3.2.1"),
    ],
)
def test_it_takes_no_pin_for_sound_that_nobody_looked_at(check, capsys, dependencies, code, said):
    assert check.judge(answer(*dependencies)) == code
    captured = capsys.readouterr()
    assert said in captured.out + captured.err


def test_it_reads_every_pin(check):
    pins = check.pins().splitlines()
    assert any(pin.startswith("psycopg==") for pin in pins) and all(
        "==" in pin and ";" not in pin and "[" not in pin for pin in pins
    )
