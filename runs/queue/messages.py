"""The English of the next runs of a search: templates for `str.format`, filled where a result is found."""


# --- next_runs.py ---

START_BELOW = "Start just below what was reached without a target: {load}."
GO_UP = "No end yet at {before}: go up to {load}."
GO_DOWN = "No lower bound yet: go down to {load}."
BETWEEN_BOUNDS = "{load}: the geometric mean between the bounds around {ends}."
ONE_MORE_DECIDES = "As many trials at {load} were sustained as not: one more decides."
CONFIRM = "Confirm {load} with a run that did not select it."
PEAK_BETWEEN = "The peak lies between {low} and {high}."
FASTER_THAN_MEAN = " Estimate: {estimate}, of all runs; those at {low} were faster than their mean."
SLOWER_THAN_MEAN = " Estimate: {estimate}, of all runs; those at {high} were slower than their mean."
SINGLE_TRIAL = "an end of the bracket has a single trial"
TRIALS_SPENT = "the trials were spent before the peak was located and confirmed"
NO_BOUND = "no run shows {side} bound"
CLIENTS_AT_LIMIT = ", and the clients were at their limit at {low}: add clients"
LOWER_BOUND = "{between}{estimate} A lower bound: the clients, not the database, set it. Add clients."
NO_LOAD_KEEPS_LIMITS = "No load keeps the limits, down to {high}: the last trial was {last}."

# --- spec.py ---

WINDOW = "{measured} measured after {warmup} of warm-up"
NO_SHORTER = "at least {measured}"
WHOLE_RUN = "as long as it lasted, after {warmup} of warm-up"

# --- bindings.py ---

UNPACK_DISTRIBUTION = "unpack the same YCSB distribution as a folder"
PUT_GO_YCSB = "put the same go-ycsb as a file"
PLACE_ON_GENERATORS = "{action} {name} on each of them, name it in BENCHSITE_YCSB_HOMES and restart them."
MAKE_BINDINGS = "run `make bindings {binding}` on each of them and restart them."

# --- pages/queue.py ---

CONDUCTOR_OF_CLUSTER = "a conductor for its cluster"

# --- run_completion.py ---

NO_RESULT_COUNTS = "No run has a result that counts."
