"""What is in the capture and what is not, who talked to whom, and how far its times hold."""
