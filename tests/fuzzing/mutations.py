"""Accidents that happen to source: statements, expressions, names and tokens are lost, swapped, doubled and exchanged."""

from __future__ import annotations

import ast
import io
import tokenize
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

BODIES = ("body", "orelse", "finalbody", "handlers", "cases")
ODD = [
    "0",
    "1",
    "None",
    "True",
    "-1",
    "''",
    "[]",
    "{}",
    "()",
    "[None]",
    "...",
    "{**{}}",
    "(yield)",
    "await x",
    "lambda: 0",
    "*x",
    "x := 1",
    "[*y]",
    "f'{x!r:>{y}}'",
    "b''",
    "1j",
    "1e999",
    "10**9",
    "model",
    "optimizer",
    "loss",
    "loader",
    "self",
    "super()",
    "torch",
    "nn.Module",
    "type",
    "x if y else z",
    "[i for i in j]",
    "x[::-1]",
    "x[...]",
    "not x",
    "x < y < z",
    "__class__",
    "__file__",
    "globals()",
    "torch.nn.Linear",
    "torch.optim",
    "loss.backward",
    "model.parameters()",
    "range(10**9)",
    "open",
]
TOKENS = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ":",
    ",",
    "=",
    "==",
    ":=",
    "*",
    "**",
    "->",
    ".",
    "...",
    "@",
    "\n",
    "    ",
    "\t",
    ";",
    "\\\n",
    "#",
    "'",
    '"',
    "'''",
    "f'",
    "{{",
    "0x",
    "1_",
    "é",
    "\x0c",
    "\r",
    "\x00",
    "async ",
    "await ",
    "yield ",
    "lambda ",
    "del ",
    "global x\n",
    "nonlocal x\n",
    "return ",
    "match x:\n",
    "case ",
    "type X = ",
    "with ",
    "else:\n",
    "except* E:\n",
    "print ",
    "exec ",
    "<>",
    "`",
]


def statements(source: str, chance: random.Random) -> str:  # noqa: C901 - one branch per accident
    """Whole statements are dropped, doubled, swapped, moved elsewhere, wrapped, or lose what they contain."""
    tree = ast.parse(source)
    for _ in range(chance.randint(1, 4)):
        owners = [
            (node, name)
            for node in ast.walk(tree)
            for name in BODIES
            if isinstance(value := getattr(node, name, None), list) and value
        ]
        owner, name = chance.choice(owners)
        body = getattr(owner, name)
        index = chance.randrange(len(body))
        how = chance.randrange(7)
        if how == 0:
            del body[index]
        elif how == 1:
            body.insert(index, body[index])
        elif how == 2:
            chance.shuffle(body)
        elif how == 3:
            other, other_name = chance.choice(owners)
            others = getattr(other, other_name)
            if _kind(others) == _kind(body):
                place = chance.randrange(len(others) + 1)
                if body[index] not in ast.walk(other) and other not in ast.walk(body[index]):
                    others.insert(place, body[index])
        elif how == 4 and _kind(body) == "stmt":
            wrapped = chance.choice(WRAPPERS)(body[index])
            body[index] = wrapped
        elif how == 5:
            del body[index + 1 :]
        elif _kind(body) == "stmt":
            body[index] = ast.parse(chance.choice(ODD_STATEMENTS)).body[0]
        if not body and name == "body":
            body.append(ast.Pass())
    return _text(tree, source)


def _kind(body: list[ast.AST]) -> str:
    return "stmt" if not body or isinstance(body[0], ast.stmt) else type(body[0]).__name__


ODD_STATEMENTS = [
    "break",
    "continue",
    "return",
    "return x",
    "raise",
    "yield",
    "del model",
    "global model",
    "from torch import *",
    "import torch as model",
    "model = model",
    "self = None",
    "model, = model",
    "for model in model: pass",
    "while True: pass",
    "while model: model = model.child",
    "with model as model: pass",
    "class model(model): pass",
    "def model(*model, **models): return model(model)",
    "loss += loss",
    "model[model] = model",
    "model.model = model",
    "try: loss.backward()\nexcept: raise",
    "assert model, model",
    "x: int",
    "[a, *b] = c",
    "match model:\n case [model, *_]: pass\n case {'a': model, **rest}: pass\n case nn.Linear(in_features=model): pass",
    "async def f():\n async for x in y:\n  await x",
    "lambda model: model(model)",
    "optimizer.step = optimizer.zero_grad",
    "torch.Tensor.backward = lambda self: None",
    "model.forward = model",
    "nn.Module = object",
    "loader = iter(loader)",
    "globals()['model'] = 1",
    "setattr(model, 'x', model)",
    "exec('model')",
    "train = train",
    "from . import *",
    "from .. import x",
    "import a.b.c.d as torch",
    "nonlocal_ = __builtins__",
    "model.__class__ = model",
    "loss.backward(loss.backward())",
]

