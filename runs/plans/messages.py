"""The English of plans, their files and their preview: templates for `str.format`, filled where a result is found."""


# --- capacity.py ---

USE_MORE_GENERATORS = "Use more load generators."
SET_CLIENTS_PER_GENERATOR = "Set the clients per generator to {clients}."
MORE_CLIENTS_NEEDED = (
    "{needed} needed for {throughput} ({run}): its {clients} with the {binding} binding have generated {most} at "
    "most so far. {remedy}"
)
TOO_LITTLE_DISK = (
    "The data needs {needed} of disk on each node of {cluster}, and {node} has {spare} to spare{total} (runs end "
    "where a disk is {share} full). Load fewer records, plan fewer modes in one matrix, or free space."
)
TOO_LITTLE_MEMORY = (
    "{database} holds its data in memory and needs {needed} on each node; {node} has {total} in all. Load fewer "
    "records, or use nodes with more memory."
)

# --- faults.py ---

FAULT = "{kind} of {nodes} at second {at_s} for {duration_s} s{value}"
TOO_MANY_FAULTS = "A run has at most {limit} faults, this plan has {count}: plan several matrices."
FAULTS_OVERLAP = "The {first} and the one at second {at_s} overlap: begin the second at second {least_s} or later."
NO_FAULT_KIND = "there is no kind “{kind}”; the kinds are {kinds}."
FAULT_TOO_EARLY = (
    "it begins at second {at_s}, and the seconds before the first fault are the level that a recovery is measured "
    "by: begin at second {least_s} or later."
)
FAULT_TOO_LATE = "it ends at second {ends_s}, after the window of {window_s} s: begin it earlier, or measure longer."
NODES_FROM_ONE = "nodes are numbered from 1; leave the node empty for all."
GIVE_FAULT_VALUE = "give its value, {least} to {most} {unit}."
NO_FAULT_VALUE = "a {kind} has no value: leave it empty."
FAULTS_AND_FEATURES = (
    "Runs with faults are no measurement of throughput, so their plan has no {features}: leave out either."
)
FAULTS_NEED_OWN_SERVERS = (
    "{name}: its cluster {cluster} is {provisioner}, and faults are applied to servers that Benchsite starts. Choose "
    "a database on a process or docker cluster, or leave the faults out."
)
NO_SUCH_FAULT_IN_CONTAINERS = "containers have no such fault. Choose a database on a process cluster, or another kind."
NO_SUCH_NODE = "it has {nodes}. Choose one of them, or all."
NO_FAULTS_ON_OTHER_MACHINES = (
    "load generators start its servers, and they apply no faults. Choose a cluster of the conductor's own machine."
)
NO_BUILDS_ON_OTHER_MACHINES = (
    "load generators start its servers, and they start no own builds. Choose a cluster of the conductor's own machine."
)
SLOW_DISK_OF_ONE_NODE = "disks are slowed down on databases of one node only."
REPLICAS_COPIED_ANEW = "its replicas are copied anew after an end of their primary. Choose all nodes, or a replica."

# --- files/plan.py ---

ONE_LINE = "must be one line of at most {limit} characters{not_empty}"
NO_LINE_BREAKS = "must be texts without line breaks"
NUMBER_OR_LINE = "must be a number or a text of one line"
NUMBER_OF_TABLES = "must be 1 to {limit} tables"
NO_ROLE = "{role!r} is no role; write it as in cluster-1"
PLANNED_TWICE = "{run} is planned twice: a rule gives two rungs the same threads."

# --- files/plan_export.py ---

OWN_BUILDS_NOT_EXPORTED = "This plan has own builds, which are files of its machines: export it with names."
WORKLOAD_OF_GROUP_GONE = "A group has the workload {workload}, which is there no more."

# --- files/plan_file.py ---

PLAN_FILE_TOO_LONG = "A plan file has at most {limit:,} characters, this one has {length:,}."
NO_TOML = "This is no TOML: {error}."
NESTED_TOO_DEEPLY = "This is no plan file: its tables are nested too deeply."
OTHER_FORMAT = "format must be {format!r}: this is another kind of file"

