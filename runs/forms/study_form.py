"""A matrix in the builder that follows a published study: what is ticked at first, who can play which part, what
deviates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchsite.accounts.models import Team
from runs.catalog import Mode, System, UnknownName, load_catalog
from runs.forms.proposed_workloads import match_workloads
from runs.models import Database, LoadGenerator, Machine, Matrix, Workload
from runs.models.plan import Provisioner
from runs.planning import sizes
from runs.studies import scaling
from runs.studies.deviations import Chosen, ChosenEntry, deviations
from runs.studies.templates import StudyTemplate, template_of

if TYPE_CHECKING:
    from runs.forms.matrices import MatrixForm

STUDY_LOAD_THREADS = 256
YCSB_VERSION = "0.17.0"  # of the core in Benchsite's own bindings


@dataclass(frozen=True, slots=True)
class StudyAsk:
    """Which study is to be followed, as an address or a stored matrix says it; every name is known."""

    template: StudyTemplate
    scenario: str
    scale: str


def study_asked(says: Mapping[str, Any]) -> tuple[StudyAsk | None, str]:
    """What `template`, `scenario` and `scale` ask for; else None, with a sentence where they ask for what is not."""
    slug, scenario, scale = (str(says.get(name) or "") for name in ("template", "scenario", "scale"))
    if not slug:
        return None, ""
    try:
        template = template_of(slug)
        chosen = template.scenario(scenario)
    except UnknownName as unknown:
        return None, f"{unknown} Choose a study below, or build the matrix by hand."
    scale = scale or "small"
    if scale not in scaling.SCALES:
        return None, f"The scale {scale[:20]!r} is neither full nor small. Choose a study anew."
    return StudyAsk(template, chosen.slug, scale), ""


class Following:
    """A study's scenario at a scale, met with what a team has."""

    def __init__(
        self,
        ask: StudyAsk,
        team: Team,
        databases: Sequence[Database],
        workloads: Sequence[Workload],
        generators: Sequence[LoadGenerator],
    ) -> None:
        machine = machine_of(databases, len(generators))
        self.study = scaling.scaled(ask.template, scaling.SCALES[ask.scale], ask.scenario, machine)
        self.team = team
        self.databases = databases
        self.generators = generators
        self.kept, self.proposed = self._workloads(workloads)
        # Who can play each part, or why nobody can.
        played = [
            (part, *(([], part.left_out) if part.left_out else databases_for(part.system, part.mode, databases)))
            for part in self.study.study.parts
        ]
        # The parts of the study that cannot run here, and why.
        self.unplayed = [(part, reason) for part, players, reason in played if not players]
        self.entries = [f"{d.pk}:{part.mode}" for part, players, _ in played for d in players]
        self.stand_ins = [] if self.entries else stand_ins(databases, self.study.study.guarantee)

    def _workloads(self, held: Sequence[Workload]) -> tuple[list[Workload], list[Workload]]:
        """The study's workloads that the team has already, by their properties, and the others, not stored."""
        workloads = [
            Workload(
                # The letter first: figures shorten long names in their middle.
                name=f"{planned.short_name}: {self.study.template.name}, {sizes.plain(planned.records)}",
                short_name=planned.short_name,
                properties=dict(planned.properties),
                notes=f"{planned.name}, as {self.study.template.name} has it.",
            )
            for planned in self.study.scenario.workloads
        ]
        return match_workloads(self.team, workloads, held)

    def initial(self) -> dict[str, Any]:
        """What the builder's fields begin with."""
        here = self.study.scenario
        small = self.study.scale == "small"
        return {
            "name": f"{self.study.template.name}: {here.slug}{', small' if small else ''}",
            "purpose": here.purpose,
            "entries": self.entries or self.stand_ins,
            "workloads": [str(w.pk) for w in (*self.kept, *self.proposed)],
            "ladder": here.ladder,
            "rungs": list(here.rungs),
            "threads": here.threads,
            "repeats": here.repeats,
            "order": Matrix.Order.INTERLEAVED,
            "warmup_s": here.warmup_s,
            "measure_s": here.measure_s,
            "load_threads": 8 if small else STUDY_LOAD_THREADS,
            "records_rule": sizes.PER_NODE if here.per_node else sizes.FIXED,
            "tags": [self.study.template.slug],
        }

    def deviations(self, form: "MatrixForm") -> tuple[str, ...]:
        """Everything in which the form's plan differs from the study. Only for a form without errors."""
        data = form.cleaned_data
        chosen = Chosen(
            entries=tuple(_entry(database, mode) for database, mode in form.chosen_entries()),
            workloads=tuple((w.name, w.properties) for w in form.chosen_workloads()),
            ladder=data["ladder"],
            rungs=tuple(data["rungs"]),
            threads=data["threads"],
            clients=len(form.chosen_generators()),
            warmup_s=data["warmup_s"],
            measure_s=data["measure_s"],
            repeats=data["repeats"],
            client=f"YCSB {YCSB_VERSION} with Benchsite's bindings",
        )
        return deviations(self.study.template, self.study.study, chosen)

    def template(self, form: "MatrixForm") -> dict[str, object]:
        """What `Matrix.template` keeps."""
        return {
            "study": self.study.template.slug,
            "scenario": self.study.study.slug,
            "scale": self.study.scale,
            "deviations": list(self.deviations(form)),
            "not_run": [f"{part.name} ({part.mode}): {reason}" for part, reason in self.unplayed],
        }


