"""Results that nobody measured, as many as wanted: what pages cost on a site that has been used for years.

They have the shapes of real ones - ladders that saturate, repeats that scatter, runs that failed, were rejected or left
out - and are the same for the same seed. They are for measuring Benchsite, and say so in their teams' names.
"""

from benchmarks.synthetic_data.plan_rows import GenerationRefused, Wanted, generate
