"""The English of the metadata of uploads: templates for `str.format`, filled where a result is found."""


# --- manifest.py ---

NO_UTC_OFFSET = "“{text}” is no offset from UTC: write it as +02:00 or -05:30"
NOT_KNOWN = "“{name}” is not known here."

# --- metadata.py ---

NO_PART_OF_NAME = "holds the character U+{code_point:04X}, which is no part of a name"
NO_PURPOSE = "“{text}” is no purpose.{hint} Known are: {purposes}."
CURVE_OF_SYSTEM = "That curve is of {system} in mode {mode}: begin a new one."
CURVE_OF_PURPOSE = "That curve's purpose is {purpose}: begin a new one."
CURVE_OF_WORKLOAD = "That curve is of the workload “{workload}”: begin a new one."

# --- metadata_merge.py ---

NAME_OTHER_SYSTEM = "Name the other system, as in “FooDB”."
SYSTEM_NOT_TOLD = "The files do not tell which system this was: state its slug, as in “redis”."
NO_SYSTEM = "No system of the catalog is called “{name}”. {meant}Of another one state “other” and its system_name."
MODE_OF_OTHER_SYSTEM = "Of a system that is not in the catalog the mode is “unknown”."
NO_MODE = "{system} has no mode “{mode}”. {meant}It has: {modes}, unknown."
