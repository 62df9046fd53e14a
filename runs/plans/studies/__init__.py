"""The published studies: what each printed, with its source, and its plan as an ordinary plan file. Pure.

published_results.csv has one line for each printed number. Nothing in it is corrected; `disputed` says why a number
cannot be right. `plans/` has one plan file for each study.
"""

from runs.plans.studies.published import Fact, Overlay, Study, plan_text, read_facts, studies
