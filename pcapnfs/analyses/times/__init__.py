"""Where the time goes: what clients waited for, call by call and over the whole capture."""
