"""What a run would take on a cluster that one does not have: a discrete event simulation."""
