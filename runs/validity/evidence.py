"""Did it happen at all, and on the right data? E01 evidence of success, V07 errors, V19 key space."""

from runs.validity.facts import RunFacts
from runs.validity.profile import Profile
from runs.validity.results import CheckResult, Severity, worst_of
from runs.validity.words import clients, count, percent, seconds

# Return codes of YCSB that mean success; 0 is what its oldest versions print.
SUCCESS = frozenset({"OK", "BATCHED_OK", "0"})
NOT_FOUND = "NOT_FOUND"


def evidence_of_success(facts: RunFacts, profile: Profile) -> CheckResult:
    """E01: every client merged, operations that succeeded, return codes, and the window as long as planned."""
    title = "Evidence of success"
    complaints: list[str] = []
    if facts.missing or len(facts.clients) < facts.clients_expected:
        named = "; ".join(facts.missing)
        complaints.append(f"only {len(facts.clients)} of {clients(facts.clients_expected)} could be merged ({named})")
    if facts.ok_operations == 0:
        complaints.append("not a single operation succeeded")
    if not any(code in SUCCESS and number for code, number in (facts.returns or {}).items()):
        complaints.append("no summary tells of a successful return code")
    short = []
    if facts.window_asked_s and facts.window_s < facts.window_asked_s * profile.window_least:
        short.append(f"the window is {seconds(facts.window_s)} of the {seconds(facts.window_asked_s)} planned")
    broken = [client.number for client in facts.clients if client.truncated]
    if broken:
        complaints.append(f"the logs of client {', '.join(map(str, broken))} break off")
    if facts.phase == "load" and facts.recordcount is not None and facts.ok_operations < facts.recordcount:
        complaints.append(f"{count(facts.ok_operations)} of {count(facts.recordcount)} records were inserted")
    said = [*complaints, *short]
    return CheckResult(
        check_id="E01",
        severity="reject" if complaints else profile.window_short if short else "pass",
        title=title,
        measured=f"{len(facts.clients)} of {clients(facts.clients_expected)}, {count(facts.ok_operations)} operations",
        threshold="all clients, successful operations and return codes, the whole window",
        message=_sentence(said) if said else "Every client's operations are there, over the whole window.",
        remedy="Read the clients' output on this page, mend what stopped them, and run it again." if said else "",
    )


def errors(facts: RunFacts, profile: Profile) -> CheckResult:
    """V07: failed operations of the window. Not finding a record is told apart by the return codes of the run."""
    title, limits = (
        "Errors",
        f"above {percent(profile.errors_warn)} warn, above {percent(profile.errors_reject)} reject",
    )
    if not facts.total_operations:
        return CheckResult("V07", "not_assessed", title, "", limits, "There are no operations to have failed.")
    ratio = facts.failed_operations / facts.total_operations
    failures = {code: number for code, number in (facts.returns or {}).items() if code not in SUCCESS and number}
    all_failures = sum(failures.values())
    not_found = ratio * failures.get(NOT_FOUND, 0) / all_failures if all_failures else 0.0
    others = ratio - not_found
    severity = worst_of([_by_ratio(others, profile), _by_ratio(not_found, profile)])
    shown = f"{percent(others)} errors, {percent(not_found)} not found"
    named = ", ".join(f"{code} {count(number)}" for code, number in sorted(failures.items(), key=lambda item: -item[1]))
    if not facts.failed_operations:
        return CheckResult("V07", "pass", title, shown, limits, "No operation of the window failed.")
    return CheckResult(
        check_id="V07",
        severity=severity,
        title=title,
        measured=shown,
        threshold=limits,
        message=(
            f"{count(facts.failed_operations)} of {count(facts.total_operations)} operations failed"
            + (f" (return codes of the whole run: {named})." if named else ".")
            + " A failed operation is often faster than a good one, so it flatters the throughput."
        ),
        remedy=(
            "Records are not found: load the data set this workload expects."
            if not_found > others
            else "Read the errors in the clients' output; they name what the database refused."
        )
        if severity != "pass"
        else "",
    )


def _by_ratio(ratio: float, profile: Profile) -> Severity:
    if ratio > profile.errors_reject:
        return "reject"
    return "warn" if ratio > profile.errors_warn else "pass"


def key_space(facts: RunFacts, profile: Profile) -> CheckResult:
    """V19: the clients ask for the keys of `recordcount` records, so exactly so many must be there.

    A workload that inserts makes more of them; fewer are always wrong.
    """
    title = "Key space"
    limits = "as many rows as recordcount"
    if facts.rows_loaded is None or facts.recordcount is None:
        missing = "rows were not counted" if facts.rows_loaded is None else "recordcount is not known"
        return CheckResult(
            "V19", "not_assessed", title, "", limits, f"The {missing}, so nobody knows whether keys exist."
        )
    inserts = facts.phase == "measure" and (facts.proportions or {}).get("INSERT", 0) > 0
    good = facts.rows_loaded == facts.recordcount or (inserts and facts.rows_loaded > facts.recordcount)
    return CheckResult(
        check_id="V19",
        severity="pass" if good else "reject",
        title=title,
        measured=f"{count(facts.rows_loaded)} rows for {count(facts.recordcount)} records",
        threshold=limits + (", or more: the workload inserts" if inserts else ""),
        message=(
            "The clients asked for keys that the database has."
            if good
            else f"The workload asks for {count(facts.recordcount)} records and the database holds "
            f"{count(facts.rows_loaded)}: reads miss, or hit a smaller set than stated."
        ),
        remedy="" if good else "Load the data set anew with this workload's record count.",
    )


def _sentence(complaints: list[str]) -> str:
    text = "; ".join(complaints)
    return text[0].upper() + text[1:] + "."
