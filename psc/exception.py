"""XGrammar's module of exceptions, for programs that import it by that name; psc's own are in `psc.errors`."""

from psc.errors import DeserializeFormatError, DeserializeVersionError, InvalidJSONError, InvalidStructuralTagError

__all__ = ["DeserializeFormatError", "DeserializeVersionError", "InvalidJSONError", "InvalidStructuralTagError"]
