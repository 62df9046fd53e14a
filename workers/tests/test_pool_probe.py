"""Pool processes answer the probes of their load generator."""

import time

from workers.generator import pool_probe


def test_answer_within_a_tick_of_the_kernel_counts(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    (tmp_path / "probes" / "load-1").mkdir(parents=True)
    for _ in range(50):
        start = time.monotonic()

        pool_probe.answer_probe("load-1", time.time(), 1)

        assert time.monotonic() - start < pool_probe.ROUND_TIMEOUT_S
