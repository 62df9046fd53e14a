"""The published studies as a reference pack: what each asked, how it measured, what it printed, what is disputed.

Pure: no Django, and nothing read but the files beside this module. Numbers are those that were printed; where they
contradict each other or arithmetic, a dispute says so beside them and nothing is corrected.
"""

from runs.studies.loader import expanded, read_facts, read_pack, read_study, studies, study_of
from runs.studies.records import (
    SYSTEMS,
    Fact,
    Kind,
    Overlay,
    Qualifier,
    Study,
    StudyError,
)
