"""The compiler's revision: raised whenever the same input may give another artifact."""

COMPILER_REVISION = 13
