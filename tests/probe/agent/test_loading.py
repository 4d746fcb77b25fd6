"""How the agent is loaded into the interpreter that runs the script."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import torch_doctor

AGENT = Path(torch_doctor.__file__).parent / "probe/agent"


def test_the_first_run_compiles_the_agent_although_python_writes_no_bytecode(tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    shutil.copytree(AGENT, agent, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, agent, "--help"], env=environment, capture_output=True, check=True)
    assert [path for path in agent.rglob("*.py") if not Path(importlib.util.cache_from_source(path)).exists()] == []
