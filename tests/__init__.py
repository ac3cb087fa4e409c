"""Tests of pcapnfs; `oracles` holds the truth that they compare with."""
