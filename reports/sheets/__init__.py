"""A figure with everything that belongs to it: caption, notes, table twin, and the words for when nothing is there.

Pure: values in, sheets out; the endpoints only answer in the format that was asked for. One module per family.
"""

from reports.sheets.curves import ceilings_sheet, ladder_sheet, latency_sheet
from reports.sheets.run import distributions_of, heat_sheet, percentiles_sheet, run_series_sheet
from reports.sheets.sheet import NOTHING_CHOSEN, NOTHING_YET, Sheet
from reports.sheets.wide import (
    durability_sheet,
    price_sheet,
    scalability_sheet,
    stability_sheet,
    sweeps_percentiles_sheet,
)

__all__ = [
    "NOTHING_CHOSEN",
    "NOTHING_YET",
    "Sheet",
    "ceilings_sheet",
    "distributions_of",
    "durability_sheet",
    "heat_sheet",
    "ladder_sheet",
    "latency_sheet",
    "percentiles_sheet",
    "price_sheet",
    "run_series_sheet",
    "scalability_sheet",
    "stability_sheet",
    "sweeps_percentiles_sheet",
]
