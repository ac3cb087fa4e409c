"""What lies between clients and servers: round trips, connections, losses and retransmissions."""
