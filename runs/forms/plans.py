"""The form that a plan file is imported with: whose machines take its roles, or where a person runs it by hand."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from django import forms
from django.db import transaction
from django.forms import BoundField

from benchsite.teams.models import Team, User
from runs.forms.fields import DescribedForm, name_field
from runs.forms.matrices import generators_for
from runs.kits.by_hand import Place
from runs.kits.plan import PlanFile
from runs.kits.plan_fit import Chosen, Misfit, misfits
from runs.kits.plan_import import import_plan
from runs.models import Cluster, LoadGenerator, Matrix
from runs.planning import submit

SAME_HOST: Final = (("", "not stated"), ("no", "on machines of their own"), ("yes", "on a machine of the database"))


class PlanForm(DescribedForm):
    """The roles of one plan. Fields are named by role: `cluster-1`, `generator-2`, `database-1:redis.password`."""

    def __init__(self, data: Mapping[str, Any] | None = None, *, team: Team, plan: PlanFile) -> None:
        self.team, self.plan = team, plan
        clusters = Cluster.objects.filter(team=team).prefetch_related("nodes__machine")
        self.clusters = {str(cluster.pk): cluster for cluster in clusters}
        self.generators = {str(row.pk): row for row in generators_for(team).select_related("machine")}
        super().__init__(data)
        for role, meant in plan.clusters.items():
            label = f"{role}: {len(meant.nodes)} node{'' if len(meant.nodes) == 1 else 's'}"
            fitting = (key for key, row in self.clusters.items() if len(row.nodes.all()) == len(meant.nodes))
            self.fields[role] = _choice(label, self.clusters, next(fitting, next(iter(self.clusters), "")))
        free = list(self.generators)
        for role, generator in plan.generators.items():
            label = f"{role}: {generator.slots} client{'' if generator.slots == 1 else 's'} at a time"
            self.fields[role] = _choice(label, self.generators, free.pop(0) if free else "")
        for role, database in plan.databases.items():
            for secret in database.secrets:
                widget = forms.PasswordInput(render_value=True, attrs={"autocomplete": "off"})
                name = f"{role}:{secret}"
                self.fields[name] = forms.CharField(label=f"{database.name}: {secret}", widget=widget)

    @property
    def roles(self) -> Iterator[BoundField]:
        return iter(self)

    def chosen(self) -> Chosen:
        """As it was sent, or as it is proposed."""
        values = {name: str(self[name].value() or "") for name in self.fields}
        clusters: dict[str, Cluster] = {
            role: self.clusters[values[role]] for role in self.plan.clusters if values[role] in self.clusters
        }
        generators: dict[str, LoadGenerator] = {
            role: self.generators[values[role]] for role in self.plan.generators if values[role] in self.generators
        }
        secrets = {
            (role, secret): values[f"{role}:{secret}"]
            for role, database in self.plan.databases.items()
            for secret in database.secrets
        }
        return Chosen(clusters, generators, secrets)

    def misfits(self) -> tuple[Misfit, ...]:
        return misfits(self.plan, self.chosen())

    def store(self, user: User, *, queue: bool) -> Matrix:
        """Raises PlanError; nothing is stored then."""
        with transaction.atomic():
            matrix = import_plan(self.team, self.plan, self.chosen(), user)
            if queue:
                submit(matrix, user)
        return matrix


class PlaceForm(DescribedForm):
    """Where a plan is run by hand, as its reader states it."""

    place = name_field(80, required=False, label="Machines", help_text="What the pages call them.")
    hardware = forms.CharField(
        required=False, max_length=2000, widget=forms.Textarea(attrs={"rows": 2}), label="Hardware, in words"
    )
    cores = forms.IntegerField(required=False, min_value=1, max_value=4096, label="Cores of each server")
    memory_gib = forms.FloatField(required=False, min_value=0.1, max_value=1e6, label="Memory of each server, GiB")
    same_host = forms.ChoiceField(required=False, choices=SAME_HOST, label="The clients run")

    def value(self) -> Place:
        values = self.cleaned_data
        return Place(
            name=values["place"] or Place().name,
            hardware=values["hardware"],
            cores=values["cores"],
            memory_gib=values["memory_gib"],
            client_on_database_host={"yes": True, "no": False}.get(values["same_host"]),
        )


def _choice(label: str, rows: Mapping[str, Any], likely: str) -> forms.ChoiceField:
    choices = [("", "choose …"), *((key, str(row)) for key, row in rows.items())]
    return forms.ChoiceField(label=label, choices=choices, initial=likely)
