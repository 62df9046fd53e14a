"""Did it happen at all, and on the right data? E01 evidence of success, V07 errors, V19 key space, V33 verified
data, V39 inserted records.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from benchsite.core.formatting import counted, duration, grouped, percent
from runs.checks.check import Outcome, check, not_assessed, sentence
from runs.checks.default_thresholds import Profile
from runs.checks.facts import ClientFacts, RunFacts
from runs.checks.messages import (
    CLIENTS_MISSING,
    NO_OPERATION_STATED,
    NO_RETURN_CODE,
    NO_SUCCESS,
    OUTPUT_BREAKS_OFF,
    RECORDS_INSERTED,
    WINDOW_UNCUT,
)
from runs.checks.results import Severity, find_worst, graded
from runs.ycsb.numbers import added
from runs.ycsb.summary_counts import SUCCESSES

NOT_FOUND = "NOT_FOUND"
# How many times as long as the window, or as short, the intervals may be that a client counts in it.
MAX_UNCUT: Final = 2.0


@check(
    "E01", "Evidence of success",
    "all clients, successful operations and return codes, the whole window", loads=True, untrusted=True,
)  # fmt: skip
def evidence_of_success(facts: RunFacts, profile: Profile) -> Outcome:
    """Every client merged, operations that succeeded, return codes, and the window as long as planned.

    Formula: all clients merged; operations that succeeded; a successful return code; whole output; the planned
        window there
    Rejects: anything missing, less than {window_least} of the window, or intervals of a client in the window that are
        together twice as long as it, or half as long
    Not assessed without: a count or a return code. Output of a format without return codes: info
    """
    complaints = list(_find_gaps(facts))
    short = []
    if facts.window_asked_s and (facts.window_s or 0.0) < facts.window_asked_s * profile.window_least:
        lasted = "of unknown length"
        if facts.window_s is not None:
            lasted = duration(facts.window_s)
        short.append(f"the window is {lasted}, and {duration(facts.window_asked_s)} were planned")

    severity: Severity = "pass"
    if complaints:
        severity = "reject"
    elif short:
        severity = profile.window_short

    messages = [*complaints, *short]
    succeeded = "unknown"
    if facts.ok_operations is not None:
        succeeded = grouped(facts.ok_operations)
    measured = f"{len(facts.clients)} of {counted(facts.clients_expected, 'client')}, {succeeded} operations"
    if not messages and not _tells_success(facts):
        if facts.ok_operations is None:
            return not_assessed("Nothing tells whether an operation succeeded.", measured)
        return Outcome(
            "info", measured,
            "The output counts successful operations but prints no return codes, so their success is its own word.",
        )  # fmt: skip

    return Outcome(
        severity, measured,
        f"{sentence(messages)}.",
        "Read the clients' output on this page, mend what stopped them, and run it again.",
        good="Every client's operations are there, over the whole window.",
    )  # fmt: skip


def _find_gaps(facts: RunFacts) -> Iterator[str]:
    """What is missing for the run to have happened at all."""
    if facts.missing or len(facts.clients) < facts.clients_expected:
        named = ""
        if facts.missing:
            named = f" ({'; '.join(facts.missing)})"
        yield CLIENTS_MISSING.format(
            merged=len(facts.clients), expected=counted(facts.clients_expected, "client"), names=named
        )

    if facts.ok_operations == 0 or facts.throughput_ops_s == 0:
        yield NO_SUCCESS
    # Formats without return codes exist; here a client that ended in order always prints them.
    if not _tells_success(facts) and (facts.returns or not (facts.made_elsewhere or facts.without_codes)):
        yield NO_RETURN_CODE
    silent = [client.number for client in facts.clients if client.truncated and client.printed_counts == {}]
    if silent:
        yield NO_OPERATION_STATED.format(clients=", ".join(map(str, silent)))
    broken = [client.number for client in facts.clients if client.truncated and client.number not in silent]
    if broken:
        yield OUTPUT_BREAKS_OFF.format(clients=", ".join(map(str, broken)))
    if facts.phase != "load" and facts.window_asked_s and facts.window_s:
        yield from _find_uncut(facts.clients, facts.window_s)
    if facts.phase == "load" and facts.recordcount is not None and (facts.ok_operations or 0) < facts.recordcount:
        yield RECORDS_INSERTED.format(inserted=grouped(facts.ok_operations or 0), records=grouped(facts.recordcount))


def _find_uncut(clients: Sequence[ClientFacts], window_s: float) -> Iterator[str]:
    """Clients whose counts are not those of the window: a starved client writes its interval seconds too late."""
    for client in clients:
        if client.started_s is None or client.ended_s is None or client.covered_s <= 0:
            continue
        expected_s = min(window_s, client.ended_s - client.started_s)
        if client.covered_s > MAX_UNCUT * window_s or client.covered_s * MAX_UNCUT < expected_s:
            yield WINDOW_UNCUT.format(
                client=client.number, covered=duration(client.covered_s), window=duration(window_s)
            )


def _tells_success(facts: RunFacts) -> bool:
    return any(code in SUCCESSES and number for code, number in (facts.returns or {}).items())


def _find_failures(returns: Mapping[str, int]) -> dict[str, int]:
    return {code: number for code, number in returns.items() if code not in SUCCESSES and number}


def _list_codes(returns: Mapping[str, int]) -> str:
    """The commonest first."""
    counts = sorted(returns.items(), key=lambda item: -item[1])
    return ", ".join(f"{code} {grouped(number)}" for code, number in counts)


@check("V07", "Errors", "above {errors_warn} warn, above {errors_reject} reject", loads=True)
def errors(facts: RunFacts, profile: Profile) -> Outcome:
    """Failed operations of the window. Not finding a record is told apart by the return codes of the run.

    Formula: failed / all operations; records not found are told apart by the return codes
    Warns: > {errors_warn} of either
    Rejects: > {errors_reject}
    Not assessed without: counts
    """
    if facts.total_operations is None:
        return not_assessed("No count is known.")
    if not facts.total_operations:
        return not_assessed("There are no operations to have failed.")
    if facts.failed_operations is None:
        return not_assessed("How many operations failed is not known.")

    ratio = facts.failed_operations / facts.total_operations
    failures = _find_failures(facts.returns or {})
    not_found, codes = 0.0, ""
    if failures:
        not_found = ratio * failures.get(NOT_FOUND, 0) / sum(failures.values())
        codes = f" (return codes of the whole run: {_list_codes(failures)})"
    others = ratio - not_found
    severity = find_worst(graded(part, profile.errors_warn, profile.errors_reject) for part in (others, not_found))
    measured = f"{percent(others)} errors, {percent(not_found)} not found"
    if not facts.failed_operations:
        return Outcome("pass", measured, "No operation of the window failed.")

    remedy = "Read the errors in the clients' output; they name what the database refused."
    if not_found > others:
        remedy = "Records are not found: load the data set this workload expects."
        if _inserts(facts):
            remedy = (
                "Records are not found. Clients read only what the database acknowledged to them: see V39, and whether "
                "a read may be older than a write."
            )

    return Outcome(
        severity, measured,
        f"{grouped(facts.failed_operations)} of {grouped(facts.total_operations)} operations failed{codes}. A failed "
        "operation is often faster than a good one, so it flatters the throughput.",
        remedy,
    )  # fmt: skip


@check("V19", "Key space", "as many rows as recordcount", loads=True)
def key_space(facts: RunFacts, profile: Profile) -> Outcome:
    """The clients ask for the keys of `recordcount` records, so exactly so many must be there.

    A workload that inserts makes more of them; fewer are always wrong.

    Formula: rows counted on the server = recordcount (a workload that inserts: at least)
    Rejects: different
    Not assessed without: the rows, the workload
    """
    if facts.rows_loaded is None:
        return not_assessed("The rows were not counted, so it is unknown whether the keys exist.")
    if facts.recordcount is None:
        return not_assessed("The recordcount is not known, so it is unknown whether the keys exist.")

    limits = ""
    fits = facts.rows_loaded == facts.recordcount
    if _inserts(facts):
        limits = "as many rows as recordcount, or more: the workload inserts"
        fits = facts.rows_loaded >= facts.recordcount
    return Outcome(
        "pass" if fits else "reject", f"{grouped(facts.rows_loaded)} rows for {grouped(facts.recordcount)} records",
        f"The workload asks for {grouped(facts.recordcount)} records and the database holds "
        f"{grouped(facts.rows_loaded)}: reads miss, or hit a smaller and hotter set than stated.",
        "Load the data set anew with this workload's record count.",
        good="The clients asked for keys that the database has.",
        limits=limits,
    )  # fmt: skip


def _inserts(facts: RunFacts) -> bool:
    return facts.phase != "load" and (facts.groups_insert or (facts.proportions or {}).get("INSERT", 0) > 0)


@check("V39", "Inserted records", "as many new records as acknowledged inserts", untrusted=True)
def inserted_records(facts: RunFacts, profile: Profile) -> Outcome | None:
    """Each client inserts keys of its own, so there are as many new records as acknowledged inserts.

    Formula: new records, counted on the server after the run = acknowledged inserts - acknowledged deletes. Operations
        whose outcome is unknown may be there or not
    Warns: more
    Rejects: fewer
    Not assessed without: a system that can be asked, and at most 10 million keys to look for; without inserts it does
        not apply
    """
    counts = facts.inserted_records
    if counts is None:
        if _inserts(facts) and not facts.made_elsewhere:
            return not_assessed("The records that the run inserted were not counted.")
        return None

    acknowledged_inserts, possible_inserts = counts.inserted
    acknowledged_deletes, possible_deletes = counts.deleted
    done = f"{grouped(acknowledged_inserts)} acknowledged inserts"
    if possible_deletes:
        done += f" and {grouped(acknowledged_deletes)} deletes"
    message = f"After {done} there are {grouped(counts.present)} new records"
    severity: Severity = "pass"
    if counts.present > possible_inserts - acknowledged_deletes:
        severity = "warn"
    if counts.present < acknowledged_inserts - possible_deletes:
        severity = "reject"
        message += ": acknowledged inserts are lost, or clients overwrote each other's"

    return Outcome(
        severity, f"{grouped(counts.present)} records of {done}",
        f"{message}.",
        "Look for what else writes there, and for evictions and failovers in the server's log.",
        good=f"There are {grouped(counts.present)} new records after {done}.",
    )  # fmt: skip


@check("V33", "Data verified", "every verified read has the right data", untrusted=True)
def verified(facts: RunFacts, profile: Profile) -> Outcome | None:
    """With `dataintegrity` a client compares each read with what was written. A wrong read still counts as a success.

    Formula: workloads with dataintegrity: the return codes of VERIFY over whole runs, all clients
    Rejects: any but success, whatever its name
    Not assessed without: return codes of VERIFY; without dataintegrity it does not apply
    """
    codes = added(client.verified for client in facts.clients if client.verified is not None)
    total = sum(codes.values())
    if not total:
        if facts.properties.get("dataintegrity") == "true" and facts.phase != "load":
            return not_assessed("No client printed how its verifications of data ended.")
        return None

    wrong = _find_failures(codes)
    failed = sum(wrong.values())
    measured = f"{grouped(failed)} of {grouped(total)} reads with wrong data"
    if not wrong:
        return Outcome("pass", measured, f"All {grouped(total)} verified reads returned what had been written.")

    return Outcome(
        "reject", measured,
        f"{grouped(failed)} of {grouped(total)} verified reads did not return what had been written "
        f"({_list_codes(wrong)}): the database, or its binding, gave wrong data.",
        "Load the data set with dataintegrity=true too, by the same properties. If the data is still wrong, the "
        "database or its binding loses or changes it.",
    )  # fmt: skip
