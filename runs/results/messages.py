"""The English of results and annotations: templates for `str.format`, filled where a result is found."""


# --- annotations.py ---

TAG_TOO_LONG = "A tag has at most {limit} characters; “{tag}…” has {length}. Put long remarks into the notes."
TOO_MANY_TAGS = "A run has at most {limit} tags, and these are {count}. Leave some out."
REASON_TOO_LONG = "A reason has at most {limit} characters; this one has {length}."
NOTES_TOO_LONG = "Notes have at most {limit} characters; these have {length}."

# --- fact_validation.py ---

NUMBER_BETWEEN = "{name} is a number between {least} and {most}"
TOO_MANY_CODES = "{name} are at most {limit} lists of operation, status, code and count"
TOO_MANY_PAIRS = "{name} are at most {limit} pairs of numbers"
FACT_TOO_LONG = "{name} has more than {limit} characters"
NEITHER_TEXT_NOR_NUMBER = "{name} is neither a text nor a number"
NUMBER_TOO_LARGE = "{name} is too large a number"

# --- recording/scheduled_runs.py ---

NOT_BROKEN_BY_INFRASTRUCTURE = "it is not a run that infrastructure broke"
MODE_NOT_READ_BACK = "the durability mode was not read back {when} the clients ran"
RECORDS_NOT_COUNTED = "the records were not counted after the load"
NO_CLIENT_STARTED = "no client was started"

# --- recording/uploaded_runs.py ---

FILES_REGROUPED = "this version takes the files of its upload for other runs; upload them again"

# --- deletion.py ---

PARTS_TOO = ", with {parts}"
PART = "the {kind} {name}"
NEEDED_ROW = "the {kind} “{name}”"
CANNOT_BE_RESTORED = "“{name}” cannot be restored. {reason}"
NEED_GONE = "It needs what was removed for ever: {needs}."
NAME_TAKEN = "A name of it is taken: rename what has that name now, then restore it. {detail}"
ROW_GONE = "What it needs is not there: restore first what was deleted with it or before it. {detail}"
PARTS_COME_TOO = "What it uses of {names} comes back with it: databases, workloads and clusters."
COMES_TOO = "It needs {names}, which is restored with it."
FORGET_LATER = "“{name}” stays in the trash: {needing} needs it to be restored. Forget that first."

# --- views/run.py ---

WINDOW_TOO_SHORT = (
    "Nothing was queued: V05 rejects the window of “{run}” however often it is measured. Here its matrix can be "
    "measured with a longer one."
)

# --- views/run_list.py ---

NO_RUN_SELECTED = "No run is selected: select runs first."
WRITE_A_TAG = "Write at least one tag; put commas between several."
RUNS_TAGGED = "{changed} of {runs} runs got a new tag."
RUNS_EXCLUDED = "{changed} of {runs} runs are now excluded. They stay visible, with your reason."
RUNS_INCLUDED = "{changed} of {runs} runs count again."
NOTHING_QUEUED = "Nothing was queued: uploaded runs are measured where they came from, and the others have not ended."
WINDOWS_TOO_SHORT = (
    "{runs} left out: V05 rejects their windows however often they are measured. The page of their matrix measures it "
    "with longer ones."
)
CHOOSE_ACTION = "Choose an action for the selected runs."
