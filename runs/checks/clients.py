"""Was it the database that was measured? V03 client CPU, V04 client count, V14 start skew, V15 balance, V16 clocks,
V27 clients distinct, V28 upload as stated, V29 client messages, V32 keys of clients, V34 property names,
V35 clocks steady.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Final

from benchsite.core.formatting import counted, duration, exact, grouped, percent, significant, throughput
from runs.checks.check import Outcome, check, not_assessed, sentence
from runs.checks.default_thresholds import Profile
from runs.checks.facts import ClientFacts, RunFacts, parse_number
from runs.checks.messages import EXCESS_OPERATIONS, MACHINE_OF_CLIENT
from runs.checks.results import Severity, find_worst, graded, warn_if
from runs.ycsb.evidence import LOAD, ClientEvidence
from runs.ycsb.form_defaults import DATABASE
from runs.ycsb.properties import CLIENT_COUNT, CLIENT_NUMBER, FIRST_INSERT, WORKLOAD_PROPERTIES
from runs.ycsb.property_names import effect

MAX_STEPS: Final = 5  # that are named
MAX_UNREAD_STEP_S: Final = 1.0  # of a clock, that may be left in the times of a run


@check(
    "V03", "Client CPU",
    "above {cpu_warn} warn, above {cpu_reject} reject; collecting garbage above {gc_warn} warn",
    loads=True, untrusted=True,
)  # fmt: skip
def client_cpu(facts: RunFacts, profile: Profile) -> Outcome:
    """A client that has no CPU left measures itself. Clients on one machine are added.

    Formula: share of a load generator's cores that its clients used; share of their run time spent collecting
        garbage
    Warns: > {cpu_warn}; > {gc_warn}
    Rejects: > {cpu_reject} of the cores
    Not assessed without: CPU time and cores of all clients, unless collecting garbage alone warns
    """
    shares = None
    if not facts.missing:
        shares = _compute_cpu_shares(facts.clients)
    gc_shares = [client.gc_share for client in facts.clients if client.gc_share is not None]
    gc_share = max(gc_shares, default=0.0)
    is_paused = gc_share > profile.gc_warn
    if shares is None and not is_paused:
        return not_assessed("Not every client's CPU time and cores are known.")

    messages: list[str] = []
    measured: list[str] = []
    severity: Severity = "pass"
    if shares is not None:
        machine = max(shares, key=shares.__getitem__)
        share = shares[machine]
        severity = graded(share, profile.cpu_warn, profile.cpu_reject)
        measured.append(f"{percent(share)} of {machine}")
        messages.append(f"the clients on {machine} used {percent(share)} of its cores")

    if gc_shares:
        severity = find_worst([severity, warn_if(is_paused)])
        measured.append(f"{percent(gc_share)} collecting garbage")
        messages.append(f"a client spent {percent(gc_share)} of its time collecting garbage")

    message = sentence(messages, " and ")
    return Outcome(
        severity, ", ".join(measured),
        f"{message}: what was measured may be the client's limit and not the database's.",
        "Use more load generators, fewer threads on each, or more memory for the client.",
        good=f"{message}.",
    )  # fmt: skip


def _compute_cpu_shares(clients: tuple[ClientFacts, ...]) -> Mapping[str, float] | None:
    """The share of its cores that each machine's clients used, or None when something is unknown."""
    shares: dict[str, float] = {}
    for client in clients:
        if client.cpu_percent is None or not client.cores:
            return None
        machine = client.machine or MACHINE_OF_CLIENT.format(number=client.number)
        shares[machine] = shares.get(machine, 0.0) + client.cpu_percent / (100 * client.cores)
    return shares or None


