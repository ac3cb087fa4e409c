"""Names, handles and directories: looked up, listed, made, renamed and gone stale."""
