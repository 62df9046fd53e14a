"""Run this again: a matrix as one plan file, and as a kit that a stranger can follow without Benchsite.

plan         the plan file's content as plain values, and the plan to expand that they make
plan_text    the same as TOML, always the same text for the same plan; reading it again strictly
plan_file    a stored matrix as a plan file, and back (`export_plan`, `read_plan`, `import_plan`)
fitting      what of a plan no longer fits the clusters and load generators that somebody chose for it
cells        the cells of a plan with their clients, and the names of all their files
scripts      what a client's shell script says
archive      the zip: property files, server settings, scripts, README
by_hand      a matrix whose runs wait for outputs that people bring
outputs      which of the brought files belong to which planned cell

Pure, but for plan_file, fitting and by_hand: a kit can be made when every row is deleted.
"""

from runs.kits.archive import kit_name, zipped

__all__ = ["kit_name", "zipped"]
