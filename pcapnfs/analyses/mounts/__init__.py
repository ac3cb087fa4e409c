"""How clients mount and log in, with which options, and what came of it."""
