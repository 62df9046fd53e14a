"""Verdicts of runs against a baseline: which runs stand on both sides, whether they may be compared, what is said.

The rules themselves are pure: `reports.analysis.verdicts`.
"""

from reports.verdicts.serialization import VerdictDocument
from reports.verdicts.verdict import compute_verdict
