"""What changed between two traces, and what explains it.

Each trace is asked once and becomes a `Side`; everything else is said of two sides. `comparing.py`
is the way in.
"""
