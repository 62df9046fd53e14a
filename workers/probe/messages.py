"""The English of probes and conformance checks: templates for `str.format`, filled where a result is found."""


# --- exporter_sampler.py ---

NOTHING_PUSHED = "Nothing was pushed for {timeout_s:g} s."

# --- seed_list.py ---

NO_SEED_LIST = "The name server states no record SRV {record}."
SERVER_OUTSIDE = "The record SRV of {name} names {outside}, which is not of the domain {inside}."

# --- conformance.py ---

NO_VERSION = "The server did not state its version."
NO_FACTS = "No facts beyond the version."
MODE_OF_CLIENT = "The mode is the client's alone."
NO_OTHER_SETTING = "No other mode has another server setting."
OTHER_MODES_ACCEPTED = "Read back as in force beside {mode}: {accepted}."
TARGET_MARKED = "The target is empty and marked."
RECORDS_MISSING = "{count} of {records} records are there."
OTHER_DATA_OVERWRITTEN = "A data set of another cluster was overwritten."
WRONG_VALUES = "Of {operations} values {right} were right."
NO_SCANS = "The client makes no scans."
WRONG_CODES_OF_RECORDS = "Reads of missing records returned {codes} instead of NOT_FOUND."
WRONG_CODES_OF_TABLE = "Reads of a missing table returned {codes}."
CLIENT_WITHOUT_SERVER = "A client without a server ended with {exit_code}: {output}"
PAST_PROXY = "The driver connects to the servers that the cluster names, past the proxy."
NO_CONNECTION = "The client had no connection through the proxy."
TRAFFIC = "{before} B before it, {after} B behind it"
NOT_RECOVERED = "The cut was not recovered from: {traffic}; reads returned {codes}; {output}"
RECOVERED = "{sockets} sockets closed; {traffic}; {succeeded} reads succeeded, {failed} failed."
OWN_SERVERS_ONLY = "Only servers that Benchsite starts are killed."
MODE_MAY_LOSE = "Mode {mode} may lose writes when its process, and all replicas, are killed."
INSERTS_LOST = "{acknowledged} inserts were acknowledged and {present} records are there."
INSERTS_PRESENT = "{acknowledged} inserts were acknowledged; {present} records are there."
FOREIGN_KEY = "A key that nobody wrote is there."
NOTHING_LEFT = "No record is left."
WRONG_CODES = "The client ended with {exit_code} and returned {codes}: {output}"
WRONG_COUNT = "{count} {operation} expected; the client returned {codes}."
