"""The English of load generators: templates for `str.format`, filled where a result is found."""


# --- client.py ---

DEADLINE_PASSED = "YCSB did not end within {deadline_s} s and was stopped."
ENDED_BEFORE_START = "YCSB ended with exit code {exit_code} before it was told to start."
ENDED_BY_SIGNAL = "Signal {signal} from outside Benchsite ended YCSB. Was its machine out of memory?"
ENDED_WITHOUT_SUMMARY = "YCSB ended with exit code {exit_code} and left no summary."
GUARDIAN_KILLED = "The guardian of its YCSB process was killed, and YCSB with it."
OTHER_BUILD = (
    "This load generator holds build {digest} of the {binding} binding, the run was submitted with {submitted}: "
    "{remedy}"
)
GO_DID_NOT_BEGIN = "go-ycsb did not begin; it printed: {printed}"
WORK_FOLDER_FULL = "The work folder {folder} on {host} is full ({error}): free space there, then run this again."

# --- client_check.py ---

NO_SUMMARY = "YCSB ended with exit code {exit_code} and left no summary"

# --- fitness.py ---

TOO_LITTLE_MEMORY = "{available} of memory are available; a client needs {needed}."

# --- generator_api.py ---

OTHER_CREDENTIAL = (
    "This load generator is called {stated} (BENCHSITE_GENERATOR), but its credential belongs to {name}. Set the "
    "name to {name}, or enrol it as {stated} with a code of the page of load generators."
)
RUN_CLAIMED = "Another process has claimed this client run."
NO_SUCH_FILE = "No file of a client is a {kind} {name}."
TOO_MANY_FILES = "The site receives {limit} other files."

# --- generator_requests.py ---

MALFORMED = "The request is malformed: {field}: {problem}."

# --- guards.py ---

TOO_MANY_ERRORS = (
    "{failed} of {operations} operations failed within {seconds} s; the limit is {max_share} for {max_seconds} s."
)
NO_PROGRESS = "No operation succeeded for {seconds} s."
DISK_FULL = (
    "The file system of the {what} {folder} is {share} full ({free} free); the limit is {limit}. Free space there, "
    "then run this again."
)

# --- redis_users.py ---

COMMANDS_LACKING = (
    "Redis at {redis} has no command {commands}, which load generators need. Use Redis 6.2 or newer, or Valkey."
)

# --- site_client.py ---

ANSWER_OF_OTHERS = "The answer {status} is not this API's: {text}"
