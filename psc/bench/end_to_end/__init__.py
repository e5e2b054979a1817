"""``psc bench end-to-end``: a real model in vLLM on this machine, without a grammar, with psc, and with its peers.

`engine.py` is run in the interpreter that has vLLM; read it first. `process.py` starts it and asks it. `models.py` says which
models there are, `workloads.py` what is asked of them, `measuring.py` takes turns and keeps what was measured, and `report.py`
makes tables of it.
"""
