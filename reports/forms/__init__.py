"""Forms of reports."""
