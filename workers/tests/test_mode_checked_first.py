"""The durability mode is read back before the data set is touched."""

import pytest
import redis

from runs.models.run import Status
from runs.queue.reasons import Reason
from workers.tests.conducting import conduct_run
from workers.tests.external import NETWORKS, external_run

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
RECORDS = 5_000


def test_wrong_mode_fails_before_data_is_touched(servers, settings):
    """An external Redis in mode `off` still holds every record after a load in mode `always` was refused."""
    settings.EXTERNAL_NETWORKS = NETWORKS
    server = servers("redis", "off").start()
    run = external_run(server, mode="always")
    with redis.Redis(server.host, server.port, password=server.password) as client:
        with client.pipeline(transaction=False) as pipeline:
            for number in range(RECORDS):
                pipeline.hset(f"user{number}", "field0", "x")
            pipeline.execute()
        conduct_run(run.pk)
        run.refresh_from_db()
        assert (run.status, run.reason) == (Status.FAILED, Reason.MODE_NOT_IN_FORCE)
        assert client.dbsize() == RECORDS
