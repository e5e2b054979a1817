"""``python -m psc``: the command line."""

from psc.cli import main

if __name__ == "__main__":
    main(prog_name="psc")
