"""What servers answer late, refuse, or never answer, and why."""
