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
    _keep_bytecode(folder)
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


def _keep_bytecode(folder: str) -> None:
    """Compile the agent where nobody has: during a run Python writes no bytecode, so every run would compile it anew."""
    source = os.path.join(folder, "bootstrap.py")
    compiled = importlib.util.cache_from_source(source)
    current = os.path.exists(compiled) and os.path.getmtime(compiled) >= os.path.getmtime(source)
    if not current and os.access(folder, os.W_OK):
        import compileall

        compileall.compile_dir(folder, quiet=2)


def main() -> None:
    """Runs a script, or with `--serve` forks a process for each that is asked for."""
    start = load()
    process, server = (importlib.import_module(f"{PACKAGE}.{name}") for name in ("process", "server"))
    arguments = sys.argv[1:]
    if arguments[:1] == ["--serve"]:
        (process.detach if float(arguments[2]) else process.prepare)()
        process.leave(server.serve(start.main, arguments[1], float(arguments[2])))
    process.prepare()
    process.leave(start.main(arguments))


if __name__ == "__main__":
    main()
