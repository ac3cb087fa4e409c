"""Snapshots of what pcapnfs says of every file in `samples/`."""
