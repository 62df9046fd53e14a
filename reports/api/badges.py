"""Badges and sparklines of what may be seen without an account, as SVG."""
