"""`python -m pcapnfs` is `pcapnfs`."""

from pcapnfs.cli.app import main

if __name__ == "__main__":
    main()
