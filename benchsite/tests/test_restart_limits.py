"""How many deaths of one part the supervisor remembers."""

import time

import pytest

from benchsite.local import components
from benchsite.local.components import Component


@pytest.mark.slow
def test_forgets_deaths_after_quiet_period(tmp_path, monkeypatch):
    part = Component("part", ["/bin/false"], tmp_path / "part.log", ready=lambda _: True)
    part.start(tmp_path / "registry")
    for expected in (1, 2):
        part.guarded.wait_for_exit(10)
        part.start_again(tmp_path / "registry")
        assert len(part.recent_deaths) == expected
    part.guarded.stop()
    monkeypatch.setattr(components, "DEATH_WINDOW_S", 0.05)
    time.sleep(0.06)
    assert part.recent_deaths == []
