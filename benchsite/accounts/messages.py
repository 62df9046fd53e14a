"""The English of tokens and second factors: templates for `str.format`, filled where a result is found."""


# --- tokens.py ---

MEMBERS_ONLY = "Only members of a team make tokens of it."
NO_SCOPE = "Choose at least one thing that the token may do."
BEYOND_ROLE = "A {role} cannot give {scopes} to a token."
LIFE_TOO_LONG = "A token lives at most {days} days."
TOKEN_ENDED = "“{name}” has ended: make a new token."
TOKEN_ROTATED = "“{name}” was rotated already: use its successor."

# --- second_factor.py ---

TOO_MANY_CODES = "Too many wrong codes. Wait {minutes} minutes."
CODE_USED = "This code was already stated. Wait for the next one."
KEY_CHANGED = "The site's key has changed. Ask an operator to remove your second factor."
