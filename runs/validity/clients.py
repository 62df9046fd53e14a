"""Was it the database that was measured? V01 Little's law, V03 client CPU, V08 mix, V09 target, V15 balance, V24."""

import math
from collections.abc import Mapping

from runs.measures.little import edge_allowance, explained_share
from runs.validity.facts import ClientFacts, RunFacts
from runs.validity.profile import Profile
from runs.validity.results import CheckResult, Severity, at_most
from runs.validity.words import count, percent, rate


def little(facts: RunFacts, profile: Profile) -> CheckResult:
    """V01: the operations' service times must add up to the time that the threads had, and can never exceed it."""
    title = "Threads accounted for"
    busy = [(client.busy_us, client.covered_s) for client in facts.clients]
    share = explained_share(busy, facts.threads) if not facts.missing else None
    most = profile.little_reject_above + edge_allowance(facts.longest_us, facts.threads, facts.window_s)
    throttled = bool(facts.target_ops_s)
    limits = f"at most {percent(most)}" if throttled else f"{percent(profile.little_warn_below)} to {percent(most)}"
    if share is None:
        return CheckResult(
            "V01", "not_assessed", title, "", limits, "Without all clients' times it cannot be computed."
        )
    shown = f"{percent(share)} of {count(facts.threads)} threads' time"
    if share > most:
        return CheckResult(
            "V01", "reject", title, shown, limits,
            f"The operations took {percent(share)} of the time that {count(facts.threads)} threads have: that is "
            "impossible, so a thread count, a unit or a label is wrong.",
            "Find out how many threads really ran, and in which unit their latencies are.",
        )  # fmt: skip
    if throttled:
        return CheckResult("V01", "pass", title, shown, limits, "The threads had time to spare, as a target wants it.")
    severity: Severity = "pass"
    if share < profile.little_warn_below:
        severity = "reject" if share < profile.little_reject_below else "warn"
    if facts.phase == "load":
        # The threads of a load end one after the other, so some of their time is missing in every load.
        severity = at_most(severity, "warn")
    return CheckResult(
        "V01", severity, title, shown, limits,
        f"The threads spent {percent(share)} of their time in operations"
        + ("." if severity == "pass" else "; the rest went into the clients themselves."),
        "" if severity == "pass" else "Look at the load generators' CPU and garbage collection, or use more of them.",
    )  # fmt: skip


def client_cpu(facts: RunFacts, profile: Profile) -> CheckResult:
    """V03: a client that has no CPU left measures itself. Clients on one machine are added."""
    title = "Client CPU"
    limits = f"above {percent(profile.cpu_warn)} warn, above {percent(profile.cpu_reject)} reject"
    shares = _cpu_shares(facts.clients)
    if shares is None or facts.missing:
        return CheckResult("V03", "not_assessed", title, "", limits, "Not every client's CPU time and cores are known.")
    machine, share = max(shares.items(), key=lambda item: item[1])
    severity: Severity = "pass"
    if share > profile.cpu_warn:
        severity = "reject" if share > profile.cpu_reject else "warn"
    return CheckResult(
        "V03", severity, title, f"{percent(share)} of {machine}", limits,
        f"The clients on {machine} used {percent(share)} of its cores"
        + ("." if severity == "pass" else ": what was measured may be the client's limit and not the database's."),
        "" if severity == "pass" else "Use more load generators, or fewer threads on each.",
    )  # fmt: skip


def _cpu_shares(clients: tuple[ClientFacts, ...]) -> Mapping[str, float] | None:
    """The share of its cores that each machine's clients used, or None when something is unknown."""
    shares: dict[str, float] = {}
    for client in clients:
        if client.cpu_percent is None or not client.cores:
            return None
        machine = client.machine or f"the machine of client {client.number}"
        shares[machine] = shares.get(machine, 0.0) + client.cpu_percent / (100 * client.cores)
    return shares or None