# --- files/script.py ---

STATION_NODES = "  nodes: {nodes}, copies of each record: {copies}"
STATION_START = "  start on one machine: cd servers/{station} && {command}"
STATION_CHECK = "  check on the running server: {name} is {value}"
STATION_DELETES = "  deletes data of others too: use a server that has nothing else"
CLIENT_GROUP = "Client group {group}: one client on {where}"
ENDS_BY_OPERATIONS = (
    "Rungs end once their clients did {operations} operations in the window, after {measured} of it at least. The "
    "clients of this script go on for the longest time, {longest}: cut off what comes after the operations."
)
ORDER_OF_STATIONS = "Order of the plan: {order}, over all stations"
RESET_BEFORE = "Reset before the next {level}: {reset}"

# --- groups.py ---

ALONG_PROFILE = "along a profile"
CLIENT_ON_EACH = "one client on each of {generators}"
TOO_MANY_GROUPS = "A plan has at most {limit} groups beside its ladder, this one has {count}."
GROUP_NAMED_TWICE = "Two groups are named {name}: give each a name of its own."
TOO_FEW_GENERATORS = (
    "The groups have {own} for themselves, the plan has {generators}, and the ladder needs one: choose more, or let "
    "groups share those of the ladder."
)
TOO_FEW_SLOTS = (
    "With {groups} on the load generators of the ladder each runs {clients} clients, and {generator} runs {slots} at "
    "a time: restart it with BENCHSITE_GENERATOR_SLOTS={clients}, or give groups load generators of their own."
)
NO_WORKLOAD = "there is no workload “{name}”: choose one of those that are described."
GROUP_INSERTS = "has a stock client, and with {workload} it would insert the same keys as others: choose Benchsite's."
CATCH_UP_NEEDS_TARGET = "{workload} has {name}, which needs a target: give one, or leave it out."
OTHER_RECORDS = (
    "{workload} is over other records than {other}: choose a workload with the same recordcount, fields, key order "
    "and table."
)
RUNG_NOT_SPLIT = (
    "A rung of {threads} cannot be split over {clients} clients: begin at {clients}, or choose fewer load generators."
)
THREADS_NOT_SPLIT = "{threads} cannot be split over {clients} clients: use at least {clients}."
GROUP_NEEDS_RATE = "operations that do not wait need a rate: give its target, or let them wait."
GROUP_PROFILE_WAITS = "a profile needs operations that do not wait: choose how they arrive, or leave it empty."
TARGET_NOT_SPLIT = "its target cannot be split over {clients} clients: use at least {clients} ops/s."
GROUP_TARGET_TOO_HIGH = (
    "{target} is more than {clients} can offer, {each} each. Use more load generators, or a lower target."
)
GROUP_START_AND_LENGTH = "give its start with its length, or leave both empty: it then works as long as the ladder."
GROUP_ENDS_LATE = "it ends at second {ends_s}, after the window of {window}: start it earlier, or measure longer."
GROUP_EMBEDDED = "is {system}, a library inside the client, and one process at a time has its data: leave it out."
GROUP_GO_CLIENT = (
    "is driven by go-ycsb, whose output cannot be merged for a part of a run: choose another client for it."
)
GROUP_CLIENT_WAITS = (
    "is driven by a client that waits for its answers: choose Benchsite's for it, or let operations wait."
)
GROUP_STOCK_CLIENT = "has a stock client, which does not take {name} of {workload}: choose Benchsite's for it."
GROUP_CANNOT_SCAN = "has a client that cannot scan, as {workload} does: choose another workload."

# --- operation_limit.py ---

RATE_ASSUMED = "nothing was measured yet, so {rate} are assumed"
RUN_ENDS_EARLY = "would end after {ends} of {length}"
TOO_MANY_OPERATIONS = (
    "{run}: {operations} operations per client are predicted ({prediction}), and YCSB counts to {limit:,}: the run "
    "{ends}. It needs {needed} clients and has {clients}. Measure for a shorter time, raise "
    "BENCHSITE_GENERATOR_SLOTS of the load generators (with at least one thread per client), or use more load "
    "generators."
)

