"""Rows to values: the only place in `reports` that reads the database.

Every choice of rows takes the team that may see them. The number of queries does not depend on how many sweeps or runs
there are.
"""

from reports.compare.queries.computed_cache import build_key, get_or_compute, rows_digest
from reports.compare.queries.curves import curves, outlines, run_point
from reports.compare.queries.facets import facets
from reports.compare.queries.run_pair import find_comparable_runs, run_at_ceiling, run_sides
from reports.compare.queries.series import stored_series
from reports.compare.queries.sweep_facts import get_profile, load_submissions, sides_by_sweep
from reports.compare.queries.sweep_list import SweepFilter, last_evidence, offer_choices, rung_rows
from reports.compare.queries.sweep_selection import Chosen, chosen, get_sweeps, is_lost, pinned
from reports.trends.queries.noise import session_spreads
