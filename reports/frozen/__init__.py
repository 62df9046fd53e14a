"""Frozen reports: what a report says, fixed at publishing, so that it cannot change under its readers.

content      the shape of what a revision holds; canonical bytes and their digest (pure)
figures      a sheet in its four drawings (pure)
revisions    content to rows and back
links        the addresses of reports: made, opened, rotated, taken back
"""
