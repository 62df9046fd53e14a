"""Frozen reports: what a report says, fixed at publishing, so that it cannot change under its readers.

content      the shape of what a revision holds; canonical bytes and their digest (pure)
"""
