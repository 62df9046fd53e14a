"""From a run's stored output to rows: measurement sets, series, intervals, findings. Each verb is one transaction."""
