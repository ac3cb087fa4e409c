"""The command line: arguments in, an analysis, a view out.

One module per command, each of them short: parse, trace, analysis, view. Options, output, failures
and exit statuses exist once. Heavy libraries are imported inside the commands, so that `--help`
answers at once.
"""
