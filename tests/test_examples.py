"""A page shows what matters of two scripts, and the complete scripts follow from it."""

from __future__ import annotations

import pytest

from torch_doctor.examples import example, instead, patched, preamble

SHOWN = """\
for x, y in loader:
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""
PAGE = f"""\
One sentence.

## Example
```python
{SHOWN}```

## Use instead
```diff
 for x, y in loader:
+    optimizer.zero_grad()
     loss = nn.functional.mse_loss(model(x), y)
```

## References
"""
BEFORE = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=16, shuffle=True)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""


def test_the_complete_example_defines_the_names_that_its_page_only_uses() -> None:
    assert example(PAGE) == f"{BEFORE}\n{SHOWN}"


def test_what_to_use_instead_is_the_example_with_the_diff_applied() -> None:
    fixed = SHOWN.replace("in loader:\n", "in loader:\n    optimizer.zero_grad()\n")
    assert instead(PAGE) == f"{BEFORE}\n{fixed}"


def test_a_name_that_the_script_defines_is_not_given() -> None:
    assert preamble("model = nn.Linear(2, 2)\n") == "from torch import nn\n"
    assert preamble("import torch\nloader = [torch.ones(2)]\n") == ""


def test_a_name_that_only_a_function_defines_is_given_outside_of_it() -> None:
    script = "def evaluate(model):\n    return model(1)\n\n\nevaluate(model)\n"
    assert preamble(script) == "from torch import nn\n\nmodel = nn.Linear(4, 1)\n"


def test_a_name_that_only_a_function_reads_is_given() -> None:
    assert preamble("class Net(nn.Module):\n    def size(self):\n        return os.sep\n").splitlines() == [
        "import os",
        "from torch import nn",
    ]


def test_a_given_name_must_not_depend_on_one_that_the_script_defines() -> None:
    with pytest.raises(ValueError, match="the example must define `optimizer`, because it defines `model`"):
        preamble("model = nn.Linear(2, 2)\noptimizer.step()\n")


def test_a_script_that_is_not_valid_has_no_preamble() -> None:
    assert preamble("model = nn.Linear(4, 1\n") == ""


def test_hunks_are_applied_one_after_the_other() -> None:
    script = "a = 1\nb = 2\n\nc = 3\na = 1\n"
    assert patched(script, "-a = 1\n b = 2\n\n...\n-a = 1\n+a = 4\n") == "b = 2\n\nc = 3\na = 4\n"


@pytest.mark.parametrize(("diff", "times"), [("-a = 1\n+a = 2\n", 2), ("-c = 1\n", 0), (" b = 2\n...\n b = 2\n", 0)])
def test_lines_that_occur_never_or_several_times_are_an_error(diff: str, times: int) -> None:
    with pytest.raises(ValueError, match=f"the lines of a hunk occur {times} times"):
        patched("a = 1\nb = 2\na = 1\n", diff)


@pytest.mark.parametrize("heading", ["Example", "Use instead"])
def test_a_page_without_a_block_is_an_error(heading: str) -> None:
    with pytest.raises(ValueError, match=f"the page has no block of .* below `## {heading}`"):
        instead(PAGE.replace(f"## {heading}\n", "## Other\n"))
