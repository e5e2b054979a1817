"""What jobs cost: as estimated before a run, and as measured by earlier ones."""
