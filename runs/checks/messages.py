"""The English of the validity checks: templates for `str.format`, filled where a result is found."""


# --- arithmetic.py ---

FRACTIONS_PRINTED = (
    "Counts or percentiles of {operations} are fractions, which YCSB never prints: they are means over clients or "
    "runs, and a mean of percentiles is no percentile."
)
UPLOAD_AS_PRINTED = "Upload the output of every client as it was printed."
COARSE_PERCENTILES = "Percentiles are known to {resolution} only."
MEASURE_HDR = "Measure with measurementtype=hdrhistogram."
RESPONSE_ESTIMATE = " Estimated from them, p99 of {operation} was {latency}."
SERVICE_TIMES_ONLY = "The load had a target, but latencies count from the call: a stalled database hides its queue."
MEASURE_BOTH = "Measure with measurement.interval=both."
SUMMARY_AND_LOG_DIFFER = "{operation} has {printed} operations in the summary and {logged} in the log"
NO_LOG_OF_OPERATION = "{operation} has {printed} operations in the summary and no log"
CLOCK_SET_BACK = "the run time is {runtime_ms} ms: its clock was set back"
NO_RUN_TIME = "the run time is 0 ms"
STATUS_LINES_COUNT = "the status lines count {operations} operations"
THROUGHPUT_DIFFERS = "{printed_ops_s} ops/s are printed, and operations by run time are {computed_ops_s}"
STATUS_COVERAGE = "its status lines count {share} of an operation of its summary"
STATUS_LINES_APART = "its status lines are {apart} apart, and its command line states {stated}"

# --- arrivals.py ---

MORE_THAN = "more than {share}"

# --- clients.py ---

MACHINE_OF_CLIENT = "the machine of client {number}"
EXCESS_OPERATIONS = "client {number} printed {printed} operations of {limit}"

# --- concurrency.py ---

THREADS_UNKNOWN = "How many client threads ran is not known."
TIMES_MISSING = "Without all clients' times it cannot be computed."
TIMES_UNKNOWN = "The clients' run times, or the counts and means of their operations, are not known."

# --- duration.py ---

NO_UPPER_BOUND = "{percentile} has no upper bound from {values} values"
OPERATIONS_NOT_DONE = "its longest time was over before the {operations} operations that the plan asks for"

# --- environment.py ---

SERVERS_UNSEEN = (
    "The sampler on {machine} did not see the {unseen}, so their CPU cannot be told from that of other processes. It "
    "sees no processes of other PID namespaces, and no external servers whose process nothing tells."
)
NOTHING_SAMPLED = "Nothing was sampled on {machine}."
TOO_MANY_COPIES = "{copies} copies were asked of {nodes}"
CPU_RATIONED = "a node's CPU is rationed (burstable)"
HUGE_PAGES = "a node's memory is in transparent huge pages"
MACHINES_OF_CLIENTS = "the machines of the clients"

# --- evidence.py ---

CLIENTS_MISSING = "only {merged} of {expected} could be merged{names}"
NO_SUCCESS = "not a single operation succeeded"
NO_RETURN_CODE = "no summary tells of a successful return code"
NO_OPERATION_STATED = "the summary of client {clients} states no operation"
WINDOW_UNCUT = "client {client} counted {covered} for a window of {window}, as it got no processor to count each second"
OUTPUT_BREAKS_OFF = "the output of client {clients} breaks off"
RECORDS_INSERTED = "{inserted} of {records} records were inserted"

# --- groups.py ---

NOTHING_TO_MERGE = "left nothing to merge: {problem}"
NO_SUCCESSFUL_OPERATION = "had no successful operation"
GROUP_STOOD = "stood for {share} of its time"

# --- load.py ---

MIX_EDGES = "and threads / operations"
MIX_LIMITS = "{mix_points:points} points or {mix_sigmas} sigma"
STATE_WORKLOAD = "State the workload that was run. Look for unsupported operations and for misspelt proportions."
MEASURE_MIX_AGAIN = (
    "Measure a longer window, and look at what stalled in this one. Of an operation that is missing, look whether the "
    "client supports it."
)
OTHER_MIX = "the command line of client {number} asks for {mix}"

# --- default_thresholds.py ---

OUTSIDE_LIMITS = "It lies between {least} and {most}."
ABOVE_UPPER = "It would lie above {limit} ({meaning})."
BELOW_LOWER = "It would lie below {limit} ({meaning})."

# --- steadiness.py ---

NO_STEADY_STATE = "the {series} reached no steady state: the run is too short"
WARMED_LATE = "by its {series} the warm-up took {warmup_s} s, and {cut_s} s were cut off"
RATES_UNKNOWN = "Nothing tells how much was done in each second."
TOO_FEW_SECONDS = "{length} seconds are too few to judge by: {least} are needed."
STALLS_BY_CHANCE = "Below {throughput} seconds without any operation come by chance."
