"""The English of published reports: templates for `str.format`, filled where a result is found."""


# --- builder.py ---

LICENCE_UNKNOWN = "The catalog does not describe {system}: check that its licence permits to publish benchmarks."
FOOTNOTE_WITHOUT_CELL = "The footnote “{text}” has no cell any more: {table}, {side}, {column}."

# --- exports.py ---

NO_STATIC_FILE = "{name} is not among the static files"

# --- figures.py ---

FIGURE_NOT_DRAWN = "This figure was not drawn at publishing."

# --- forms.py ---

TITLE_UNREADABLE = "Give the report a title that can be read."

# --- links.py ---

IMPORTED = "Imported by {person} on {day:%Y-%m-%d}. This site did not verify its numbers."

# --- method.py ---

APPLIED_LIMITS = "{limits}; {severity} at most ({purpose})"
EXCLUDED = "left out by a person"
COUNTED_BY_A_PERSON = "counts: the checks rejected it, a person accepted it"
REJECTED = "rejected by the checks"
THROUGHPUT_UNKNOWN = "nothing tells its throughput"
POINT_DOES_NOT_COUNT = "its point does not count"
