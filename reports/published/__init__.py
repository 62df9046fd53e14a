"""Frozen reports: what a report says, fixed at publishing, so that it cannot change under its readers.

`builder` makes the content (`content`) of a draft (`drafts`) and its comparison (`report_sources`), without the names
of machines and people (`redaction`); `publication` has the verbs and stores what was published. `links` opens a
revision, `pages` and `exports` show it.
"""
