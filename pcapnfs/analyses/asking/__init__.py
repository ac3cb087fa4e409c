"""How questions are asked: what analyses share that answers none, from rows to arrays."""
