"""What each client of a run is told to do: its share of threads, target and records, and its whole property file."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product

from runs.catalog import GO_FLAVOUR, OWN_FLAVOUR, load_catalog, site_files
from runs.models import ClientRun, LoadGenerator
from runs.queue.reasons import Reason
from runs.queue.spec import (
    RunSpec,
    build_client_properties,
    build_group_spec,
    find_group_start_s,
    is_open_ended,
    list_groups,
    list_workload_properties,
    max_warmup_s,
)
from runs.timeouts import CLIENT_GRACE_S, CLIENT_READY_TIMEOUT_S
from runs.ycsb.command import (
    TAIL_S,
    client_properties_for_run,
    go_ycsb_properties,
    number_inserting,
    open_load_properties,
    split,
    split_target,
)
from runs.ycsb.properties import warm_up_s
from workers.errors import RunFailed

# Loads have no measured time; a rate so low means that something is stuck.
SLOWEST_LOAD_RECORDS_S = 100


def check_slots(generators: Iterable[LoadGenerator], spec: RunSpec) -> None:
    """Raises RunFailed where a load generator runs fewer clients at once than it did when the run was submitted."""
    clients = Counter({generator["id"]: spec["load"]["processes"] for generator in spec["generators"]})
    for group in list_groups(spec):
        clients.update(generator["id"] for generator in group["generators"])
    for generator in generators:
        processes = clients[str(generator.pk)]
        if generator.slots < processes:
            raise RunFailed(
                Reason.BAD_PLAN,
                f"{processes} clients per generator are planned, and {generator.name} now runs {generator.slots} at a "
                f"time: restart it with BENCHSITE_GENERATOR_SLOTS={processes} or more, then run this again.",
            )


def ready_deadline_s(spec: RunSpec) -> int:
    """How long clients may take until they are connected and warm, in seconds."""
    if spec["phase"] != "measure":
        return CLIENT_READY_TIMEOUT_S
    workloads = [build_client_properties(spec), *list_workload_properties(spec)]
    return CLIENT_READY_TIMEOUT_S + max(map(warm_up_s, workloads))


def order_clients(
    spec: RunSpec,
    find_properties: Callable[[Mapping[str, str]], Mapping[str, str]],
    *,
    seed: str,
    nodes_are_sampled: bool,
    node_cpus: Sequence[int],
    first_insert: int | None,
) -> list[ClientRun]:
    """The clients of the ladder and then those of each group, numbered through. `find_properties` answers the binding's
    properties for a workload.
    """
    sampled = set[str]()
    if nodes_are_sampled:
        sampled |= {machine["id"] for machine in spec["cluster"]["machines"]}
    groups = list_groups(spec)
    group_specs = [build_group_spec(spec, group) for group in groups]
    parts = [(part["workload"]["properties"], _count_clients(part)) for part in (spec, *group_specs)]
    ladder_inserting, *group_inserting = number_inserting(parts)
    orders = client_orders(
        spec,
        find_properties(spec["workload"]["properties"]),
        seed=seed,
        sampled=sampled,
        node_cpus=node_cpus,
        first_insert=first_insert,
        inserting=ladder_inserting,
    )
    process_number = spec["load"]["processes"]
    for group, group_spec, inserting in zip(groups, group_specs, group_inserting, strict=True):
        clients = client_orders(
            group_spec,
            find_properties(group["workload"]["properties"]),
            seed=f"{seed} {group['name']}",
            sampled=sampled,
            node_cpus=node_cpus,
            first_insert=first_insert,
            inserting=inserting,
        )
        start_s = find_group_start_s(spec, group)
        for client in clients:
            client.group = group["name"]
            client.process_number = process_number
            client.number += len(orders)
            client.order["start_s"] = start_s
            client.order["deadline_s"] += start_s + ready_deadline_s(spec) - ready_deadline_s(group_spec)

        orders += clients
        process_number += 1

    return orders


def _count_clients(spec: RunSpec) -> int:
    return len(spec["generators"]) * spec["load"]["processes"]


def client_orders(
    spec: RunSpec,
    binding_properties: Mapping[str, str],
    *,
    seed: str = "",
    sampled: set[str] | None = None,
    node_cpus: Sequence[int] = (),
    first_insert: int | None = None,
    inserting: tuple[int, int] | None = None,
) -> list[ClientRun]:
    """One unsaved row per load generator and process; shares differ by at most one thread, op/s or record.

    Each machine is sampled by its first client, unless it is in `sampled`, which it joins. Clients on a node use
    `node_cpus` of it; empty: all. `first_insert` is of a data set that has grown; other clients than Benchsite's begin
    behind the loaded records. `inserting` is of `number_inserting`; None: no group inserts. The arrivals of an open
    load follow from `seed`.
    """
    load, window, flavour = spec["load"], spec["window"], spec["client"]["flavour"]
    clients = list(product(spec["generators"], range(load["processes"])))
    threads = split(load["threads"], len(clients), noun="threads")
    targets = split_target(load["target_ops_s"], len(clients))
    system = load_catalog().system(spec["system"], flavour)
    site = site_files(system, binding_properties)
    measure_s, records = window["max_measure_s"], spec["dataset"]["records"]
    assert measure_s is not None and records is not None  # Only uploads may not know them, and nobody orders those.
    duration_s, expected_s = None, records // SLOWEST_LOAD_RECORDS_S
    if spec["phase"] == "measure":
        duration_s = expected_s = max_warmup_s(window) + measure_s + TAIL_S
    nodes = {machine["id"] for machine in spec["cluster"]["machines"]}
    if sampled is None:
        sampled = set()
    if flavour != OWN_FLAVOUR:
        first_insert = None
    first_inserting, all_inserting = inserting or (0, len(clients))
    orders = []
    for number, (generator, process) in enumerate(clients):
        properties = client_properties_for_run(
            build_client_properties(spec),
            phase=spec["phase"],
            client=number,
            clients=len(clients),
            threads=threads[number],
            target_ops_s=targets[number],
            duration_s=duration_s,
            warmup_s=window["warmup_s"],
            binding_properties=binding_properties,
            first_insert=first_insert,
            among_inserting=(first_inserting + number, all_inserting),
            open_load=_open_load(spec, number, len(clients), seed),
            is_own_client=system.own_client,
        )
        if flavour == GO_FLAVOUR:
            properties = go_ycsb_properties(properties, warmup_s=window["warmup_s"])
        machine = generator["machine"]["id"]
        order = {
            "binding": spec["client"]["binding"],
            "digest": spec["client"]["digest"],
            "java_class": system.binding.java_class,
            "phase": spec["phase"],
            "threads": threads[number],
            "target_ops_s": targets[number],
            "duration_s": duration_s,
            "deadline_s": ready_deadline_s(spec) + CLIENT_GRACE_S + expected_s,
            "properties": dict(properties),
            "site_files": site,
            "samples_host": machine not in sampled,
            "has_faults": bool(spec.get("faults")),
            "cpus": list(node_cpus) if machine in nodes else [],
        }
        if is_open_ended(window):
            order["window_s"] = max_warmup_s(window)
        if "open" in load:
            # Arrivals follow from the properties of the open load, not from YCSB's target.
            order["target_ops_s"] = None
        orders.append(ClientRun(load_generator_id=generator["id"], number=number, process_number=process, order=order))
        sampled.add(machine)

    return orders


def _open_load(spec: RunSpec, number: int, clients: int, seed: str) -> dict[str, str] | None:
    load = spec["load"]
    if "open" not in load or not load["target_ops_s"]:
        return None
    return open_load_properties(
        target_ops_s=load["target_ops_s"], client=number, clients=clients, run=seed, **load["open"]
    )
