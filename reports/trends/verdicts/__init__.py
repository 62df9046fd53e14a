"""Verdicts of runs against a baseline: which runs stand on both sides, whether they may be compared, what is said.

The rules themselves are pure: `reports.trends.analysis.verdict_rules`.
"""