WRAPPERS: list[Callable[[ast.stmt], ast.stmt]] = [
    lambda stmt: ast.If(ast.Name("flag", ast.Load()), [stmt], [stmt]),
    lambda stmt: ast.While(ast.Constant(value=True), [stmt], []),
    lambda stmt: ast.For(ast.Name("i", ast.Store()), ast.Name("loader", ast.Load()), [stmt], [stmt], None, lineno=1),
    lambda stmt: ast.With([ast.withitem(ast.Name("lock", ast.Load()), None)], [stmt], None, lineno=1),
    lambda stmt: ast.Try([stmt], [ast.ExceptHandler(None, None, [stmt])], [stmt], [stmt]),
    lambda stmt: ast.FunctionDef(
        "train", ast.arguments([], [], None, [], [], None, []), [stmt], [], None, None, lineno=1
    ),
    lambda stmt: ast.ClassDef("Model", [], [], [stmt], []),
]


def expressions(source: str, chance: random.Random) -> str:
    """Expressions are exchanged, for others of the file and for odd ones, and names for other names."""
    tree = ast.parse(source)
    for _ in range(chance.randint(1, 6)):
        places = [
            (node, name, index)
            for node in ast.walk(tree)
            for name, value in ast.iter_fields(node)
            for index, each in enumerate(value if isinstance(value, list) else [value])
            if isinstance(each, ast.expr) and isinstance(getattr(each, "ctx", ast.Load()), ast.Load)
        ]
        names = [node for node in ast.walk(tree) if isinstance(node, (ast.Name, ast.Attribute, ast.arg, ast.keyword))]
        if chance.random() < 0.4 and names:
            _rename(chance.choice(names), _name(chance.choice(names)))
        elif places:
            owner, field, index = chance.choice(places)
            new = _odd(chance) if chance.random() < 0.5 else _at(*chance.choice(places))
            if owner not in ast.walk(new):
                _put(owner, field, index, new)
    return _text(tree, source)


def _odd(chance: random.Random) -> ast.expr:
    odd = chance.choice(ODD)
    call = ast.parse(f"f({odd})", mode="eval").body
    assert isinstance(call, ast.Call)
    return call.args[0]


def _at(owner: ast.AST, field: str, index: int) -> ast.expr:
    value = getattr(owner, field)
    found: ast.expr = value[index] if isinstance(value, list) else value
    return found


def _put(owner: ast.AST, field: str, index: int, new: ast.expr) -> None:
    value = getattr(owner, field)
    if isinstance(value, list):
        value[index] = new
    else:
        setattr(owner, field, new)


def _name(node: ast.AST) -> str:
    return str(getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "arg", None) or "x")


def _rename(node: ast.AST, name: str) -> None:
    for field in ("id", "attr", "arg"):
        if getattr(node, field, None):
            setattr(node, field, name)


def _text(tree: ast.AST, source: str) -> str:
    """The tree as source; what no source says stays as it was."""
    try:
        return ast.unparse(ast.fix_missing_locations(tree))
    except (AttributeError, IndexError, RecursionError, TypeError, ValueError):
        return source


def tokens(source: str, chance: random.Random) -> str:
    """Tokens are dropped, doubled, swapped and exchanged: mostly what is left is no Python."""
    try:
        found = [token.string for token in tokenize.generate_tokens(io.StringIO(source).readline)]
    except (tokenize.TokenError, SyntaxError):
        return source
    words = [word for word in found if word]
    text = source
    for _ in range(chance.randint(1, 5)):
        word = chance.choice(words)
        begin = text.find(word, chance.randrange(len(text) + 1))
        if begin < 0:
            continue
        new = chance.choice(
            ["", word + word, chance.choice(words), chance.choice(TOKENS), word + chance.choice(TOKENS)]
        )
        text = text[:begin] + new + text[begin + len(word) :]
    return text


def truncated(source: str, chance: random.Random) -> str:
    """The file ends somewhere, or begins there, or something in its middle is gone."""
    begin, end = sorted(chance.randrange(len(source) + 1) for _ in range(2))
    return chance.choice([source[:end], source[begin:], source[:begin] + source[end:]])


def crossed(source: str, other: str, chance: random.Random) -> str:
    """The rows of one file among those of another."""
    rows, others = source.splitlines(keepends=True), other.splitlines(keepends=True)
    at, begin = chance.randrange(len(rows) + 1), chance.randrange(len(others) + 1)
    return "".join([*rows[:at], *others[begin : begin + chance.randint(1, 12)], *rows[at:]])
