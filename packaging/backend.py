"""The build backend: maturin's, but without cargo it says so.

maturin would otherwise download a Rust toolchain by itself, which nobody asked for.
"""

import os
import shutil

from maturin import *  # noqa: F403  # the hooks of PEP 517 and PEP 660, as they are

os.environ["MATURIN_NO_INSTALL_RUST"] = "1"


def get_requires_for_build_wheel(
    config_settings: dict[str, object] | None = None,  # noqa: ARG001
) -> list[str]:
    """Nothing more is needed, but for cargo, which is not a Python package."""
    if shutil.which("cargo") is None:
        raise SystemExit(
            "pcapnfs is built with cargo, which was not found: install Rust 1.88 or newer "
            "(https://rustup.rs, or your distribution's packages) and run this again"
        )
    return []


get_requires_for_build_editable = get_requires_for_build_wheel
get_requires_for_build_sdist = get_requires_for_build_wheel
