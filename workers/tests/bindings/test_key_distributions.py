"""Which keys a run really asks for, by its ledger of acknowledged writes, against what pages state."""

import math
import os
from collections import Counter

import numpy as np
import pytest

from runs.ycsb.key_shares import compute_key_shares
from runs.ycsb.keys import loaded_keys
from runs.ycsb.properties import check_workload
from workers.tests.bindings.conftest import Target

pytestmark = pytest.mark.slow
GOLDEN_SECTION = (math.sqrt(5) - 1) / 2


@pytest.fixture
def count_updates(redis_target: Target, tmp_path, monkeypatch):
    """A function that runs updates and counts them by the number of their record."""

    def run(records: int, operations: int, **properties: str) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
        size = {"recordcount": str(records), "fieldcount": "1", "dataintegrity": "false"}
        redis_target.load(size)
        ledger = tmp_path / "ledger"
        options = os.environ.get("JAVA_TOOL_OPTIONS", "")
        monkeypatch.setenv("JAVA_TOOL_OPTIONS", f"{options} -Dbenchsite.ledger={ledger}")
        mix = {"readproportion": "0", "updateproportion": "1", "operationcount": str(operations)}
        ended = redis_target.run({**size, **mix, **properties}, threads=4)
        assert ended.returns == {"UPDATE": {"OK": operations}}, ended.stderr
        (names,) = loaded_keys(size).batches(records)
        counts = Counter(line.split()[0] for line in ledger.read_text().splitlines())
        return np.array([counts[name] for name in names])

    return run


@pytest.mark.parametrize("records", [1_000, 10_000])
def test_zipfian_is_as_uneven_as_pages_state(count_updates, records):
    workload = {"recordcount": str(records), "readproportion": "1", "requestdistribution": "zipfian"}
    stated = compute_key_shares(check_workload(workload))
    counts = np.sort(count_updates(records, 60_000, requestdistribution="zipfian"))[::-1]
    assert counts[: records // 100].sum() / counts.sum() == pytest.approx(stated.hottest_percent, abs=0.01)
    assert counts[:10].sum() / counts.sum() == pytest.approx(stated.hottest_ten, abs=0.01)


@pytest.mark.parametrize("constant", [0.6, 0.99, 1.2])
def test_exact_zipfian_has_its_constant(count_updates, constant):
    """The most likely exponent of the ranks of 10 operations per key, whose standard error is below 0.006."""
    records = 1_000
    counts = count_updates(records, 10 * records, requestdistribution="exactzipfian", zipfianconstant=str(constant))
    step = int(records * GOLDEN_SECTION)
    while math.gcd(step, records) > 1:
        step += 1
    by_rank = counts[np.arange(records) * step % records]
    logs = np.log(np.arange(1, records + 1))
    mean_log = (by_rank * logs).sum() / by_rank.sum()
    low, high = 0.01, 5.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        weights = np.exp(-middle * logs)
        if (weights * logs).sum() / weights.sum() > mean_log:
            low = middle
        else:
            high = middle
    assert low == pytest.approx(constant, abs=0.02)
