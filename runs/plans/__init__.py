"""From a matrix to its sweeps and runs: a pure expansion, a preview of what it costs, and one insert."""

from runs.plans.drafts import Draft, read_stored, stored_plan
from runs.plans.expansion import PlannedRun, expand
from runs.plans.plan import Plan, PlanError, Problem, build_plan, next_look
from runs.plans.preview import Preview, preview
from runs.plans.submission import submit
from runs.plans.trial import start_trial
