"""The second opinion: what Wireshark's dissectors say of the same capture.

Takes captures and the trace made of them; gives where the two agree and differ, and dissections of
single packets. Knows tshark and pyshark, which nothing else in the package does.
"""
