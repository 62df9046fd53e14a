"""A conductor starts servers with settings beside the catalog's only where its operator names them."""

import pytest

from runs.catalog import load_catalog
from runs.queue.reasons import Reason
from workers.conductor.deployment import check_unchecked_settings
from workers.errors import RunFailed

CASSANDRA = load_catalog().system("cassandra")
STATED = {"row_cache_size": "10MB", "unchecked.key_cache_size": "100MiB"}


def test_operator_allows_settings_by_name(settings):
    settings.UNCHECKED_SETTINGS = ["cassandra.key_cache_size"]

    check_unchecked_settings(CASSANDRA, STATED)


@pytest.mark.parametrize("allowed", [[], ["cassandra.key_cache"], ["redis.key_cache_size"]])
def test_other_settings_are_refused_with_what_to_do(settings, allowed):
    settings.UNCHECKED_SETTINGS = allowed

    with pytest.raises(RunFailed, match=r"add cassandra\.key_cache_size to BENCHSITE_UNCHECKED_SETTINGS") as failed:
        check_unchecked_settings(CASSANDRA, STATED)

    assert failed.value.reason == Reason.BAD_PLAN
