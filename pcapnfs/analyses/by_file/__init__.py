"""What each file cost and what was done to it, alone, in groups and in patterns."""
