"""The English of comparisons and their figures: templates for `str.format`, filled where a result is found."""


# --- analysis/looks.py ---

BEFORE_FIRST_LOOK = "{repeats} of {first} repeats: no verdict before the first look."
LAST_LOOK = "this is the last look"
NEXT_LOOK = "the next look is after {repeats}"
VERDICT_AT_LOOK = (
    "Verdict after {after} of {most} repeats, at the level {level} of this look ({interval} interval); {following}."
)

# --- analysis/repeat_comparison.py ---

NO_DIFFERENCE = "No difference was found: the interval {interval} holds 1. A difference under {share} would not show"
DIFFERENCE_IN_A_ROW = (
    "The interval of {sessions} in a row, {interval}, excludes 1, and the difference is {threshold} or more."
)
NO_DIFFERENCE_FOUND = "no difference found, one under {share} would not show"

# --- analysis/ratios.py ---

NO_RUN_COUNTS = "has no run that counts"
NO_NUMBER = "has a value that is no number"
ZERO = "has a value of zero"

# --- pages/baseline_ratios.py ---

WELCH = "Welch's t"
BLOCKED = "blocked analysis where one plan interleaves the repeats"
BLOCKED_AND_WELCH = f"{BLOCKED}; of all else {WELCH}"
CEILING_OPEN = "{whose} ceiling may lie higher ({reason})"
BOTH_CEILINGS_OPEN = "both may lie higher ({reason})"
RATIO_IS_BOUND = f"{{bound}}: {CEILING_OPEN}"
NO_END = "the ladder does not show the end"

# --- pages/equal_load.py ---

MEASURED_AT = "measured at {rung}"
BETWEEN_RUNGS = "≈ between {rungs}"
LOAD_NOT_REACHED = "not reached: the highest is {throughput}"
LATENCY_NOT_REACHED = "not reached: measured {throughput}"
LOAD_BELOW_RUNGS = "the lowest rung already does {throughput}"
LATENCY_BELOW_RUNGS = "not even the lowest rung"
NOTHING_MEASURED = "nothing measured"
UNSUSTAINED = "no target was sustained"
LAST_THAT_WAS_SUSTAINED = "{origin}, the last that was sustained"
LOWER_RUNG_ABOVE = "{origin}, but the lower rung of {rungs} is above the limit"
REPEATS_DIFFER = "The repeats differ from rung to rung: no interval."
REPEATS_WITHOUT_LATENCY = "only {measured} of {repeats} repeats have a latency at this load"

# --- pages/exclusions.py ---

REJECTED_BY_CHECKS = "rejected by the validity checks"

# --- figures/captions.py ---

CLIENTS_ON_DATABASE_MACHINES = "Clients ran on the database's own machines: compare the shapes, not the numbers"
ON_ONE_MACHINE = "Everything ran on one machine"
NODES_ON_ONE_MACHINE = "Several nodes on one machine"
COMPARE_SHAPES = "{subject}{cores}: compare the shapes, not the numbers"
GENERATORS_ON_CLUSTER = (
    "Load generators ran on the cluster's own machines ({machines}): compare the shapes, not the numbers"
)
CORES_DIVIDED = ", divided between servers and clients"
MODES_STATED = "Durability mode stated, not read back: {sides}"
NOT_MEASURED = "No {kind} of {operation} here. Measured was: {measured}."
POINTS_WITH_FINDINGS = "checks object to {points}"
NO_FINDINGS = "no check objects"
DROPPED = "latencies are of what was started: up to {share} of what was offered was dropped"
ONE_RUN_PER_POINT = "n = 1 run per point, so no interval"
RUNS_PER_POINT = "n = {runs} runs per point: geometric mean, band from least to most"
CLIENTS_MISSING = "only {merged} of {expected} clients merged at {points}"
CLIENTS_MERGED = "{clients} merged at every point"
CPU_NOT_MEASURED = "CPU of the load generators not measured"
GENERATORS_CPU = "load generators' CPU at most {most}{missing}"
MODE_NOT_READ_BACK = "durability mode not read back at {points}"
MODE_READ_BACK = "durability mode read back before and after every run"
EXCLUDED = "left out by a person"
OVERRIDDEN = "rejected but counted with a written reason"
STAND_INS = "{runs} against {kinds}, hollow where drawn: not the product."

