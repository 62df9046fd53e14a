"""Runs from queued to ended: their states, which is next, retries, reasons of failures, live figures."""
