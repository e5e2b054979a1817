"""JSON Schema, all drafts from 4 to 2020-12, to the rules of a grammar; native/schema/json_schema.hpp says how."""

from psc.compiler.frontends.json_schema.settings import SchemaSettings

__all__ = ["SchemaSettings"]
