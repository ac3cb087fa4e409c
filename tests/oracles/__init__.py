"""Independent truth that the decoder is checked against: the kernels' counters, and tshark."""
