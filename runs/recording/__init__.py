"""From a run's stored output to rows: measurement sets, series, intervals, findings. Each verb is one transaction."""

from runs.recording.rows import write_series, write_set
from runs.recording.scheduled import Collected, Incomplete, collect, complete, judge, missing_output, record

__all__ = [
    "Collected",
    "Incomplete",
    "collect",
    "complete",
    "judge",
    "missing_output",
    "record",
    "write_series",
    "write_set",
]
