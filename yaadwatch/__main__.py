"""`python -m yaadwatch`: the same as the command `yaadwatch`."""

import sys

from yaadwatch.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
