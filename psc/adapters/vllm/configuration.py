"""What vLLM's configuration says of psc: ``additional_config={"psc": {...}}``, and what vLLM itself has that psc heeds.

``{"psc": false}``, or ``{"psc": {"enabled": false}}``, is vLLM's own backend.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from psc.serving import OptionError, ServiceOptions

KEY: Final = "psc"
"""Of psc's options in ``additional_config``."""
_ENABLED: Final = "enabled"


def options_of(vllm_config: Any) -> ServiceOptions | None:
    """The options of psc for an engine, the environment's where the configuration says nothing; None: psc is switched off.

    Args:
        vllm_config: vLLM's configuration.

    Raises:
        OptionError: an option does not exist, or has a value that it cannot have.
    """
    given = getattr(vllm_config, "additional_config", None)
    mine: object = given.get(KEY, {}) if isinstance(given, Mapping) else {}
    if mine is False:
        return None
    if mine is True:
        mine = {}
    if not isinstance(mine, Mapping):
        raise OptionError(f"additional_config[{KEY!r}] must be options by name, or false, not {mine!r}")
    enabled = mine.get(_ENABLED, True)
    if not isinstance(enabled, bool):
        raise OptionError(f"additional_config[{KEY!r}][{_ENABLED!r}] must be true or false, not {enabled!r}")
    if not enabled:
        return None
    options = ServiceOptions.of({name: value for name, value in mine.items() if name != _ENABLED})
    if getattr(getattr(vllm_config, "structured_outputs_config", None), "disable_any_whitespace", False):
        options = replace(options, any_whitespace=False)
    parallel = getattr(vllm_config, "parallel_config", None)
    if getattr(parallel, "distributed_executor_backend", None) == "external_launcher":
        options = replace(options, compile_timeout_s=0.0)  # each rank compiles, and must come to the same result
    return options