def machine_of(databases: Sequence[Database], clients: int) -> scaling.Machine:
    """The smallest machine that a runnable database stands on; what nobody knows is taken as careful defaults."""
    usual = scaling.Machine()
    machines = [node.machine for d in databases if _runnable(d) for node in d.cluster.nodes.all()]
    return scaling.Machine(
        cores=min(_known(machines, "cores"), default=usual.cores),
        memory_bytes=min(_known(machines, "memory_bytes"), default=usual.memory_bytes),
        clients=max(1, clients),
    )


def databases_for(slug: str, mode_slug: str, databases: Sequence[Database]) -> tuple[list[Database], str]:
    """The databases that can run a system of the catalog in a mode, or why none can."""
    system = load_catalog().system(slug)
    mode = system.mode(mode_slug)
    if not system.has_client:
        return [], f"no client reaches a server of {system.name}; results of it can be uploaded"
    described = [database for database in databases if (own := _system(database)) and own.slug == system.slug]
    if not described:
        return [], f"no database of {system.name} is described: add one, then open this again"
    if not any(_runnable(database) for database in described):
        return [], f"no database of {system.name} has a client: choose a stock binding for it, then open this again"
    able = [database for database in described if _runnable(database) and _has(database, mode)]
    if not able:
        return [], f"mode {mode.slug} waits for {mode.replicas_needed} other copies, which no cluster here has"
    return able, ""


def stand_ins(databases: Sequence[Database], guarantee: str) -> list[str]:
    """The mode nearest to a scenario's guarantee of each database that can run: "database:mode"."""
    chosen = []
    for database in databases:
        system = _system(database)
        if system is None or not _runnable(database):
            continue
        mode = _nearest([m for m in system.modes.values() if not (m.replicas_needed or m.no_client)], guarantee)
        if mode:
            chosen.append(f"{database.pk}:{mode.slug}")
    return chosen


def _nearest(modes: Sequence[Mode], guarantee: str) -> Mode | None:
    """Durable: forced to disk, nothing lost. Fast: a write does not wait for the disk, and loses a bounded time."""
    if guarantee == "durable":
        forced = [m for m in modes if m.durability.ack == "disk" and m.durability.loss_window_s == 0]
        return forced[-1] if forced else None
    bounded = [m for m in modes if m.durability.loss_window_s]
    return min(bounded or modes, key=lambda mode: mode.durability.loss_window_s or 0, default=None)


def _has(database: Database, mode: Mode) -> bool:
    """Whether the database's cluster has the copies that a mode waits for."""
    if not mode.replicas_needed:
        return True
    cluster = database.cluster
    return cluster.provisioner == Provisioner.EXTERNAL and len(cluster.nodes.all()) > mode.replicas_needed


def _entry(database: Database, mode: str) -> ChosenEntry:
    system = load_catalog().system(database.system, database.flavour, database.own_modes)
    return ChosenEntry(
        database=database.name,
        system=system.slug,
        system_name=system.name,
        version=database.version,
        mode=mode,
        mode_name=system.mode(mode).name,
        binding=database.client or system.binding.name,
        nodes=len(database.cluster.nodes.all()),
        replication_factor=database.replication_factor,
    )


def _system(database: Database) -> System | None:
    return load_catalog().get(database.system, database.flavour)


def _runnable(database: Database) -> bool:
    system = _system(database)
    external = database.cluster.provisioner == Provisioner.EXTERNAL
    return system is not None and not system.client_problem(database.flavour, database.client, external=external)


def _known(machines: Sequence[Machine], name: str) -> list[int]:
    """A fact of those machines that state it, as whole numbers."""
    facts = (machine.facts.get(name) for machine in machines)
    values = (fact.get("value") for fact in facts if isinstance(fact, Mapping))
    return [int(value) for value in values if isinstance(value, int | float) and value >= 1]
