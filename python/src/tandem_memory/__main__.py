"""`python -m tandem_memory` is the terminal program."""

import sys

from .cli import main

sys.exit(main())
