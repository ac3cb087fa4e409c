"""What the time went into, and what would happen if: the model and its verdict."""
