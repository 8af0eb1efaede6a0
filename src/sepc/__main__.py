"""`python -m sepc`, for when the `sepc` script is not on the path."""

import sys

from sepc.cli.entry import main

sys.exit(main())
