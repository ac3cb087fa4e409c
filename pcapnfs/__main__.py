"""The command, as `pcapnfs` and as `python -m pcapnfs`."""

import gc
import signal

NEW_OBJECTS = 250_000
"""New objects after which Python looks for cycles among them: more than a small capture takes. With
its own 700, the modules that a command imports are looked through fifty times, and with 50,000 what
they made once for all: 4 % of a command."""


def main() -> None:
    """Run the command line of this process and exit with its status."""
    # Nothing is to be cleaned up before the command begins: an interrupt ends the process at once,
    # as any program, and not with the traceback of an import.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.set_threshold(NEW_OBJECTS)
    from pcapnfs.cli import app

    try:
        app.leave(app.main())
    except (KeyboardInterrupt, SystemExit):
        # One signal more, after the command and before the end of the process: `timeout` sends each
        # twice, and who is impatient hits Ctrl-C again.
        app.leave(app.ended())


if __name__ == "__main__":
    main()
