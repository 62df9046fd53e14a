"""The English of workloads and of outputs of YCSB: templates for `str.format`, filled where a result is found."""


# --- clients.py ---

NO_HISTOGRAMS = "client {number} left no histograms"
NO_HISTOGRAMS_OF = "client {number} left no histograms of {operations}"

# --- contradictions.py ---

BUCKETS_DIFFER = "its buckets hold {values:,} values of {count:,}"
BUCKET_ABOVE_MAXIMUM = "a bucket above its maximum is not empty"
PERCENTILE_ABOVE_MAXIMUM = "p{percentile} is above the maximum"
MINIMUM_ABOVE_MEAN = "the minimum is above the mean"
MEAN_ABOVE_MAXIMUM = "the mean is above the maximum"
EXCESS_RETURNS = "{returns:,} return codes of success are printed for {operations:,} operations"

# --- files/archives.py ---

NO_NEXT_MEMBER = "The archive is damaged: what should be the next member is none ({error})."
NEGATIVE_SIZE = "The archive is damaged: a member has a negative size."
NO_ZIP_DIRECTORY = "The zip archive has no directory that can be read ({error}). Copy it again."
OFFICE_DOCUMENT = "This is an office document. Save what is in it as plain text."

# --- summary_run.py ---

PERCENTILES_OVERRULED = (
    "{operation}: {percentiles} as stated lie outside of the buckets that hold these percentiles: shown are the bounds "
    "of the buckets."
)

# --- property_names.py ---

FILE_OR_DEFAULT = "that of the workload file, or {default} by default"
FILE_IF_ANY = "that of the workload file, if any"

# --- merge_output.py ---

NOTHING_TO_MERGE = "Nothing can be merged: {problems}."
CLIENTS_APART = (
    "The clients were at work together for {share} of the time only: throughputs of different times were added."
)

# --- printed_series.py ---

NO_SERIES = "There are no series: {error}"

# --- properties.py ---

RECORDCOUNT_MISSING = "recordcount is missing: write how many records to load, 1 or more."
SET_BY_BENCHSITE = "{name} {reason}; Benchsite sets it itself: leave it out."
FOLLOWS_FROM_MATRIX = "{name} follows from the matrix and is set for every client: leave it out."
RECORDCOUNT_ZERO = (
    "recordcount is 0: nothing would be loaded and YCSB would ask for 2,147,483,647 records. Write 1 or more."
)
WARM_UPS_DIFFER = "{ycsb_name} and {name} differ: leave out {ycsb_name}."
WARM_UP_IN_SECONDS = (
    "{ycsb_name} is in milliseconds, and was in seconds in Benchsite before: write {name}={ms} for {ms} ms or "
    "{name}={s} for {ms} s."
)
NO_PROPORTION = "All proportions are 0: give at least one kind of operation a share."
SCAN_LENGTHS = "minscanlength is larger than maxscanlength."
DELETES_EXCEED_INSERTS = (
    "{name} is larger than insertproportion, and a client deletes only what it inserted: insert as much."
)
FIELD_LENGTHS = "minfieldlength is larger than fieldlength."
INTEGRITY_NEEDS_CONSTANT = "dataintegrity needs a constant fieldlengthdistribution; YCSB exits otherwise."
CONSTANT_NEEDS_ZIPFIAN = "{name} needs {distribution}=zipfian or {exact}: write one of them, or leave this out."
CONSTANT_OUTSIDE = "YCSB's zipfian takes {least} to {most}: write {distribution}={exact} for another constant."
PROPORTIONS_ARE_WEIGHTS = "The proportions add up to {total}, not 1; YCSB takes them as weights."

# --- property_schema.py ---

NO_CONTROL_CHARACTERS = "must not contain line breaks or other control characters"
WRITE_ONE_OF = "is {text}; write one of {choices}"
WRITE_PEM = "must be PEM text, from -----BEGIN to the end of the last -----END line"
TEXT_TOO_LONG = "has {length} characters; at most {limit} are allowed"
WRONG_FORM = "is {text}, which does not have the right form. {help}"
WRITE_BOOLEAN = "is {text}; write true or false"
WRITE_NUMBER = "is {text}; write a finite number{range}"
QUANTITY = "a whole number and one of {units}, as in {example}"
NAMED_TWICE = "{name} is {target} here, which has another value: leave one of them."
NOT_KNOWN = "{name!r} is not known here."
NO_PROPERTY_VALUE = "A property is a text, a number or true/false, not {type}."

