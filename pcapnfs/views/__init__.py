"""Results made visible: a result goes in; a renderable, a document or a text comes out.

A view computes nothing and knows nothing of captures; only `units` turns a number into text, and
every text from a capture goes through `text.escape`.
"""
