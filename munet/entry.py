"""`python -m munet` and `python -m munet.cli` begin as the command `munet` does.

Python imports the whole package before it runs anything of it; until then it calls the program "-m".
"""

from __future__ import annotations

import sys

import munet_command

if sys.argv[:1] == ["-m"]:
    munet_command.begin()
