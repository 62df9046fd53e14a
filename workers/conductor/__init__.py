"""Carries out runs: scheduling, deployments, data sets, planned faults."""
