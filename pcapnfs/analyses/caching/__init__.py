"""What clients know and ask again: attributes, change-IDs, delegations, access."""
