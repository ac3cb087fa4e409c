"""What waits for locks and for one another's opens."""
