"""`/openapi.json`: the endpoints as OpenAPI 3.1, made of their own descriptions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from vaultd.web.endpoints import Endpoint

_ERROR: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "field"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "field": {"type": ["string", "null"]},
            },
        }
    },
}


def described(endpoints: Sequence[Endpoint], *, version: str) -> dict[str, Any]:
    """The OpenAPI document of these endpoints."""
    paths: dict[str, dict[str, Any]] = {}
    for one in endpoints:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "vaultd",
            "version": version,
            "description": "The REST API of vaultd: a person's memories, kept as notes in their vault.",
        },
        "security": [{"token": []}],
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Error": _ERROR},
        },
        "paths": paths,
    }


def _operation(one: Endpoint) -> dict[str, Any]:
    refusal = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
    operation: dict[str, Any] = {
        "summary": one.summary,
        "operationId": _operation_id(one),
        "tags": [_tag(one.path)],
        "responses": {
            str(one.status): {
                "description": one.summary,
                "content": {one.answer_type: {"schema": dict(one.answer) if one.answer else {}}},
            },
            "4XX": {"description": "What is wrong with the request, in one line", **refusal},
            "5XX": {"description": "What could not be done, in one line", **refusal},
        },
    }
    if one.about:
        operation["description"] = one.about
    if one.open:
        operation["security"] = []
    if one.parameters:
        operation["parameters"] = [
            {
                "name": parameter.name,
                "in": parameter.place,
                "description": parameter.about,
                "required": parameter.required or parameter.place == "path",
                "schema": dict(parameter.schema),
            }
            for parameter in one.parameters
        ]
    if one.body is not None:
        operation["requestBody"] = {"content": {one.body_type: {"schema": dict(one.body)}}}
    return operation


def _tag(path: str) -> str:
    parts = path.strip("/").split("/")
    return parts[1].split(".")[0] if parts[0] == "api" and len(parts) > 1 else "daemon"


def _operation_id(one: Endpoint) -> str:
    words = one.path.replace("{", "").replace("}", "").replace("-", "_").replace(".", "_").strip("/").split("/")
    return "_".join([one.method.lower(), *words])
