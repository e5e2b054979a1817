"""JSON Schema, all drafts from 4 to 2020-12, to the rules of a grammar; native/schema/json_schema.hpp says how."""
