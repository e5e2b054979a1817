"""XGrammar's package of kernels that mask logits, for programs that import one by its name. psc's own are in `psc.runtime`."""
