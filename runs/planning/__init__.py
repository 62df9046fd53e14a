"""From a matrix to its sweeps and runs: a pure expansion, a preview of what it costs, and one insert."""

from runs.planning.drafts import Draft
from runs.planning.expansion import PlannedRun, expand
from runs.planning.plan import Plan, PlanError, Problem, next_look, plan_of, stored_plan
from runs.planning.preview import Preview, preview
from runs.planning.submission import submit
from runs.planning.trial import start_trial
