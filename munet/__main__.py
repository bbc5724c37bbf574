"""`python -m munet`: the command, where the folder of scripts is not on PATH."""

from munet.cli import main

if __name__ == "__main__":
    main()
