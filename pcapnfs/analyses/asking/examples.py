"""How many examples an analysis gives of many alike: as many as a finding names."""

EXAMPLES = 5
"""Frames, which lead to the packets."""

FILES_SHOWN = 3
"""Files."""

OPTION_EXAMPLES = 3
"""Frames for each sign of a mount option, of which one mount shows several."""