# --- plan.py ---

LOOKS_EXAMPLE = "write them as in 3, 5, 9, or leave them empty"
WRONG_LOOKS = "Looks are at most {limit} ascending numbers of repeats from 2 to {most}: {example}."
NO_LOOK_AFTER = "No look is after {repeats} repeats: set the repeats to one of the looks, or add {repeats} to them."
RUNG_TWICE = "{rung} stands in the ladder twice: use repeats to measure it again."
GENERATORS_TWICE = "{count} stands twice among the numbers of load generators: use repeats to measure it again."
FEWER_GENERATORS = "The ladder has {generators}, and {count} are asked for: choose more, or ask for fewer."
NO_RUNG = "Give the ladder at least one rung, such as 2, 4, 8, 16."

# --- plan_spec.py ---

NOT_A_CHOICE = "is {value!r}; it must be one of {choices}"
TOO_MANY_POINTS = "has {count:,} points; at most {limit:,} are allowed"
NO_PAIR = "has a point {number} of {size} numbers: write it as in [60, 150]"
SECONDS_ASCEND = "has a point {number} at second {second}: seconds ascend from 0 to {most:,}"
PERCENT_OUTSIDE = "has a point {number} of {percent} %: it lies between 0 and {most} %"
ALWAYS_ZERO = "is 0 % all the time"
RATES_NEED_LADDER = "has recorded rates: write % of the group's target, as in 0 50; 60 150"

# --- preview.py ---

PROFILE_NEEDS_ARRIVALS = "A profile needs operations that do not wait: choose how they arrive, or leave it empty."
ARRIVALS_NEED_TARGETS = "Operations that do not wait need a rate: step the ladder by target throughput."
SEARCH_WITHOUT_PROFILE = "A search looks for the highest steady rate: leave the profile empty."
LOOKS_WITHOUT_PROFILE = "Verdicts are of steady loads: leave the looks empty where there is a profile."
CLIENT_WAITS = (
    "{database} is driven by a client that waits for its answers, as YCSB's and go-ycsb's own do. Choose Benchsite's "
    "client for it, or let operations wait for a free thread."
)
PEAK_TOO_HIGH = "{peak} is more than {clients} can offer, {each} each. Use more clients, or lower rates."
CATCH_UP_WITH_ARRIVALS = "{name} is for operations that wait. Leave it out, and set the patience instead."
RUNS_SPLIT = (
    "YCSB counts a client's operations in 31 bits. Runs split over more clients than the plan says: {runs}. {run} "
    "has {clients} clients per generator ({prediction})."
)
PROFILE_LONGER = (
    "The profile lasts {length}, and {measured} of it are measured: measure {seconds} seconds for all of it."
)
WINDOW_TOO_SHORT = (
    "The check V05 will reject {which}: {measured} are measured, and it needs {least}. Rejected runs count in no "
    "curve, comparison or report. Measure {least} or more, or choose the purpose tuning, which shows shapes."
)
TIME_UNBOUNDED = (
    "Nothing says how long threads take for so many operations: give the longest time that a rung is measured."
)
OPERATIONS_OF_SEARCH = "The trials of a search end by time: set the operations to 0."
TARGET_TAKES_LONGER = (
    "The lowest target needs {needed} for so many operations, and a rung may last {limit}. Use fewer, a longer time "
    "or a higher target."
)
RUNS_WITH_FAULTS = "Every measured run has faults, so no ceiling, comparison or history uses it: {faults}."
ONE_REPEAT = "{repeats} repeat gives no interval: three show a difference, five are fit to publish."
NO_BLOCKS = (
    "As listed, one sweep runs after the other: whatever changes between them counts as noise. If that is 5 %, "
    "three repeats show a difference of 10 % in about a third of cases; interleaved or randomised in four of five."
)
MACHINES_SHARED = "Load generators share a machine with the servers: compare the shapes, not the numbers."
NO_KNEE = "A ladder of {rungs} shows no knee: use four or more."
MODES_ON_ONE_SERVER = (
    "The external server {server} is used in the modes {modes}, which want different values of {settings}. Runs in a "
    "mode that is not in force fail: plan a matrix for each mode, and change the server's settings between them."
)
NOT_ON_OTHER_MACHINES = (
    "{name}: Benchsite starts {system} on a conductor's own machine only. Choose a cluster of that machine, or an "
    "external one."
)
NODES_NEED_MACHINES = (
    "{name}: {nodes} need as many machines, and its cluster has {machines}: add machines, or lower the setting nodes."
)
COPIES_ABSENT = (
    "{database} asks for {copies} copies of {nodes}: the others are nowhere. It measures {nodes}, however many copies "
    "it states, and V24 says so of its runs."
)
TOO_FEW_COPIES = "it waits for {replicas}, and the database states a replication factor of {copies}"
MODE_STATED = (
    "Benchsite reads nothing back from {systems}: the durability mode is as you state it, and an admin of the team "
    "must confirm on the cluster's page that its target may be written."
)
PERCENTILES_ARE_RANGES = " Percentiles of several clients are ranges: use one for exact ones."
GO_WITHOUT_HISTOGRAMS = (
    "{databases}: go-ycsb leaves no histograms, so a run cannot be cut again, and no response times. Its mean is cut "
    "to whole microseconds.{ranges}"
)
LOADED_AGAIN = (
    "The plan loads the data of {databases} more than once, and Benchsite deletes nothing there: clients that refuse "
    "keys that exist fail the second load, and records that workloads inserted remain."
)
MODES_DIFFER = "The modes differ in what a write waits for: the pages say so wherever two of them are compared."
FITS_INTO_CACHE = "{records} records fit into a processor's cache: use 1,000 or more."

