"""Rules, their thresholds, and how their costs are settled."""
