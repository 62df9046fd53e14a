"""The API asked as its description allows: requests made by schemathesis, to the real site with a real database."""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed as seeded, settings as hypothesis_settings
from hypothesis.errors import FlakyStrategyDefinition, Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi import checks

from benchsite.wsgi import application

# What every answer is held to: no failure of the site's own, and nothing that the description does not say.
HELD_TO = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
MAX_TURNS = 20
ATTEMPTS_TO_BREAK = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)


def build_headers(token: str) -> dict[str, str]:
    """The checks read bodies as they arrive, so none is to be compressed."""
    return {"Authorization": f"Bearer {token}", "Accept-Encoding": "identity"}


def described() -> Any:
    """The description, as the site itself gives it."""
    return schemathesis.openapi.from_wsgi("/api/v1/openapi.json", application)


def limited(examples: int, **more: Any) -> Any:
    return hypothesis_settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
        **more,
    )


def operations(schema: Any) -> Iterator[Any]:
    for operation in schema.get_all_operations():
        assert isinstance(operation, Ok), operation
        yield operation.ok()


def ask_each(
    schema: Any, token: str, known: Mapping[str, Sequence[str]], *, examples: int, seed: int
) -> dict[str, set[int]]:
    """Ask every endpoint so often, half the time about something that is there; which statuses each answered."""
    answered: dict[str, set[int]] = {}
    faults: list[str] = []
    for operation in operations(schema):
        statuses = answered.setdefault(operation.label, set())
        for mode in ATTEMPTS_TO_BREAK:
            try:
                _ask(operation, mode, token, known, statuses, limited(examples), seed)
            except Unsatisfiable:
                assert mode == GenerationMode.NEGATIVE  # Nothing can be wrong with what takes nothing.
            except (BaseExceptionGroup, AssertionError) as error:
                faults.append(f"{operation.label}: {_told(error)}")
    assert not faults, "\n".join(faults)
    return answered


def _told(error: BaseException) -> str:
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else [error]
    return "; ".join(str(one) for one in inner)


def _ask(
    operation: Any,
    mode: GenerationMode,
    token: str,
    known: Mapping[str, Sequence[str]],
    statuses: set[int],
    limits: Any,
    seed: int,
) -> None:
    chance = random.Random(seed)
    cases = operation.as_strategy(generation_mode=mode)

    @seeded(seed)
    @limits  # type: ignore[untyped-decorator,unused-ignore]
    @given(case=cases)
    def ask(case: Any) -> None:
        for name in case.path_parameters or {}:
            if name in known and chance.random() < 0.5:
                # What is deleted is the last one, so that the others are still there for everything else.
                there = known[name][-1:] if operation.method == "delete" else known[name]
                case.path_parameters[name] = chance.choice(there)
        _in_a_hurry(case)
        response = case.call(headers=build_headers(token))
        statuses.add(response.status_code)
        case.validate_response(response, checks=HELD_TO)

    ask()


def _in_a_hurry(case: Any) -> None:
    """Nobody waits half a minute for a verdict here."""
    if "wait" in (case.query or {}) and case.query["wait"] not in (0, "0"):
        case.query["wait"] = 0


def walk(schema: Any, token: str, *, examples: int, steps: int, seed: int) -> None:
    """Ask one endpoint after another, about what those before answered.

    Schemathesis draws from what it was answered too, and Hypothesis stops where the same draw gives another kind of
    value the second time. That is no fault of the site: the walk goes on from another seed.
    """
    for turn in range(MAX_TURNS):
        try:
            return _walk(schema, token, examples=examples, steps=steps, seed=seed + 1_000 * turn)
        except FlakyStrategyDefinition:
            continue
    raise AssertionError(f"No walk came to its end in {MAX_TURNS} turns.")


def _walk(schema: Any, token: str, *, examples: int, steps: int, seed: int) -> None:

    class Asking(schema.as_state_machine()):  # type: ignore[misc]
        def before_call(self, case: Any) -> None:
            _in_a_hurry(case)

        def get_call_kwargs(self, case: Any) -> dict[str, Any]:
            return {"headers": build_headers(token)}

        def validate_response(self, response: Any, case: Any, additional_checks: Any = (), **kwargs: Any) -> None:
            case.validate_response(response, checks=HELD_TO)

    # The machine asks what Hypothesis draws, so its seed is that of the run.
    Asking._hypothesis_internal_use_seed = seed
    Asking.run(settings=limited(examples, stateful_step_count=steps))
