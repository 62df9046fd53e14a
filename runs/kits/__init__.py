"""Run this again: a matrix as one plan file, and as a kit that a stranger can follow without Benchsite.

plan         the plan file's content as models, and the plan to expand that they make
plan_file    the same as TOML, always the same text for the same plan; reading it again strictly
plan_export  a stored matrix as a plan file
plan_import  a plan file as a matrix
plan_fit     what of a plan no longer fits the clusters and load generators that were chosen for it
cells        the cells of a plan with their clients, and the names of all their files
scripts      the shell scripts of its clients
archive      the zip: property files, server settings, scripts, README
by_hand      a matrix whose runs wait for uploaded outputs
outputs      the planned cell of each uploaded file

Pure, but for plan_export, plan_import, plan_fit and by_hand: a kit can be made when every row is deleted.
"""

from runs.kits.archive import kit_name, kit_obstacle, zipped
