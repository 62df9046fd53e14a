"""`zipfianconstant` makes the keys of a run more or less even."""

import pytest
import redis

from workers.tests.bindings.conftest import Target

pytestmark = pytest.mark.slow
UPDATES = {
    "readproportion": "0", "updateproportion": "1", "requestdistribution": "zipfian", "writeallfields": "true",
    "dataintegrity": "false", "operationcount": "2000",
}  # fmt: skip


def records(target: Target) -> dict[bytes, object]:
    with redis.Redis(port=target.server.port) as connection:
        return {key: connection.hget(key, "field0") for key in connection.scan_iter("user*", count=1000)}


def test_smaller_constants_ask_for_more_records(redis_target: Target):
    redis_target.load({"dataintegrity": "false"})
    updated = []
    for constant in ("0.05", "0.99", "0.999"):
        before = records(redis_target)
        ended = redis_target.run({**UPDATES, "zipfianconstant": constant})
        assert ended.returns == {"UPDATE": {"OK": 2000}}
        after = records(redis_target)
        updated.append(sum(before[key] != after[key] for key in before))

    assert 800 < updated[0] < 920, "2,000 even draws of 1,000 records leave out one in e squared"
    assert updated[0] > updated[1] + 10, "865 and 803 are expected"
    assert updated[1] >= updated[2] - 50
