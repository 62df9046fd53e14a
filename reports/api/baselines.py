"""Named baselines, and the runs they pin."""