# --- schedules.py ---

EVERY_HOUR = "{hours}, at {minute} minutes past, UTC"
EVERY_DAY = "every day at {at:%H:%M} UTC"
NOT_FINISHED = "“{matrix}”, which it submitted before, has not finished."
BENCHSITE_FAILED = "Benchsite itself failed: the scheduler's log says how."

# --- trial.py ---

TRIAL_REPLACES_DATA = "{system} has no tables: a trial would replace the data set of the external server."

# --- api/matrices.py ---

NO_TRIAL = "This plan has no trial run: start one with POST."

# --- api/plans.py ---

TEAM_HAS_NONE = "Your team has no {kind}."

# --- files/plan_fit.py ---

RUN_BY_OTHERS = "run by somebody else"

# --- views/schedules.py ---

CHOOSE_DAY = "Choose at least one day of the week."

# --- forms/rows.py ---

MODE_GONE = "This database and mode is no longer there: choose another, or clear the row."
DATABASE_GONE = "This database is no longer there: choose another, or clear the row."
WORKLOAD_GONE = "This workload is no longer there: choose another, or clear the row."
NOT_A_RUNG = "“{text}” is no rung: write one number of the ladder, or leave it empty for all."
CHOOSE_EXCLUDED = "Choose what is left out: a database and mode, a workload, a rung, or several of them."
REASON_NOT_PLAIN = "The reason holds a control character: write it in one line of plain text."
REASON_TOO_LONG = "The reason has {length} characters; at most {limit} are allowed."
WRITE_REASON = "Write why it is left out: the reason is shown wherever its result would stand."
CHOOSE_OVERRIDDEN = "Choose the database or the workload that it changes; for all, change the workloads."

# --- forms/extension.py ---

NO_CLIENT = "no client reaches a server of {system}; results of it can be uploaded"
NO_DATABASE = "no database of {system} is described: add one, then open this again"
NO_DATABASE_WITH_CLIENT = "no database of {system} has a client: choose a stock binding for it, then open this again"
MODE_WAITS_FOR_COPIES = "mode {mode} waits for {copies} other copies, which no cluster here has"

# --- forms/workloads.py ---

NO_SIZE = "“{text}” is no size: write it as 4 KB, 4 KiB or 4096."
UNEVEN_RECORD = "{size:,} B do not divide into {count} equal fields: change the number of fields, such as to {nearest}."
LONG_FIELDS = "{count} fields of such a record are longer than a field may be: use more fields."
