"""The clients of a check: an order for each load generator that would drive the server, and how its client ended.

Orders and results lie in the cache. An order holds the password, so it is encrypted; the load generator that it is for
reads it once.
"""

import contextlib
import json
import math
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from celery import current_app
from django.core.cache import cache
from kombu.exceptions import OperationalError as BrokerError

from benchsite.accounts.models import Team
from benchsite.core.encryption import CLIENT_PROPERTIES, seal, unseal
from runs.catalog import System, site_files
from runs.catalog.generators import get_generators, unusable
from runs.models import LoadGenerator
from runs.queue.spec import ClientOrder
from runs.timeouts import CHECK_CLAIM_TIMEOUT_S, CHECK_CLIENT_TIMEOUT_S, CHECK_PROGRAM_TIMEOUT_S
from runs.ycsb.command import client_properties_for_run
from runs.ycsb.keys import KeyRange
from workers.provision.administration.admin_client import limit_driver
from workers.provision.servers import Server

THREADS: Final = 32  # of each client in the last rung of the first ladder
OPERATIONS: Final = 2  # of each thread
ADMINISTRATION_CONNECTIONS: Final = 2  # that which stays open for counters, and one for questions
# Beside the time of the server: for the claim and for the start of the JVM.
CLIENTS_TIMEOUT_S: Final = CHECK_CLAIM_TIMEOUT_S + CHECK_PROGRAM_TIMEOUT_S
RESULT_TIMEOUT_S: Final = 60
POLL_S: Final = 0.1
ZERO_PADDING: Final = 24
CHECK_WORKLOAD: Final = "org.benchsite.ycsb.CheckWorkload"
FIELDS: Final = [f"field{number}" for number in range(10)]
# A record that a check writes: no workload of YCSB gives it so many digits.
RECORD: Final = {
    "insertorder": "ordered", "zeropadding": str(ZERO_PADDING), "fieldcount": str(len(FIELDS)), "fieldlength": "100",
    "requestdistribution": "uniform", "scanproportion": "0", "insertproportion": "0",
    "updateproportion": "0", "readproportion": "1",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ClientResult:
    """How the client of one load generator ended: an outcome of `workers.generator.client_check`, or silent."""

    generator: str
    outcome: str
    detail: str = ""
    writes: bool = False


def build_key(number: int) -> str:
    """The key of the record with this number."""
    [[key]] = KeyRange(first=number, end=number + 1, hashed=False, zeropadding=ZERO_PADDING).batches(1)
    return key


def build_order(server: Server, digest: str, number: int, timeout_s: float, *, writes: bool) -> ClientOrder:
    """The order of a client whose server has `timeout_s`.

    As many threads as the first ladder has read the record `number`; with `writes` one inserts and updates it before.
    """
    system = server.spec.system
    duration_s = math.ceil(timeout_s)
    workload = RECORD | {"recordcount": str(number + 1)}
    binding_properties = limit_driver(system, server.client_properties(workload), timeout_s)
    properties = client_properties_for_run(
        workload,
        phase="measure",
        client=0,
        clients=1,
        threads=THREADS,
        duration_s=duration_s,
        binding_properties=binding_properties,
    )
    properties |= {"insertstart": str(number), "insertcount": "1", "operationcount": str(OPERATIONS * THREADS)}
    if writes:
        properties["workload"] = CHECK_WORKLOAD

    return {
        "binding": system.binding.name,
        "digest": digest,
        "java_class": system.binding.java_class,
        "phase": "measure",
        "threads": THREADS,
        "target_ops_s": None,
        "duration_s": duration_s,
        "deadline_s": timeout_s,
        "properties": properties,
        "site_files": site_files(system, binding_properties),
    }


def find_generators(team: Team, system: System) -> list[LoadGenerator]:
    """Those that would drive the first ladder."""
    generators = get_generators(team).filter(enabled=True)
    return [row for row in generators if system.binding.name in row.bindings]


def count_connections(generators: int) -> int:
    """The most that the first ladder has to one server."""
    return THREADS * max(generators, 1) + ADMINISTRATION_CONNECTIONS


def run_clients(team: Team, server: Server, number: int, *, writes: bool) -> list[ClientResult]:
    """Has each load generator with the binding check the server at once; the first one writes, where it may."""
    deadline = time.monotonic() + CLIENTS_TIMEOUT_S + CHECK_CLIENT_TIMEOUT_S
    binding = server.spec.system.binding.name
    generators = find_generators(team, server.spec.system)
    silent = set(unusable().values_list("pk", flat=True))
    results = [ClientResult(row.name, "silent") for row in generators if row.pk in silent]
    sent: dict[uuid.UUID, ClientResult] = {}
    for row in generators:
        if row.pk not in silent:
            is_first = writes and not sent
            order = build_order(server, row.bindings[binding], number, CHECK_CLIENT_TIMEOUT_S, writes=is_first)
            sent[send(row, order, deadline - time.monotonic())] = ClientResult(row.name, "silent", writes=is_first)

    return results + _await_results(sent, deadline)


def send(generator: LoadGenerator, client_order: ClientOrder, timeout_s: float) -> uuid.UUID:
    """The key of the check. Nobody claims it where Redis takes no message."""
    check = uuid.uuid4()
    order = {"generator": generator.name, "client": seal(json.dumps(client_order), CLIENT_PROPERTIES)}
    cache.set(_key(check), order, max(1.0, timeout_s))
    with contextlib.suppress(BrokerError):
        current_app.send_task("load.check", args=[str(check)], queue=generator.queue, expires=CHECK_CLAIM_TIMEOUT_S)
    return check


def _await_results(sent: Mapping[uuid.UUID, ClientResult], deadline: float) -> list[ClientResult]:
    """The results of the load generators that answer; for the others those that were `sent` along."""
    results = dict(sent)
    claims_end = time.monotonic() + CHECK_CLAIM_TIMEOUT_S
    waiting = set(sent)
    while waiting and time.monotonic() < deadline:
        for check in tuple(waiting):
            answer = read_result(check)
            if answer:
                outcome, detail = answer
                results[check] = replace(sent[check], outcome=outcome, detail=detail)
            if answer or (time.monotonic() > claims_end and cache.delete(_key(check))):
                waiting.remove(check)
        time.sleep(POLL_S)

    return list(results.values())


def read_result(check: uuid.UUID) -> list[str] | None:
    """Outcome and detail; None of a check that has not ended."""
    result: list[str] | None = cache.get(_key(check, "result"))
    return result


def claim(generator: str, check: uuid.UUID) -> Any:
    """The order of a check's client to this load generator, for the first who asks; None for others."""
    order = cache.get(_key(check))
    if order is None or order["generator"] != generator or not cache.delete(_key(check)):
        return None
    cache.set(_key(check, "claim"), generator, RESULT_TIMEOUT_S)
    return json.loads(unseal(order["client"], CLIENT_PROPERTIES))


def complete(generator: str, check: uuid.UUID, outcome: str, detail: str) -> None:
    """Nothing where another load generator claimed the check, or none did."""
    if cache.get(_key(check, "claim")) == generator:
        cache.set(_key(check, "result"), [outcome, detail], RESULT_TIMEOUT_S)


def _key(check: uuid.UUID, part: str = "order") -> str:
    return f"client-check-{part}:{check}"