@check("V04", "Number of clients", "{probe_gain} more with {probe_clients} x the clients")
def client_count(facts: RunFacts, profile: Profile) -> Outcome | None:
    """The same threads spread over more clients must not do more. Only where such a probe was run.

    Formula: throughput of a run of the same load and threads on {probe_clients} x the clients
    Warns: > {probe_gain} more
    Not assessed without: a probe: it does not apply where none was run
    """
    probe = facts.probe
    if probe is None or facts.target_ops_s or not facts.throughput_ops_s:
        return None

    gain = probe.throughput_ops_s / facts.throughput_ops_s - 1
    bound = gain > profile.probe_gain
    return Outcome(
        warn_if(bound),
        f"{throughput(facts.throughput_ops_s)} by {counted(facts.clients_expected, 'client')}, "
        f"{throughput(probe.throughput_ops_s)} by {probe.clients}",
        f"More clients with the same threads did {percent(gain)} more: the clients are the limit and not the database.",
        "Use more clients, or more load generators.",
        good="More clients with the same threads did no more: the clients are not the limit.",
    )  # fmt: skip


@check(
    "V14", "Clients together",
    "{skew_warn_s} apart and {overlap_warn} in common warn; {skew_reject_share} of the window reject", untrusted=True,
)  # fmt: skip
def start_skew(facts: RunFacts, profile: Profile) -> Outcome | None:
    """All clients at the same time. One client alone has nothing to be late for.

    Formula: clients' starts and ends apart; their common time / all of it
    Warns: > {skew_warn_s}; < {overlap_warn}; or the files do not show when a client began and ended
    Rejects: > {skew_reject_share} of T
    Not assessed without: one client alone: does not apply
    """
    if facts.clients_expected < 2 or len(facts.clients) < 2:
        return None

    starts = [client.started_s for client in facts.clients if client.started_s is not None]
    ends = [client.ended_s for client in facts.clients if client.ended_s is not None]
    if len(starts) < len(facts.clients) or len(ends) < len(facts.clients) or facts.window_s is None:
        return _judge_undated(facts)

    starts_apart_s = max(starts) - min(starts)
    ends_apart_s = max(ends) - min(ends)
    spread_s = max(starts_apart_s, ends_apart_s)
    severity = warn_if(spread_s > profile.skew_warn_s)
    measured = f"starts {duration(starts_apart_s)} apart, ends {duration(ends_apart_s)}"
    if facts.overlap is not None:
        measured += f", {percent(facts.overlap)} in common"
        severity = find_worst([severity, warn_if(facts.overlap < profile.overlap_warn)])
    if spread_s > profile.skew_reject_share * facts.window_s:
        severity = "reject"

    return Outcome(
        severity, measured,
        "The clients did not all load the database at the same time.",
        "Look at the clocks and the load of the load generators.",
        good="The clients began and ended together.",
    )  # fmt: skip


def _judge_undated(facts: RunFacts) -> Outcome:
    """The sum of throughputs is one throughput only if the clients ran together, and here nobody can say so."""
    undated = [str(client.number) for client in facts.clients if client.started_s is None or client.ended_s is None]
    numbers = ", ".join(undated)
    measured = f"no times of client {numbers}"
    runtimes = [client.runtime_ms for client in facts.clients if client.runtime_ms and client.runtime_ms > 0]
    if len(runtimes) == len(facts.clients) and min(runtimes) < max(runtimes):
        # A shorter run is no longer in common than it lasted.
        measured = f"at most {percent(min(runtimes) / max(runtimes))} in common by their run times"

    return Outcome(
        "warn", measured,
        f"The files do not show when client {numbers} began and ended, so the throughputs that were added "
        "may be of different times.",
        "Run the clients with -s and upload their standard error: its status lines have dates.",
    )  # fmt: skip


@check("V27", "Clients distinct", "no two clients with the same numbers", loads=True)
def distinct(facts: RunFacts, profile: Profile) -> Outcome | None:
    """No client counts twice. Only uploads can bring one client's output as that of two.

    Formula: uploads of several clients: the sums and the counts by the second of their histograms, their status
        lines, the numbers in their summaries
    Rejects: two clients have the same
    Not assessed without: one client, or a run of Benchsite's own clients: does not apply
    """
    if len(facts.clients) < 2 or not any(client.evidence for client in facts.clients):
        return None

    copies = [
        f"client {client.number} has the numbers of client {client.evidence.copy_of}"
        for client in facts.clients
        if client.evidence is not None and client.evidence.copy_of is not None
    ]
    severity: Severity = "pass"
    if copies:
        severity = "reject"

    return Outcome(
        severity, f"copies: {len(copies)}",
        f"{sentence(copies)}: the throughput and all counts include one client twice.",
        "Upload the output of each client once.",
        good="Every client has numbers of its own.",
    )  # fmt: skip


