"""READs, WRITEs and COMMITs: how large, in which order, and what else moves data."""
