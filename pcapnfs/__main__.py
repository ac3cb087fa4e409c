"""The command, as `pcapnfs` and as `python -m pcapnfs`."""

import signal


def main() -> None:
    """Run the command line of this process and exit with its status."""
    # Nothing is to be cleaned up before the command begins: an interrupt ends the process at once,
    # as any program, and not with the traceback of an import.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from pcapnfs.cli import app

    app.leave(app.main())


if __name__ == "__main__":
    main()
