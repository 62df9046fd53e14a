"""Frozen reports: what a report says, fixed at publishing, so that it cannot change under its readers.

`builder` makes the content (`content`) of a draft (`drafts`) and its comparison (`report_sources`), without the names
of machines and people (`redaction`); `publication` has the verbs, `revisions` stores what was published. A link
(`links`) opens a revision (`link_resolution`); `pages`, `exports` and `standalone_html` show it, `page_cache` keeps
pages as bytes. `report_import` makes an exported report one of this site's, with the same digest.
"""
