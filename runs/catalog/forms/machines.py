"""The form of one machine. Machines belong to the site, so only its operators fill it in."""

import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet

from benchsite.accounts.models import Team
from benchsite.accounts.tenancy import all_teams
from runs.catalog.forms.fields import DescribedForm, PropertiesField, name_field, refuse_in_use
from runs.catalog.messages import HOST_KEY_TAKEN, MACHINE_NAME_TAKEN, NO_FACT_NAME, NO_FACT_VALUE
from runs.models import Cluster, Machine, Run
from runs.queue.spec_corrections import rename_queued_runs
from runs.results.fact_validation import fact_problem

FACT_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}", re.ASCII)
NUMBER = re.compile(r"[0-9]{1,18}", re.ASCII)


class MachineForm(DescribedForm):
    name = name_field(help_text="What people call the host, such as bench-01.")
    host_key = forms.CharField(
        required=False,
        max_length=80,
        label="Host key",
        help_text="What a worker on this host calls itself. Leave it empty until one has reported in.",
    )
    facts = PropertiesField(
        label="Stated facts",
        help_text=(
            "One per line, such as memory_bytes=68719476736 or disk=NVMe 1.9 TB. The checks also know nic_bits_per_s, "
            "cache_bytes (what the database may cache in), instance_type and burstable=yes. What a worker observed "
            "itself stays."
        ),
    )
    teams = forms.ModelMultipleChoiceField(
        queryset=Team.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Only for these teams",
        help_text="None chosen: every team of the site may use it.",
    )

    def __init__(self, *args: Any, instance: Machine | None = None, **kwargs: Any) -> None:
        self.instance = instance
        if instance is not None:
            stated = {name: fact.get("value") for name, fact in instance.facts.items() if fact.get("how") == "stated"}
            kwargs["initial"] = {
                "name": instance.name,
                "host_key": instance.host_key or "",
                "facts": stated,
                "teams": list(instance.teams.all()),
            }

        super().__init__(*args, **kwargs)
        teams = self.fields["teams"]
        assert isinstance(teams, forms.ModelMultipleChoiceField)
        teams.queryset = Team.objects.all()

    def _post_clean(self) -> None:
        """A run's servers and clients are where its machines were when it started."""
        if self.instance is None or self.errors or self.cleaned_data["host_key"] == self.instance.host_key:
            return
        with all_teams():
            on_machine = Q(cluster__nodes__machine=self.instance) | Q(load_generators__machine=self.instance)
            refuse_in_use(self, self.instance, Run.objects.filter(on_machine))

    def _others(self) -> QuerySet[Machine]:
        if self.instance:
            return Machine.objects.exclude(pk=self.instance.pk)
        return Machine.objects.all()

    def clean_name(self) -> str:
        name: str = " ".join(self.cleaned_data["name"].split())
        if self._others().filter(name=name).exists():
            raise ValidationError(MACHINE_NAME_TAKEN)
        return name

    def clean_host_key(self) -> str | None:
        key: str = self.cleaned_data["host_key"].strip()
        if key and self._others().filter(host_key=key).exists():
            raise ValidationError(HOST_KEY_TAKEN)
        return key or None

    def clean_facts(self) -> dict[str, str]:
        facts: dict[str, str] = self.cleaned_data["facts"]
        for name, value in facts.items():
            if not FACT_NAME.fullmatch(name):
                raise ValidationError(NO_FACT_NAME.format(name=name[:40]))
            if not value or len(value) > 200 or not value.isprintable():
                raise ValidationError(NO_FACT_VALUE.format(name=name))
            if problem := fact_problem(name, _stated_value(value)):
                raise ValidationError(f"{problem}.")
        return facts

    def save(self) -> Machine:
        machine = self.instance or Machine()
        data = self.cleaned_data
        machine.name, machine.host_key = data["name"], data["host_key"]
        observed = {name: fact for name, fact in machine.facts.items() if fact.get("how") != "stated"}
        stated = {name: {"value": _stated_value(value), "how": "stated"} for name, value in data["facts"].items()}
        # What was seen outweighs what was said.
        machine.facts = {**stated, **observed}
        with transaction.atomic(), all_teams():
            machine.save()
            machine.teams.set(data["teams"])
            for cluster in Cluster.objects.filter(nodes__machine=machine).distinct():
                rename_queued_runs(cluster)
        return machine


def _stated_value(text: str) -> int | str:
    """Digits are a number."""
    if NUMBER.fullmatch(text):
        return int(text)
    return text
