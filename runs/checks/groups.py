"""V40: did the client groups stand beside the ladder as planned?"""

from collections.abc import Mapping
from typing import Any

from benchsite.core.formatting import counted, percent
from runs.checks.check import Outcome, check, sentence
from runs.checks.default_thresholds import Profile
from runs.checks.facts import RunFacts
from runs.checks.messages import GROUP_STOOD, NO_SUCCESSFUL_OPERATION, NOTHING_TO_MERGE
from runs.checks.results import Severity, find_worst


@check("V40", "Client groups", "stand for {group_warn} of their time, and checks of measured groups are kept")
def client_groups(facts: RunFacts, profile: Profile) -> Outcome | None:
    """What was measured beside a group that was not there is another load than the plan says.

    Formula: window of each group / planned; the worst finding of each measured group
    Warns: < {group_warn}; a warning
    Rejects: < {group_reject}, no successful operation; a rejection
    Not assessed without: client groups
    """
    if not facts.groups:
        return None

    judged = [_judge(group, profile) for group in facts.groups]
    complaints = [f"{group['name']} {text}" for group, (_, text) in zip(facts.groups, judged, strict=True) if text]
    measured = counted(len(facts.groups), "group")
    if not complaints:
        return Outcome("pass", measured, "Every group stood beside the ladder as planned.")

    severity = find_worst(severity for severity, _ in judged)
    return Outcome(
        severity, measured, f"{sentence(complaints)}.",
        "See the table of client groups: a group that ends early or fails needs fewer threads, a lower target or "
        "another workload.",
    )  # fmt: skip


def _judge(group: Mapping[str, Any], profile: Profile) -> tuple[Severity, str]:
    """The severity, and the end of a sentence that begins with the group's name."""
    if group["problem"]:
        return "reject", NOTHING_TO_MERGE.format(problem=group["problem"].rstrip("."))
    numbers = group["numbers"]
    if numbers["operations"] == numbers["failed"]:
        return "reject", NO_SUCCESSFUL_OPERATION
    share = numbers["window_s"] / (group["planned_s"] or 1.0)
    if share < profile.group_reject:
        return "reject", GROUP_STOOD.format(share=percent(share))
    worst = find_worst(finding["severity"] for finding in group["findings"])
    if group["measured"] and worst in ("warn", "reject"):
        findings = [finding for finding in group["findings"] if finding["severity"] == worst]
        checks = ", ".join(f"{finding['check_id']} {finding['title']}" for finding in findings)
        verb = "is rejected by" if worst == "reject" else "has warnings of"
        return worst, f"{verb} {checks}"
    if share < profile.group_warn:
        return "warn", GROUP_STOOD.format(share=percent(share))

    return "pass", ""
