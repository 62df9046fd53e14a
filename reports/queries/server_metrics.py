"""The samples of one run's machines and servers as a figure."""

from reports.figures.run_series import Window
from reports.figures.server_metrics import ServerMetricsFigure, counter_lines, machine_lines
from runs.models import Run
from runs.recording.server_samples import counters_of, hosts_of, samples_of

NO_SAMPLES = "The servers' machines were not sampled while this run was measured."
NO_COUNTERS = "The counters of the servers were not read while this run was measured."


def server_metrics(run: Run, base_s: float, window: Window, *, counters: bool) -> ServerMetricsFigure:
    """The machines of a run, or the counters of its servers; their time axis begins at `base_s`, seconds since 1970.

    One query; samples that cannot be read any more are left out.
    """
    files = list(samples_of(run))
    try:
        lines = counter_lines(counters_of(files), base_s) if counters else machine_lines(hosts_of(run, files), base_s)
    except OSError:
        lines = []
    return ServerMetricsFigure(
        f"{'counters' if counters else 'servers'}-{run.pk}",
        lines,
        window,
        subject="What the servers counted" if counters else "The machines of the servers",
        lacking=NO_COUNTERS if counters else NO_SAMPLES,
    )
