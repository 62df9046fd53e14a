"""One try of every fault, on a real site (`make faults`)."""

import os
import subprocess
import sys

import pytest
from django.conf import settings

from benchmarks.faults.registry import FAULTS

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("site"), pytest.mark.timeout(1200)]


@pytest.mark.parametrize("name", FAULTS)
def test_fault_loses_doubles_and_blocks_nothing(name, tmp_path):
    table = tmp_path / "faults.md"
    done = subprocess.run(
        [sys.executable, str(settings.BASE_DIR / "manage.py"), "faults", name, "--table", str(table)],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "benchsite.settings"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert table.read_text().startswith(f"| {name} | ")
