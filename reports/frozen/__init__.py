"""Frozen reports: what a report says, fixed at publishing, so that it cannot change under its readers.

content      the shape of what a revision holds; canonical bytes and their digest (pure)
drafts       what somebody is putting together (pure)
gathering    one comparison, without the names of machines and people, judged as on the compare page
building     a draft and its comparison become content: figures, tables, headline, environment, method
redaction    what must not be seen, found in texts and replaced; redacting does it to curves (pure)
revisions    content to rows and back
links        the addresses of reports: made, opened, rotated, revoked
publishing   the verbs: begin, keep, publish, set_access, delete
rights       what of it is not for every runner: making it public, opening a closed link, deleting
opening      which revision an address means, and who may see it; pages, exports, alone show it
pages        what the page says, worked out of the content (pure)
places       a revision's addresses, and its place among the others
rendering    notes and figures made harmless for a reader's browser
served       pages as bytes, kept in the cache; headers, 304
exports      canonical JSON, CSV, Markdown
alone        one HTML file that needs no network
pictures     PNGs from the publisher's browser, encoded anew
shape        whether a stranger's file has the shape of a content
importing    an exported report becomes one of ours, with the same digest
index        what of a team everybody may find
"""