# --- readers/completeness.py ---

CLEANUP_MISSING = "The results of CLEANUP are missing."
RESULTS_MISSING = "The results of {operations} are missing."
RESULTS_BREAK_OFF = "The results of {operation} break off."
BUCKETS_BREAK_OFF = "The buckets of {operation} break off."
RETURNS_BREAK_OFF = "The return codes of {operation} break off."
OPERATIONS_MISSING = (
    "Throughput and run time tell of {expected} operations, the metrics of {total:,}: some of them are missing, or "
    "the file was edited."
)

# --- readers/go_run_builder.py ---

BEYOND_LAST_BUCKET = "More than {percent} % of {operation} lie in no bucket, above {seconds} s."

# --- readers/refusal.py ---

BINARY_FILE = "This is a binary file. {remedy}"
EMPTY_FILE = "The file is empty: the client was killed, or ended before it could write anything."
TABLE_OF_OUTPUTS = "This is a table made of outputs of YCSB, not an output: upload those."
TPC_C = "This is the output of a TPC-C benchmark (go-tpc), not of YCSB: it is not read here."
CLIENT_PROPERTIES = "These are properties for a client, and not what it printed."
NO_YCSB_OUTPUT = "This is not an output of YCSB or of its relatives: nothing of one is in {lines}."
USAGE = "This is the help that a client prints when it does not understand its options: nothing was run."
NO_RESULT_PRINTED = "The client printed no result: it was killed, or ended before it could write one."
CLOSEST = "What comes closest:"
PRINTED_INSTEAD = "What it printed instead:"

# --- readers/versions.py ---

OTHER_LAYOUT = (
    "This output states YCSB {version}, but is not laid out as that version prints it: it may be of a development "
    "build, or put together from several outputs. The stated version counts."
)
COMPOSITES_IN_MILLISECONDS = (
    "YCSB 0.1.3 and 0.1.4 measure READ-MODIFY-WRITE in milliseconds and print them as microseconds: its latencies "
    "were multiplied by 1000."
)
VERIFY_WITHOUT_LATENCIES = "Before YCSB 0.8 VERIFY has no latencies: what it prints are result codes."
P90_NAMED_P95 = (
    "With measurementtype=hdrhistogram YCSB 0.2.0 to 0.3.1 print the 90th percentile under the name of the 95th: it "
    "is shown as p90, and there is no p95."
)
WHOLE_MILLISECONDS = "YCSB 0.1.0 to 0.1.2 measure in whole milliseconds: its latencies were multiplied by 1000."
PERCENTILES_CUT_OFF = (
    "These percentiles are whole milliseconds, cut off: the true value lies up to 1 ms above. Do not compare them "
    "with HdrHistogram's."
)
INTENDED_TIMES = (
    "measurement.interval=intended: the latencies are response times, counted from when each operation should have "
    "started, although their names do not say so."
)
FAILED_COUNTED = "Before YCSB 0.6 failed operations are counted and measured together with the successful ones."
BATCHED_COUNTED = "YCSB 0.10 and 0.11 count BATCHED_OK as failed: those under -FAILED with this return code succeeded."

# --- series.py ---

WRONG_MARK = "stored data begins with {mark!r} instead of {expected!r}"
OTHER_VERSION = "stored data has version {version}; this Benchsite reads version {readable}"
DATA_DAMAGED = "the stored data is damaged: {error}"
HEADER_DAMAGED = "the stored data is damaged: its header is not an object"

# --- summary.py ---

NO_SUMMARY = "There is no summary: the file is empty. The client was killed, or ended before it could write one."
NO_SUMMARY_IN_LINES = "There is no summary in {lines} lines; what comes closest: {closest}"

# --- command.py ---

DURATION_UNKNOWN = "a client that measures needs to know for how many seconds"

# --- hdrtext.py ---

NO_OPERATION_IN_LOG = "the log does not say which operation it is of"
