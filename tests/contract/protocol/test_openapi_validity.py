"""The document is valid by the schema that the OpenAPI Initiative publishes, so that any generator can read it."""

from jsonschema import validate
from schemathesis.specs.openapi.definitions import OPENAPI_31

from ostler.protocol.openapi import document


def test_the_document_is_valid_openapi() -> None:
    validate(document("1.2.3"), OPENAPI_31)
