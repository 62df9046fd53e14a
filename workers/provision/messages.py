"""The English of servers and their data sets: templates for `str.format`, filled where a result is found."""


# --- readback.py ---

TOO_FEW_REPLICAS = "The mode needs {expected} connected replicas; there are {connected}."
OTHER_REPLICATION_FACTOR = (
    "The database states a replication factor of {expected}, and the server keeps {kept}: correct the database, or "
    "its schema."
)
SETTING_UNKNOWN = "{name} should be {expected!r}, but this server does not know it."
SETTING_DIFFERS = "{name} should be {expected!r}, but the server says {answer!r}."

# --- ownership.py ---

OTHER_RECORDS_REMAIN = "{records:,} other records remain in {target}; they are not part of the data set."
MARKER_NAME_TAKEN = "In {target} {error}. Nothing was changed. Rename or delete it, or choose another target."
MARKED_BY_OTHERS = (
    "Another run or another Benchsite site marked {target} as its own at the same moment. Nothing was loaded. {remedy}"
)
OTHER_DATA_SET = (
    "{target} holds another data set, and Benchsite cannot delete it there. Nothing was changed. Empty it; then let "
    "an admin of the team withdraw the confirmation on {page} and confirm again."
)
DATA_WRITTEN_AGAIN = "{target} held this data set already; its records are written again."
