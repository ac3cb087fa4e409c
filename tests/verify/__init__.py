"""The second opinion: against tshark, and against faults put in on purpose."""
