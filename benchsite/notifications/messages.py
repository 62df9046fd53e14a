"""The English of webhooks: templates for `str.format`, filled where a result is found."""


# --- forms.py ---

WRITE_EMAIL = "Write the address to which the e-mail goes."

# --- webhooks.py ---

HOSTS_ALLOWED = "The operator of this site allows webhooks to {hosts} only."
TOO_MANY_WEBHOOKS = "A team has at most {limit} webhooks: delete one that is not needed."