# --- figures/figure.py ---

NOTHING_CHOSEN = "No sweep is chosen. Choose a matrix, or select sweeps in the list of sweeps."
NOTHING_YET = "Nothing has been measured yet. Points appear here as their runs end."
NOTHING_TO_DRAW = "Nothing to draw: of what was measured, the throughput or the threads are unknown."

# --- figures/ceilings.py, pages/tables.py ---

# Of a side with runs that succeeded and without a point.
NO_POINT = "throughput or threads unknown"

# --- figures/ceilings.py ---

CEILINGS = "Ceiling of each sweep; lines are intervals"
INTERVALS = "With repeats a line is the 95 % interval; with targets it ends at the next target, which failed"
INTERVAL_CUT = "An interval with an arrow goes on: where it ends stands behind the value"
FACTOR_ALONE = "÷ is the factor of these runs alone"
SINGLE_RUNS = "Single runs do not show which side is best: {factor}"
AMONG_BEST_MEANS = "Among the best: not distinguishable from the best by repeats that exclude a loss over {loss} (95 %)"
UNDECIDED_BESIDE = "{sentence}; undecided: they do not exclude it"
UNDECIDED = "undecided: {repeats} repeats may decide"
UNDECIDED_NOISY = "undecided: the repeats vary too much"
UNDECIDED_SHORT = "undecided: another ladder is too short"
UNDECIDED_MEANS = "Undecided: the repeats neither tell sides apart nor exclude a loss over {loss}"
JUDGED_AT_LOOK = "judged after {after} of {most} repeats, at the level of this look"
OF_SINGLE_RUNS = "{sentence}. Of single runs and ladders whose end is open {factor}"
COST_OF_MODE = "{times} of a mode: of the best ceiling of the database's weakest durability"
COST_OF_WEAKEST = "{cost}, the weakest durability of this database"
BEST_OF_CLASS = "{best} of those whose writes wait for: {durability_class}"

# --- figures/figure.py ---

SIDES_SHOWN = "{drawn} of {sides} sides are shown"

# --- figures/latency.py ---

LOAD_FAR_BEYOND = "The load of {load} lies far beyond every curve and is not drawn"

# --- figures/overlay.py ---

IN_GREY = "In grey, as published and not comparable: {studies}"
SOME_DISPUTED = "{studies}; {disputed} of them disputed"
STUDY_WITHOUT_RESULT = "Nothing is drawn of {studies}: no number was printed of this mix and these records"
STUDY_WITHOUT_LATENCY = (
    "Not in the latency figure: {studies}, which printed no {operation} {statistic} beside a throughput"
)

# --- figures/loss.py ---

ANY_NUMBER_OF_WRITES = "any number of writes"
LOST_NONE = "lost none in {cuts}: at most {share} lose any (95 %)"
CEILING_OVER_LOSS = "Highest throughput over the oldest acknowledged write that a power cut of one node takes"
FILLED_AND_HOLLOW = (
    "Filled points: measured on a volatile disk, the line runs from median to maximum; hollow points: the record of "
    "the mode"
)
DOTTED_LINE = (
    "The dotted line is the highest value of the sides that lose at most so much; repeats may not tell them apart"
)
NOT_PLACED = "not placed, no ceiling or durability unknown"
NO_KNOWN_LOSS = "No sweep has both a ceiling and a durability mode with a known loss."

# --- figures/percentiles.py ---

PERCENTILES_OF_WINDOW = "Percentiles of the measured window, not averaged over clients"
NO_LATENCY_STORED = "No latency of this run is stored."
UP_TO_LOAD = "Each sweep at its highest rung up to {load}"
AT_OWN_CEILINGS = "Each sweep at its own ceiling: the loads differ"
MEANS_OF_REPEATS = "Each percentile is the geometric mean of its repeats'; their histograms are not pooled"
NO_CEILING_TO_DRAW = "No sweep has a ceiling, so there is no rung whose percentiles could be drawn."
NOTHING_UP_TO_LOAD = "No sweep was measured at {load} or less. Choose a higher load."

