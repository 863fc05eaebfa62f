"""`python -m corpusfmt`."""

from corpusfmt.cli import main

if __name__ == "__main__":
    main()
