"""Synthetic captures: built message by message, and broken on purpose.

For tests, samples, fuzz seeds and for users who need a capture with known truth.  Nothing here
shares code with the decoder.  What uses scapy comes with the extra ``pcapnfs[synth]``.
"""