# Names within the database change nothing that is measured.
_NAMES: Final = frozenset({"table", "fieldnameprefix"})
_SHARED: Final = frozenset(WORKLOAD_PROPERTIES) - _NAMES
# But clients that differ in them, or in YCSB's version, may not be of one run.
_SAME_RUN: Final = (*sorted(_NAMES), *DATABASE, "version")
_NO_DATABASE: Final = frozenset({"basic", "basicdb", "basicts", "basictsdb"})


@check("V28", "Upload as stated", "the workload, load and system that the command lines state")
def as_stated(facts: RunFacts, profile: Profile) -> Outcome | None:
    """The clients of one run ask for the same records with the same operations, and these are the stated ones.

    Formula: uploads: the workload properties in the command lines of all clients and in the statement of the upload,
        the sums of their threads and targets, `operationcount` and the operations printed, the binding and the system.
        YCSB's file of a workload is compared between clients only
    Warns: the binding of another system, because some systems speak another's protocol; clients that name no common
        server, because each may have a router of its own; clients with different versions of YCSB, tables, or
        databases (in an address, anything but users, hosts and ports)
    Rejects: different values; more operations than `operationcount`; a binding without a database
    Not assessed without: a command line with any of these
    """
    if not any(client.evidence for client in facts.clients):
        return None

    evidence = {client.number: client.evidence for client in facts.clients if client.evidence is not None}
    bindings = sorted({each.properties["db"] for each in evidence.values() if "db" in each.properties})
    contradictions = [*_differing_sums(facts), *_excess_operations(facts)]
    contradictions += [f"{name} is no database" for name in bindings if name.rpartition(".")[2].lower() in _NO_DATABASE]
    compared = len(bindings)
    names = set(chain.from_iterable(each.properties for each in evidence.values()))
    for name in sorted(names & _SHARED):
        values = {f"client {number}": value for number, value in _select_values(evidence, name).items()}
        if facts.properties and any(name in each.written for each in evidence.values()):
            values["the upload"] = facts.properties.get(name) or WORKLOAD_PROPERTIES[name].default or ""
        compared += len(values) > 1
        if len({_canonical(value) for value in values.values()}) > 1:
            contradictions.append(_list_values(name, values))

    if not compared and not contradictions:
        return not_assessed("The command lines do not state the workload.")

    doubts = []
    if facts.other_system:
        doubts.append(f"the binding {', '.join(bindings)[:200]} is that of {facts.other_system}")
    doubts += [f"client {number} names other servers" for number, each in evidence.items() if each.elsewhere]
    doubts += _differing_names(evidence)
    severity = warn_if(doubts)
    if contradictions:
        severity = "reject"

    return Outcome(
        severity, f"properties compared: {compared}",
        f"The command lines contradict each other or the upload: {'; '.join(contradictions + doubts)}.",
        "State what the command lines say; run all clients with the same workload.",
        good="The command lines agree with each other and with the upload.",
    )  # fmt: skip


def _differing_names(evidence: Mapping[int, ClientEvidence]) -> Iterator[str]:
    for name in _SAME_RUN:
        values = _select_values(evidence, name)
        if len(set(values.values())) > 1:
            yield _list_values(name, {f"client {number}": value for number, value in values.items()})


def _select_values(evidence: Mapping[int, ClientEvidence], name: str) -> dict[int, str]:
    """A property's value by the number of each client that states it."""
    return {number: each.properties[name] for number, each in evidence.items() if name in each.properties}


def _list_values(name: str, values: Mapping[str, str]) -> str:
    listed = ", ".join(f"{source} {value}" for source, value in values.items())
    return f"{name} ({listed[:200]})"


