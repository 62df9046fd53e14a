"""Verdicts of runs against a baseline: which runs stand on both sides, whether they may be compared, what is said.

answers    a verdict as plain values, for pages, programs and badges
sides      runs as metrics and environments
judging    `verdict_of`: two groups of runs and what is said of them
choosing   which runs a run is judged with and against, by a name or by the rule
waiting    the few requests that may wait for a run's end

The rules themselves are pure: `reports.analysis.verdicts`.
"""

from reports.verdicts.serialization import VerdictDocument
from reports.verdicts.verdict import verdict_of

__all__ = ["VerdictDocument", "verdict_of"]
