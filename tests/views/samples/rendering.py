"""Text that would do harm, and what a console shows."""

from __future__ import annotations

from rich.console import Console, RenderableType

HOSTILE = "\x1b[31m[bold]<script>\u202e"
"""An escape sequence, Rich's markup, HTML's, and a bidirectional override."""


def render(renderable: RenderableType, width: int) -> str:
    """The text that a terminal of this width without colours shows."""
    console = Console(width=width, color_system=None, force_terminal=False, highlight=False)
    with console.capture() as captured:
        console.print(renderable)
    return captured.get()