def _differing_sums(facts: RunFacts) -> Iterator[str]:
    """Where only some clients state a number, their sum is at most that of the run."""
    for name, stated in zip(LOAD, (facts.threads, facts.target_ops_s), strict=True):
        parts = [
            parse_number(client.evidence.properties[name]) or 0
            for client in facts.clients
            if client.evidence is not None and name in client.evidence.written
        ]
        # Threads are always known; no target is one, too.
        if not parts or (not stated and name != "target"):
            continue
        total, of_run = sum(parts), stated or 0
        source, differs = "all clients", total != of_run
        if len(parts) < len(facts.clients):
            source, differs = f"{len(parts)} of {counted(len(facts.clients), 'client')}", total > of_run
        if differs:
            yield f"{name} ({source} {grouped(total)}, the upload {grouped(of_run)})"


def _excess_operations(facts: RunFacts) -> Iterator[str]:
    """A transaction has an operation of each kind at most."""
    for client in facts.clients:
        if client.evidence is None or not client.printed_counts:
            continue
        limit = parse_number(client.evidence.properties.get("operationcount"))
        printed = max(client.printed_counts.values())
        if limit and printed > limit:
            yield EXCESS_OPERATIONS.format(number=client.number, printed=grouped(printed), limit=grouped(limit))


def _canonical(value: str) -> float | str:
    number = parse_number(value.strip())
    if number is None:
        return value.strip().lower()
    return number


@check("V29", "Client messages", "no exceptions on standard error", loads=True)
def messages(facts: RunFacts, profile: Profile) -> Outcome | None:
    """What the clients wrote beside their results. An exception costs time that no operation accounts for.

    Formula: uploads: exceptions and other signs of trouble on standard error
    Warns: any
    Not assessed without: the clients' standard error
    """
    clients = [(client.number, client.evidence) for client in facts.clients if client.evidence is not None]
    if not clients:
        return None

    written: list[str] = []
    for number, evidence in clients:
        written += [f"client {number}: {line}" for line in evidence.messages]

    if written:
        return Outcome(
            "warn", f"kinds of messages: {len(written)}",
            f"The clients report trouble: {'; '.join(written)[:1_000]}.",
            "Read the clients' standard error; what failed there may be missing from the operations.",
        )  # fmt: skip

    silent = [str(number) for number, evidence in clients if not evidence.has_messages]
    if silent:
        return not_assessed(f"The standard error of client {', '.join(silent)} is not uploaded.")

    return Outcome("pass", "none", "The clients report no exceptions.")


@check("V15", "Clients balanced", "above {imbalance_warn} warn, above {imbalance_reject} reject", untrusted=True)
def balance(facts: RunFacts, profile: Profile) -> Outcome | None:
    """Clients of equal strength do equal work, thread by thread.

    Formula: fastest / slowest client, per thread
    Warns: > {imbalance_warn}
    Rejects: > {imbalance_reject}
    Not assessed without: every client's throughput
    """
    if len(facts.clients) < 2:
        return None

    speeds = {
        client.number: client.throughput_ops_s / (client.threads or 1)
        for client in facts.clients
        if client.throughput_ops_s is not None
    }
    if len(speeds) < len(facts.clients):
        silent = sorted({client.number for client in facts.clients} - set(speeds))
        return not_assessed(f"The throughput of client {silent[0]} is not known.")

    slowest = min(speeds, key=speeds.__getitem__)
    fastest = max(speeds, key=speeds.__getitem__)
    ratio, factor = math.inf, "\N{INFINITY}"
    if speeds[slowest] > 0:
        ratio = speeds[fastest] / speeds[slowest]
        factor = grouped(ratio, 2)

    return Outcome(
        graded(ratio, profile.imbalance_warn, profile.imbalance_reject), f"fastest / slowest {factor}",
        f"Client {fastest} did {factor} times as much per thread as client {slowest}: "
        "something beside the database held one of them back.",
        "Compare the load generators' machines and their way to the database.",
        good="All clients did about the same.",
    )  # fmt: skip