# --- figures/points.py ---

MEAN_OF_REPEATS = "mean of {repeats} repeats, {low} to {high}"

# --- figures/run_series.py ---

CLIENTS_MERGED_PER = "All clients merged, per {every}; what is shaded does not count"
MEASURED_SECONDS = "Measured from second {begin} to {end}"
P99_BY_ITSELF = "p99 of each {every} by itself: their mean would mean nothing"
FAULT_BANDS = "Coloured bands are planned faults: {faults}"
OFFERED_AND_DROPPED = "Offered, started and dropped count when an operation was due"
SECONDS_BAND = "The band reaches from the least to the greatest second of each interval"
NO_SECOND_STORED = "No second of this run is stored."

# --- figures/scalability.py ---

SIZES = "Highest throughput of each cluster size"
IDEAL_GAIN = "100 % of the ideal gain is as many times the smallest cluster's throughput as there are times its nodes"
ONE_SIZE = (
    "Every sweep stands on a cluster of one size. Measure the same database and mode on clusters of several sizes, "
    "and choose all of their sweeps."
)
LOOK_FOR_DIFFERENCES = "{gain}: look for what else differs"

# --- figures/server_metrics.py ---

SERVER_SERIES = "{subject}, over the time axis of the run's series; what is shaded does not count"

# --- figures/sweeps_over_time.py ---

AT_OWN_CEILINGS_OVER_TIME = "Each sweep in the run at its own ceiling: the loads differ. Points are of {interval}"
NO_SERIES = "No series of {operation} is stored of these sweeps."

# --- ladder_text.py ---

CEILING = "ceiling"
CEILING_OR_MORE = "ceiling, may be higher"
SOME_CEILINGS_OR_MORE = "ceiling, some may be higher"
UNDER_TOP_POINT = "below its highest point, {highest}: the highest is partly chance"
CLIENTS_AT_LIMIT = "the clients were at their limit"
THREADS_LACKING = "the next target lacked threads"
NEXT_TARGET_UNKNOWN = "of the next target no run counts"
SEARCHED_LIMIT = "the search sought {limit}, not the ceiling"
LAST_SUSTAINED = "the last target was sustained"
ALL_SUSTAINED = "every target was sustained"
LADDER_TOO_SHORT = "the ladder is too short"
NONE_SUSTAINED = "no target was sustained"
ABOVE_CLIENTS_LIMIT = "above the clients' limit"

# --- analysis/comparability.py ---

NUMBER_OF_RECORDS = "the number of records"
SIZE_OF_RECORD = "the size of a record"
NUMBER_OF_NODES = "the number of nodes"
NOT_KNOWN_OF_BOTH = "Not known of both sides: {facts}."

# --- analysis/differences.py ---

NO_OWN_SETTINGS = "none of their own"
HOTTEST_KEYS = "1 % of the keys get {percent} of the requests, the 10 hottest {ten}"

# --- pages/planned_steps.py ---

SIDE_AT_THREADS = "{side} at {threads}"

# --- selection.py ---

TOO_MANY_VALUES = "The address gives {count} values of {name}; the first {limit} count."
NO_OPERATION = "{text} is no operation; every operation is shown."
NO_CHOICE = "{name}={value} is none of {choices}; it is left out."
LEFT_OUT = "it is left out"

# --- queries/sweep_selection.py ---

MATRIX_MISSING = "That matrix is not among your team's; the latest study is shown."

# --- views/live.py ---

NO_LIVE_VIEW = "No live view: Redis does not answer. The run does not depend on it."
NO_CLIENT_YET = "No client has begun yet."
LIVE_VIEW_GONE = "This run has ended, and its live view is gone. Its stored series is on its page."

# --- views/run_diff.py ---

LOADS_DIFFER = "The loads differ: {a} and {b}."
BUSIEST_GENERATOR_CPU = "CPU of the busiest load generator"