def mix(facts: RunFacts, profile: Profile) -> CheckResult | None:
    """V08: the operations that were done are those the workload asks for.

    A share p of n operations may be off by 1 percentage point or four standard deviations, whichever is more.
    """
    if facts.proportions is None:
        return None
    total = facts.total_operations
    title, limits = "Mix of operations", f"{profile.mix_points * 100:g} points or {profile.mix_sigmas:g} sigma"
    if not total:
        return CheckResult("V08", "not_assessed", title, "", limits, "There are no operations.")
    done = _done(facts)
    complaints: list[str] = []
    for operation in sorted({*facts.proportions, *done}):
        share, number = facts.proportions.get(operation, 0.0), done.get(operation, 0)
        allowed = max(profile.mix_points, profile.mix_sigmas * math.sqrt(share * (1 - share) / total))
        if number == 0 and share * total >= profile.mix_expected_least:
            complaints.append(f"{operation} is missing")
        elif abs(number / total - share) > allowed:
            complaints.append(f"{operation} has {percent(number / total)} instead of {percent(share)}")
    shown = ", ".join(f"{operation} {percent(number / total)}" for operation, number in sorted(done.items()))
    return CheckResult(
        "V08", "warn" if complaints else "pass", title, shown[:120], limits,
        f"The operations are not what the workload asks for: {'; '.join(complaints)}."
        if complaints
        else "The operations have the shares that the workload asks for.",
        "Look for failed or unsupported operations, and for misspelt proportions." if complaints else "",
    )  # fmt: skip


def _done(facts: RunFacts) -> dict[str, int]:
    """Operations as the workload names them: what a read-modify-write read and updated is no READ and no UPDATE."""
    counts = {entry.operation: entry.count for entry in facts.operations if entry.kind == "service"}
    inner = sum(entry.count for entry in facts.operations if entry.kind == "service" and entry.is_composite)
    for operation in ("READ", "UPDATE"):
        if inner and operation in counts:
            counts[operation] = max(counts[operation] - inner, 0)
    return {operation: number for operation, number in counts.items() if number}


def target(facts: RunFacts, profile: Profile) -> CheckResult | None:
    """V09: what was offered and what was reached."""
    if not facts.target_ops_s:
        return None
    ratio = facts.throughput_ops_s / facts.target_ops_s
    severity: Severity = "pass"
    if ratio < profile.target_info:
        severity = "warn" if ratio < profile.target_warn else "info"
    words = {"pass": "was sustained", "info": "was nearly sustained", "warn": "was not sustained"}[severity]
    return CheckResult(
        "V09", severity, "Target", f"{rate(facts.throughput_ops_s)} of {rate(facts.target_ops_s)}",
        f"under {percent(profile.target_info)} marginal, under {percent(profile.target_warn)} not sustained",
        f"The target of {rate(facts.target_ops_s)} {words}: {percent(ratio)} of it was reached.",
        "" if severity == "pass" else "Take this rung as beyond the ceiling, or give it more threads and run it again.",
    )  # fmt: skip


def balance(facts: RunFacts, profile: Profile) -> CheckResult | None:
    """V15: clients of equal strength do equal work, thread by thread."""
    if len(facts.clients) < 2:
        return None
    speeds = {client.number: client.throughput_ops_s / (client.threads or 1) for client in facts.clients}
    slowest, fastest = min(speeds, key=speeds.__getitem__), max(speeds, key=speeds.__getitem__)
    ratio = speeds[fastest] / speeds[slowest] if speeds[slowest] > 0 else math.inf
    severity: Severity = "pass"
    if ratio > profile.imbalance_warn:
        severity = "reject" if ratio > profile.imbalance_reject else "warn"
    return CheckResult(
        "V15", severity, "Clients balanced", f"fastest / slowest {ratio:.2f}",
        f"above {profile.imbalance_warn:g} warn, above {profile.imbalance_reject:g} reject",
        "All clients did about the same."
        if severity == "pass"
        else f"Client {fastest} did {ratio:.2f} times as much per thread as client {slowest}: "
        "something beside the database held one of them back.",
        "" if severity == "pass" else "Compare the load generators' machines and their way to the database.",
    )  # fmt: skip


def environment(facts: RunFacts, profile: Profile) -> CheckResult:
    """V24: what else shared the database's machine."""
    title, limits = "Environment", "no client on a machine of the database"
    if facts.client_on_database_host is None:
        return CheckResult("V24", "not_assessed", title, "", limits, "Where the clients ran is not known.")
    shared = facts.client_on_database_host
    return CheckResult(
        "V24", "warn" if shared else "pass", title, "shared" if shared else "separate", limits,
        "Clients and database ran on one machine and took CPU from each other: compare the shapes, not the numbers."
        if shared
        else "The clients ran on machines of their own.",
        "Put the load generators on machines of their own." if shared else "",
    )  # fmt: skip