@check("V16", "Clocks", "{clock_warn_s:ms} off", loads=True)
def clocks(facts: RunFacts, profile: Profile) -> Outcome:
    """Intervals of several clients are laid upon each other by their clocks, set right by the offsets measured.

    Formula: offset of each load generator's clock from the reference
    Warns: > {clock_warn_s:ms}
    Not assessed without: the offsets
    """
    unmeasured = next((f"client {client.number}" for client in facts.clients if client.clock_offset_s is None), None)
    if unmeasured or not facts.clients:
        return not_assessed(f"How far the clock of {unmeasured or 'any client'} was off was not measured.")

    worst = max(facts.clients, key=lambda client: abs(client.clock_offset_s or 0.0))
    offset_ms = abs(worst.clock_offset_s or 0.0) * 1000
    clock = worst.machine or f"client {worst.number}"

    return Outcome(
        warn_if(offset_ms > profile.clock_warn_s * 1000), f"{significant(offset_ms)} ms at {clock}",
        f"The clock of {clock} was {significant(offset_ms)} ms off. Its intervals were moved by that, but a clock that "
        "is off also runs unevenly: sharp edges of the window are blurred.",
        "Let an NTP service keep the clocks of the load generators.",
        good="The load generators' clocks agree with the reference clock.",
    )  # fmt: skip


def signed_seconds(seconds: float) -> str:
    """ "+2 s"."""
    return f"{'+' if seconds > 0 else ''}{exact(round(seconds, 1))} s"


@check("V35", "Clocks steady", "no clock stepped", loads=True)
def steady_clocks(facts: RunFacts, profile: Profile) -> Outcome | None:
    """YCSB takes the times of its intervals and its run time from the wall clock, which others may set.

    Formula: Benchsite's clients: the wall clock against the monotonic clock; uploads: ends of intervals and
        dates of status lines against their own pace, from 0.15 s on. The steps are taken out of intervals and run times
    Warns: a step
    Rejects: a step of more than 1 s that cannot be taken out: of raw points, or within the first three intervals
    Not assessed without: histograms by interval or status lines: does not apply
    """
    steps: list[str] = []
    printed_sizes_s: list[float] = []
    for client in facts.clients:
        clock = client.machine or f"client {client.number}"
        for after_s, size_s in client.clock_steps or _printed_steps(client):
            steps.append(f"{clock} by {signed_seconds(size_s)} after {duration(after_s)}")
            if not client.clock_steps:
                printed_sizes_s.append(abs(size_s))
    if facts.whole_runs and not steps:
        return None

    severity = warn_if(steps)
    consequence = "Times are counted without this, but what servers and bindings date by their clocks is not."
    if not facts.whole_runs and max(printed_sizes_s, default=0.0) > MAX_UNREAD_STEP_S:
        severity = "reject"
        consequence = "The times of its points cannot be corrected."

    measured = ", ".join(steps[:MAX_STEPS])
    return Outcome(
        severity, measured or "0 steps",
        f"The clock was stepped: {measured}. {consequence}",
        "Let an NTP service slew the clocks, and set them before a run.",
        good="No clock of a client was seen to be set while it ran.",
    )  # fmt: skip


def _printed_steps(client: ClientFacts) -> Sequence[Sequence[float]]:
    if client.evidence is not None:
        return client.evidence.clock_steps
    return ()


