"""Internal: `python -m corpusfmt`."""

import os
import sys

if __name__ == "__main__":
    if sys.path[:1] == [os.getcwd()]:
        del sys.path[0]  # the working folder, added by `-m`
    from corpusfmt.cli import main

    main()
