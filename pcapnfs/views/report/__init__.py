"""The report: one content, written as a page of HTML or as Markdown.

`content` puts the sections together from `blocks`, each section's module says what it shows;
`page` and `markdown` write them.
"""
