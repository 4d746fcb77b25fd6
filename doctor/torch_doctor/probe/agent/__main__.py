"""Loads the agent under a name that nothing of the user's has, and starts it."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any

PACKAGE = "_torch_doctor_agent"


def load() -> Any:
    """The agent's module that starts the script."""
    folder = os.path.dirname(os.path.abspath(__file__))
    spec = importlib.util.spec_from_file_location(
        PACKAGE, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    if spec is None or spec.loader is None:
        message = f"torch-doctor cannot load its agent from {folder}: reinstall torch-doctor"
        raise SystemExit(message)
    package = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = package
    spec.loader.exec_module(package)
    return importlib.import_module(f"{PACKAGE}.bootstrap")


if __name__ == "__main__":
    sys.exit(load().main(sys.argv[1:]))