@check("V32", "Keys of clients", "no two clients insert the same keys", loads=True, untrusted=True)
def keys(facts: RunFacts, profile: Profile) -> Outcome | None:
    """Loaders share the records out by `insertstart` and `insertcount`. In a run YCSB begins at `recordcount`, and
    Benchsite's client k of n takes every n-th key.

    Formula: uploads: the ranges of keys by insertstart, insertcount, recordcount, client.number and client.count in the
        command lines
    Warns: clients of a run insert the same new keys
    Rejects: loaders whose ranges overlap: there are fewer records than inserts
    Not assessed without: clients that insert, each with its range; of one client alone it does not apply
    """
    clients = [client for client in facts.clients if client.evidence is not None and _inserted(client)]
    if len(clients) < 2:
        return None

    ranges: dict[int, range] = {}
    for client in clients:
        inserted_keys = _inserted_keys(client, facts)
        if not inserted_keys:
            return not_assessed("The command lines do not state which keys each client inserted.")
        ranges[client.number] = inserted_keys

    inserted = sum(map(len, ranges.values()))
    if not any(_have_common_keys(first, second) for first, second in combinations(ranges.values(), 2)):
        return Outcome("pass", f"{grouped(inserted)} keys", "Every client inserted keys of its own.")

    distinct = _count_distinct(ranges.values())
    names = "; ".join(
        f"client {number} {grouped(keys.start)} to {grouped(keys.stop - 1)}" for number, keys in sorted(ranges.items())
    )
    measured = f"{grouped(distinct)} different keys in {grouped(inserted)} inserts"
    if facts.phase == "load":
        return Outcome(
            "reject", measured,
            f"Loaders inserted the same keys ({names}): {grouped(inserted)} inserts left {grouped(distinct)} different "
            "keys.",
            "Give each client its own insertstart and insertcount, and load again.",
        )  # fmt: skip

    return Outcome(
        "warn", measured,
        f"Clients inserted the same keys ({names}): YCSB begins at recordcount in each, so a client overwrote what "
        "another one had inserted, and later records are not there.",
        "Insert with one client, or without the others reading the newest records.",
    )  # fmt: skip


def _inserted(client: ClientFacts) -> int:
    return (client.printed_counts or client.log_counts or {}).get("INSERT", 0)


def _inserted_keys(client: ClientFacts, facts: RunFacts) -> range | None:
    """By its command line; None where that does not tell."""
    assert client.evidence is not None
    stated = {
        name: parse_number(client.evidence.properties.get(name))
        for name in ("insertstart", "insertcount", "recordcount", FIRST_INSERT, CLIENT_NUMBER, CLIENT_COUNT)
    }
    records, inserts = stated["recordcount"], _inserted(client)
    if facts.phase == "load":
        if stated["insertcount"] is None and records is None:
            return None
        start = int(stated["insertstart"] or 0)
        return range(start, start + inserts)

    if records is None:
        return None
    clients = int(stated[CLIENT_COUNT] or 1)
    first = int(stated[FIRST_INSERT] or records) + int(stated[CLIENT_NUMBER] or 0)
    return range(first, first + clients * inserts, clients)


def _have_common_keys(first: range, second: range) -> bool:
    """Whether ranges with one step have common keys; with different steps whether they may have."""
    if first.step == second.step and (first.start - second.start) % first.step:
        return False
    return max(first.start, second.start) < min(first.stop, second.stop)


def _count_distinct(ranges: Iterable[range]) -> int:
    """How many keys are in any of them, which have one step."""
    total = 0
    ends: defaultdict[int, int] = defaultdict(int)  # by the remainder of their keys
    for keys in sorted(ranges, key=lambda keys: keys.start):
        remainder = keys.start % keys.step
        total += len(range(max(keys.start, ends[remainder]), keys.stop, keys.step))
        ends[remainder] = max(ends[remainder], keys.stop)
    return total


@check("V34", "Property names", "no property that nothing reads", loads=True)
def property_names(facts: RunFacts, profile: Profile) -> Outcome | None:
    """YCSB ignores a property that it does not know, and takes the default of the one that was meant.

    Formula: uploads: the names in command lines and property files that are those of no property, and near to one
    Warns: any
    Not assessed without: an upload with a command line or properties: does not apply
    """
    stating = [client.evidence for client in facts.clients if client.evidence and client.evidence.has_properties]
    if not stating:
        return None
    names = dict.fromkeys(map(tuple, chain.from_iterable(evidence.unknown for evidence in stating)))
    misspelt = [f"{name} (did you mean {near}? YCSB used {effect(near)})" for name, near in names]
    return Outcome(
        warn_if(misspelt), f"unknown names: {len(misspelt)}",
        f"Nothing reads {'; '.join(misspelt)[:1_000]}.",
        "Correct the name, and run it again.",
        good="No property looks misspelt.",
    )  # fmt: skip
