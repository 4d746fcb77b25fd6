"""Scripts of one shape and any size: what a generator of code may write, and nobody by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = "import torch\nfrom torch import nn\nmodel = nn.Linear(4, 2)\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\n"
DATA = "loader = torch.utils.data.DataLoader(dataset, 8, shuffle=True)\n"
LOOP = (
    "for x, y in loader:\n    optimizer.zero_grad()\n    loss = nn.functional.mse_loss(model(x), y)\n"
    "    loss.backward()\n    optimizer.step()\n"
)
UPDATE = "loss = model(x).mean()\nloss.backward()\noptimizer.step()\n"


def straight(size: int) -> str:
    """Updates one below the other."""
    return HEAD + UPDATE * size


def loops(size: int) -> str:
    """Training loops one below the other."""
    return HEAD + DATA + LOOP * size


def assignments(size: int) -> str:
    return HEAD + "".join(f"x{i} = torch.zeros(4) + x{i - 1}\n" for i in range(size))


def functions(size: int) -> str:
    """Functions that nobody calls, each with a training loop."""
    body = LOOP.replace("\n", "\n    ").rstrip(" ")
    return HEAD + "".join(f"def train{i}(model, loader, optimizer):\n    {body}\n" for i in range(size))


def small_functions(size: int) -> str:
    return HEAD + "".join(f"def f{i}(x):\n    return x * {i}\n\n" for i in range(size))


def calling(size: int) -> str:
    """Functions each of which calls the next one."""
    return HEAD + "".join(f"def f{i}(x):\n    return f{i + 1}(x) + 1\n\n" for i in range(size)) + "f0(torch.ones(4))\n"


def modules(size: int) -> str:
    """Modules that nobody uses."""
    one = (
        "class Net{0}(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(4, 2)\n\n"
        "    def forward(self, x):\n        return self.fc(x).relu()\n\n"
    )
    return HEAD + "".join(one.format(i) for i in range(size))


def built_modules(size: int) -> str:
    """Modules that are all built, trained and used."""
    used = "".join(f"net{i} = Net{i}()\nnet{i}(torch.ones(4)).sum().backward()\n" for i in range(size))
    return modules(size) + used


def layers(size: int) -> str:
    """A module of many layers."""
    made = "".join(f"        self.fc{i} = nn.Linear(4, 4)\n" for i in range(size))
    used = "".join(f"        x = self.fc{i}(x)\n" for i in range(size))
    body = f"class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n{made}\n    def forward(self, x):\n{used}"
    return f"{HEAD}{body}        return x\n\nmodel = Net()\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\n{DATA}{LOOP}"


def sequential(size: int) -> str:
    """A module of many layers in one expression."""
    return HEAD + "model = nn.Sequential(\n" + "    nn.Linear(4, 4),\n" * size + ")\n" + DATA + LOOP


def methods(size: int) -> str:
    """A class of many methods that nobody calls."""
    body = "".join(
        f"    def step{i}(self, x):\n        self.a{i} = self.model(x)\n        return self.a{i}\n" for i in range(size)
    )
    return f"{HEAD}class Trainer:\n    def __init__(self, model):\n        self.model = model\n{body}"


def dictionary(size: int) -> str:
    return HEAD + "table = {" + ", ".join(f"'{i}': {i}" for i in range(size)) + "}\n" + DATA + LOOP


def listing(size: int) -> str:
    return HEAD + "table = [" + ", ".join(f"torch.tensor({i})" for i in range(size)) + "]\n" + DATA + LOOP


def branches(size: int) -> str:
    """An `if` with many branches, each of which trains."""
    parts = "".join(f"elif mode == {i}:\n    model(x).mean().backward()\n    optimizer.step()\n" for i in range(size))
    return HEAD + "if mode == 'none':\n    pass\n" + parts


def ifs(size: int) -> str:
    """Branches one below the other."""
    return (
        HEAD + "".join(f"if flag{i}:\n    model.train()\nelse:\n    model.eval()\n" for i in range(size)) + DATA + LOOP
    )


def guarded_updates(size: int) -> str:
    return HEAD + "".join(f"if flag{i}:\n    model(x).mean().backward()\n" for i in range(size))


def imports(size: int) -> str:
    return (
        "".join(f"import library{i}.part as part{i}\nfrom package{i} import name{i}\n" for i in range(size))
        + HEAD
        + DATA
        + LOOP
    )


def decorators(size: int) -> str:
    return (
        HEAD + "".join(f"@decorate({i})\n" for i in range(size)) + "def train(x):\n    model(x).mean().backward()\n\n"
    )


def inheritance(size: int) -> str:
    """Classes each of which inherits from the one before."""
    heirs = "".join(
        f"class Net{i}(Net{i - 1}):\n    def part{i}(self, x):\n        return x\n\n" for i in range(1, size)
    )
    first = "class Net0(nn.Module):\n    def forward(self, x):\n        return x\n\n"
    return f"{HEAD}{first}{heirs}model = Net{size - 1}()\n{DATA}{LOOP}"


def mixins(size: int) -> str:
    parts = "".join(f"class Mixin{i}:\n    def part{i}(self, x):\n        return x\n\n" for i in range(size))
    return f"{HEAD}{parts}class Net({', '.join(f'Mixin{i}' for i in range(size))}, nn.Module):\n    pass\n\nmodel = Net()\n"


def managers(size: int) -> str:
    """One `with` of many items."""
    items = ", ".join(f"open('{i}') as f{i}" for i in range(size))
    return f"{HEAD}{DATA}with {items}:\n    " + LOOP.replace("\n", "\n    ").rstrip(" ")


def attributes(size: int) -> str:
    return HEAD + "x = model" + ".part" * size + "\n"


def chained_calls(size: int) -> str:
    return HEAD + "x = torch.ones(4)" + ".relu()" * size + "\nx.sum().backward()\n"


def matching(size: int) -> str:
    cases = "".join(
        f"    case {{'kind': {i}, 'x': [a, *b]}}:\n        model(a).mean().backward()\n" for i in range(size)
    )
    return f"{HEAD}match command:\n{cases}"


def addition(size: int) -> str:
    return HEAD + "loss = " + " + ".join(["model(x).mean()"] * size) + "\nloss.backward()\n"


def comparison(size: int) -> str:
    return (
        HEAD
        + "good = "
        + " and ".join(f"a{i} > {i}" for i in range(size))
        + "\nif good:\n"
        + "    model(x).mean().backward()\n"
    )


def long_text(size: int) -> str:
    return HEAD + DATA + LOOP + "text = '" + "a" * size * 100 + "'\n"


def f_strings(size: int) -> str:
    return HEAD + 'print(f"' + "{model(x).mean()} " * size + '")\n'


def comprehensions(size: int) -> str:
    return HEAD + "x = [" + "torch.ones(4)" + "".join(f" for a{i} in range(2)" for i in range(size)) + "]\n"


def arguments(size: int) -> str:
    names = ", ".join(f"a{i}" for i in range(size))
    return f"{HEAD}def train({names}):\n    model(a0).mean().backward()\n\ntrain({names})\n"


def tries(size: int) -> str:
    return (
        HEAD
        + "try:\n    x = load()\n"
        + "".join(f"except Error{i}:\n    model(x).mean().backward()\n" for i in range(size))
    )


def many_tries(size: int) -> str:
    return HEAD + "try:\n    model(x).mean().backward()\nexcept ValueError:\n    optimizer.step()\n" * size


def comments(size: int) -> str:
    return HEAD + DATA + LOOP + "x = 1  # noqa: TDR101\n# torch-doctor: ignore[missing-zero-grad] on purpose\n" * size


def unknown_comments(size: int) -> str:
    return HEAD + "".join(f"x = 1  # torch-doctor: ignore[rule{i}]\n" for i in range(size))


def semicolons(size: int) -> str:
    """Many statements in one row."""
    return HEAD + "; ".join(["model(x).mean().backward()"] * size) + "\n"


def wide_rows(size: int) -> str:
    """A call over many rows, with a comment in each."""
    return HEAD + "".join(
        f"x = f(  # noqa: TDR101\n{'    1,  # one' + chr(10)}{'    2,' + chr(10)})\n" for _ in range(size)
    )


def one_call(size: int) -> str:
    return HEAD + "x = f(  # noqa: TDR101\n" + "    model(x).mean().backward(),  # noqa\n" * size + ")\n"


def saves(size: int) -> str:
    return HEAD + "".join(f"torch.save(model, 'model{i}.pt')\nmodel = torch.load('model{i}.pt')\n" for i in range(size))


def optimizers(size: int) -> str:
    return HEAD + "".join(
        f"optimizer{i} = torch.optim.Adam(model.parameters())\noptimizer{i}.step()\n" for i in range(size)
    )


def globals_of_functions(size: int) -> str:
    """Functions that are all called, and change the same module."""
    made = "".join(
        f"def f{i}():\n    model.eval()\n    model(x).mean().backward()\n    optimizer.step()\n\n" for i in range(size)
    )
    return HEAD + made + "".join(f"f{i}()\n" for i in range(size))


def forwards(size: int) -> str:
    """What many forwards give, kept in one list."""
    return HEAD + "kept = []\n" + "kept.append(model(x))\n" * size + "sum(kept).mean().backward()\n"


# --- nested ---


def nested_ifs(size: int) -> str:
    return HEAD + "".join(" " * i + f"if flag{i}:\n" for i in range(size)) + " " * size + "model(x).mean().backward()\n"


def nested_loops(size: int) -> str:
    return (
        HEAD
        + "".join(" " * i + f"for x{i} in loader:\n" for i in range(size))
        + " " * size
        + "model(x).mean().backward()\n"
    )


def nested_functions(size: int) -> str:
    return (
        HEAD + "".join(" " * i + f"def f{i}(x):\n" for i in range(size)) + " " * size + "model(x).mean().backward()\n"
    )


def nested_classes(size: int) -> str:
    return HEAD + "".join(" " * i + f"class C{i}(nn.Module):\n" for i in range(size)) + " " * size + "pass\n"


def nested_withs(size: int) -> str:
    return HEAD + "".join(" " * i + f"with a{i}:\n" for i in range(size)) + " " * size + "model(x).mean().backward()\n"


def nested_calls(size: int) -> str:
    return HEAD + "x = " + "torch.relu(" * size + "x" + ")" * size + "\n"


def nested_lists(size: int) -> str:
    return HEAD + "x = " + "[" * size + "x" + "]" * size + "\n"


def nested_lambdas(size: int) -> str:
    return HEAD + "x = " + "".join(f"lambda a{i}: " for i in range(size)) + "model(x)\n"


def nested_conditions(size: int) -> str:
    return HEAD + "x = " + "".join(f"{i} if a{i} else " for i in range(size)) + "model(x)\n"


def nested_units(size: int) -> str:
    return HEAD + "x = " + "-" * size + "model(x)\n"


def nested_sums(size: int) -> str:
    return HEAD + "x = " + "(1 + " * size + "model(x)" + ")" * size + "\n"


def nested_tries(size: int) -> str:
    tops = "".join(" " * i + "try:\n" for i in range(size))
    ends = "".join(" " * i + "finally:\n" + " " * (i + 1) + "optimizer.step()\n" for i in reversed(range(size)))
    return HEAD + tops + " " * size + "model(x).mean().backward()\n" + ends


WIDE: dict[str, Callable[[int], str]] = {
    function.__name__: function
    for function in (
        straight, loops, assignments, functions, small_functions, calling, modules, built_modules, layers, sequential, methods,
        dictionary, listing, branches, ifs, guarded_updates, imports, decorators, inheritance, mixins, managers, attributes,
        chained_calls, matching, addition, comparison, long_text, f_strings, arguments, tries, many_tries,
        comments, unknown_comments, semicolons, wide_rows, one_call, saves, optimizers, globals_of_functions, forwards,
    )
}  # fmt: skip
DEEP: dict[str, Callable[[int], str]] = {
    function.__name__: function
    for function in (
        nested_ifs, nested_loops, nested_functions, nested_classes, nested_withs, nested_calls, nested_lists, nested_lambdas,
        nested_conditions, nested_units, nested_sums, nested_tries, comprehensions,
    )
}  # fmt: skip
