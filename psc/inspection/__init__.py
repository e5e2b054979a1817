"""Looking at a compiled grammar: what may follow a text and why, where a text stops, random sentences, how a mask is found.

It reads what the runtime holds and imports nothing of the compiler, so it works with a loaded artifact. Begin with `explaining.py`
(`psc explain`), `checking.py` (`psc check`) and `sampling.py` (`psc sample`).
"""
