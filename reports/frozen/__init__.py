"""Frozen reports: what a report says, fixed at publishing, so that it cannot change under its readers.

content      the shape of what a revision holds; canonical bytes and their digest (pure)
drafts       what somebody is putting together (pure)
gathering    one comparison, without the names of machines and people, judged as on the compare page
building     a draft and its comparison become content: figures, tables, headline, environment, method
redaction    what must not be seen, found in texts and replaced; redacting does it to curves (pure)
revisions    content to rows and back
links        the addresses of reports: made, opened, rotated, taken back
publishing   the verbs: begin, keep, publish, set_access, delete
opening      which revision an address means, and who may see it; pages, exports, alone show it
"""
