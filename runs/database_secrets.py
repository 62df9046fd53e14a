"""Passwords of databases under test after a change of the site's secret key."""

import json

from django.db import transaction
from django.db.models import TextField
from django.db.models.functions import Cast

from benchsite.teams.encryption import CLIENT_PROPERTIES, is_current
from runs.models import Database
from runs.models.client_properties import SEALED


def encrypt_again() -> int:
    """Encrypts under today's key what was encrypted under a former one; returns how many databases those were."""
    changed = 0
    databases = Database.objects.annotate(text=Cast("binding_properties", TextField()))
    for key, content in databases.filter(text__contains=f'"{SEALED}"').values_list("pk", "text"):
        values = json.loads(content).values()
        tokens = [value[SEALED] for value in values if isinstance(value, dict)]
        if all(is_current(token, CLIENT_PROPERTIES) for token in tokens):
            continue
        with transaction.atomic():
            Database.objects.select_for_update().get(pk=key).save(update_fields=["binding_properties"])
            changed += 1
    return changed
