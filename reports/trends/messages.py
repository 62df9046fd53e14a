"""The English of verdicts and histories: templates for `str.format`, filled where a result is found."""


# --- analysis/verdict_rules.py ---

ENVIRONMENTS_DIFFER = "Not compared: the environments differ in {fields}."
ONE_SESSION_WORSE = "One session is worse in {metrics}."
NO_DECISION = "No decision yet: {changes}."
REGRESSION = "Regression: {changes}."
IMPROVEMENT = "Improvement: {changes}."
WORSE_AND_BETTER = "Mixed: worse {worse}, better {better}."
NO_DIFFERENCE_IN = "No difference found in {metrics}; one under {share} would not show."
# Of several metrics with shares of their own the largest is named with its metric.
SHARE_OF = "{share} of {metric}"
NO_LOSS = "Pass: no loss in {metrics}."
LOSS_ACCEPTED = "Pass, loss accepted: {changes}."
ONLY_ALIKE = "Only runs of equal environments are judged; the ratios are for orientation."
NEW_JOB_DECIDES = "One session does not decide: measure this test again in a new CI job."
COMPARED = "{new} against {base}{undecided}{more}."
UNDECIDED_METRICS = "; open: {metrics}"
MORE_MAY_DECIDE = "; {repeats} may decide"
LATER_CONFIRM = "; later ones confirm it"
LEVEL_ACCEPTED = "The level that begins with {name} was accepted."
NOT_JUDGED = "Not judged, because the environments are not comparable."
LOSS_EXCLUDED = "A loss of {threshold} or more is excluded."
MEASURE_AGAIN = "One session does not decide: measure it again in a new one."
NOT_CONFIRMED = "No later session confirms it."
UNDECIDED = "One session does not decide."

# --- figures/history.py ---

UNCERTAIN = "too uncertain or too small to count"
ACCEPTED_POINT = "rejected, counted with a reason"
CHANGE_ACCEPTED = "{direction}, accepted"

# --- verdicts/baseline_selection.py ---

DUPLICATES_LEFT_OUT = "The same output was uploaded more than once: it is not compared with itself, as {runs}."

# --- verdicts/sides.py ---

RUNS_OF_WEEK = (
    "Runs of the default branch from {since} to {until} UTC, by the date of their commit where it is known, else of "
    "the measurement."
)

# --- verdicts/verdict.py ---

SAME_RUNS = "Not judged: both sides are the same runs."
NOT_EVERY_RUN_MEASURED = "not every run of the {side} side measured its {kind} times."
TOO_FEW_OPERATIONS = "a run of the {side} side did it less than {limit} times."
BETWEEN_TWO_VALUES = "of a run of the {side} side it is only known to lie between two values."
RUN_REJECTED = "“{run}” is rejected by its validity checks."
RUN_CLOSES_MATRIX = "“{run}” is the repeat that closes a matrix."

# --- histories.py ---

TOO_FEW_POINTS = "Fewer than {min} points: too few to say anything of changes"
TOO_FEW_SINCE = "{points} since the level {state} at {label}: later changes are reported from {min} points on"
NEWEST_OUTSIDE = (
    "The newest point, {label}, is {change} {side} its level, outside the band. One point is no change: run it again "
    "before you look for a cause."
)

# --- api/baselines.py ---

RUNS_OR_COMMIT = "Give either `runs` or `commit`."
RUN_MISSING = "One of these runs is not there."
NAMED_ONE_BY_ONE = "{runs}, named one by one."
SEVERAL_COMMITS = "Several commits begin with “{commit}”. Give more of it."
NO_RUN_OF_COMMIT = "No run of the commit “{commit}” counts."
RUNS_OF_COMMIT = "The counted runs of commit {commit}."

# --- views/baselines.py ---

RUNS_OF_SWEEP = "The counted runs of the sweep “{sweep}”."
REPEATS_OF_RUN = "The counted repeats of “{run}” at commit {commit}."

# --- views/history.py ---

ACCEPTED_FOR_ALL = "Accepted for throughput and all latencies: the level begins with {name}."
TEXT_TOO_LONG = "That text has {length} characters; at most {limit} are allowed."
