"""Run this again: a matrix as one plan file, and as a script that repeats it without Benchsite.

plan         the plan file's content as models, and the plan to expand that they make
plan_file    the same as TOML, always the same text for the same plan; reading it again strictly
plan_export  a stored matrix as a plan file
plan_import  a plan file as a matrix
plan_fit     what of a plan no longer fits the clusters and load generators that were chosen for it
script       the script that repeats a plan

Pure, but for plan_export, plan_import and plan_fit: the script needs no row.
"""
