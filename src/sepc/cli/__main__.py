"""`python -m sepc.cli`: the command where its script is not on the path."""

import sys

from sepc.cli.entry import main

sys.exit(main())
