"""The description of the API (OpenAPI 3.1), with what django-ninja leaves out of it: how endpoints refuse."""

import json
from http import HTTPStatus
from typing import Any, Final

from ninja import NinjaAPI
from ninja.openapi.schema import REF_TEMPLATE, OpenAPISchema
from ninja.operation import Operation
from ninja.types import DictStrAny

from benchsite.rest.authentication import Needs
from benchsite.rest.problems import CONTENT_TYPE
from benchsite.rest.schemas import FaultEntry, ProblemDocument

PROBLEM: Final = {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}}
WITH_A_TOKEN: Final = (401, 403, 429)
SCHEME: Final = "Token"


class DescribedApi(NinjaAPI):
    """An API whose description says of every endpoint which scope it needs and how it refuses."""

    def get_openapi_schema(
        self, *, path_prefix: str | None = None, path_params: DictStrAny | None = None
    ) -> OpenAPISchema:
        described = super().get_openapi_schema(path_prefix=path_prefix, path_params=path_params)
        scopes = self._scopes()
        for address, path in described["paths"].items():
            for operation in path.values():
                _complete(operation, scopes.get(operation["operationId"]), names_a_row="{" in address)

        problem = ProblemDocument.model_json_schema(ref_template=REF_TEMPLATE)
        problem.pop("$defs", None)
        described["components"]["schemas"].setdefault("ProblemDocument", problem)
        described["components"]["schemas"].setdefault("FaultEntry", FaultEntry.model_json_schema())
        described["components"]["securitySchemes"] = {
            SCHEME: {
                "type": "http",
                "scheme": "bearer",
                "description": "A token of a team, `bs_…`. Members make them on their team's page “Tokens”.",
            }
        }
        return described

    def get_openapi_operation_id(self, operation: Operation) -> str:
        """The name of its function, unless `operation_id` says another."""
        return operation.view_func.__name__

    def _scopes(self) -> dict[str, list[str]]:
        """Which scopes each endpoint takes, by its operation."""
        scopes = {}
        for bound in self._get_bound_routers():
            for view in bound.path_operations.values():
                for operation in view.operations:
                    needs = [callback for callback in operation.auth_callbacks if isinstance(callback, Needs)]
                    if needs:
                        scopes[operation.operation_id or self.get_openapi_operation_id(operation)] = needs[0].scopes
        return scopes


def _complete(operation: DictStrAny, scopes: list[str] | None, *, names_a_row: bool) -> None:
    """Say which scope it needs, and that refusals are problem documents."""
    refusing: set[int] = set()
    if scopes is not None:
        refusing |= set(WITH_A_TOKEN)
        operation["security"] = [{SCHEME: [scope]} for scope in scopes]
        sentence = f"Needs a token with the scope {' or '.join(f'`{scope}`' for scope in scopes)}."
        operation["description"] = (
            f"{operation['description']}\n\n{sentence}" if operation.get("description") else sentence
        )

    if names_a_row:
        refusing.add(404)
    if operation["parameters"] or "requestBody" in operation:
        refusing.add(400)
    if "requestBody" in operation:
        refusing.add(413)
    responses: dict[int, Any] = {int(status): response for status, response in operation["responses"].items()}
    for status in refusing - set(responses):
        responses[status] = {"description": HTTPStatus(status).phrase}

    for status, sentence in responses.items():
        if status >= 400:
            sentence["content"] = PROBLEM

    operation["responses"] = {str(status): responses[status] for status in sorted(responses)}


def written(api: NinjaAPI) -> str:
    """The description as it is committed: `docs/openapi.json`."""
    schema = api.get_openapi_schema(path_prefix="/api/v1/")
    # Routers have their endpoints in the order in which modules were imported.
    for named in (schema["paths"], schema["components"]["schemas"], *schema["paths"].values()):
        ordered = sorted(named.items())
        named.clear()
        named.update(ordered)
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
