"""torch's compiler, which optimizers load only to be left alone by it: not loaded in a probe until a script compiles."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import torch_doctor

AGENT = Path(torch_doctor.__file__).parent / "probe/agent"
SCRIPT = """
import runpy, sys
start = runpy.run_path({agent!r} + "/__main__.py", run_name="_agent")["load"]()
import torch
start.compiler.defer(torch)

parameter = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([parameter], lr=0.5)
modes = []
def step():
    optimizer.zero_grad()
    parameter.sum().backward()
    optimizer.step(lambda: modes.append(torch.is_grad_enabled()))

step()
assert torch.is_grad_enabled()
print("torch._dynamo" in sys.modules, parameter.tolist(), modes)

import torch._dynamo
step()
disabled = torch.optim.Optimizer.zero_grad.__wrapped__
print(getattr(disabled, "__dynamo_disable") is not disabled, parameter.tolist(), modes)
"""


def test_optimizers_step_without_the_compiler_and_with_it_as_torch_made_them(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(agent=str(AGENT)), encoding="utf-8")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["False [0.5, 0.5, 0.5] [True]", "True [0.0, 0.0, 0.0] [True, True]"]
