"""What the code does with a value, by which one is made up."""

from __future__ import annotations

import ast

import pytest

from torch_doctor.probe.agent.stand_ins.source import spelled
from torch_doctor.probe.agent.stand_ins.uses import Use, use_of


def used(source: str) -> Use:
    """What a source does with what `ask()` gives."""
    return use_of([ast.parse(source)], lambda node: isinstance(node, ast.Call) and spelled(node) == "ask")


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("int(ask())", int),
        ("x = ask()\ny = float(x.strip())", float),
        ("a, b = map(int, ask().split())", int),
        ("[float(part) for part in ask().split(',')]", float),
        ("print(ask())", None),
    ],
)
def test_a_conversion_tells_the_kind(source: str, kind: type | None) -> None:
    assert used(source).kind is kind


@pytest.mark.parametrize(
    "source",
    [
        "if ask().lower() in ('a', 'b'): pass",
        "x = ask()\nif x == 'a': pass\nelif x == 'b': pass",
        "known = {'a': 1, 'b': 2}\nknown[ask()]",
        "x = ask()\n{'a': 1, 'b': 2}[x]",
    ],
)
def test_words_are_those_that_it_is_compared_with_and_looked_up_among(source: str) -> None:
    assert used(source).words == ["a", "b"]


def test_what_is_taken_apart_has_as_many_parts_and_what_is_between_them() -> None:
    use = used("first, second, third = ask().split(',')")
    assert (use.count, use.separator, use.names) == (3, ",", ["first", "second", "third"])


@pytest.mark.parametrize(
    "source",
    [
        "json.load(open(ask()))",
        "with open(ask()) as file:\n    cfg = yaml.safe_load(file)",
        "path = ask()\ncfg.merge_from_file(path)",
        "def read(path, strict):\n    return OmegaConf.load(path)\nread(ask(), True)",
        "def read(first, path):\n    with open(path) as file:\n        return json.load(file)\nread(1, path=ask())",
        "Config.fromfile(Path(ask()))",
    ],
)
def test_settings_are_read_from_a_file(source: str) -> None:
    assert used(source).loaded


@pytest.mark.parametrize("source", ["torch.load(ask())", "pickle.load(open(ask(), 'rb'))", "open(ask()).read()"])
def test_other_files_are_no_settings(source: str) -> None:
    assert not used(source).loaded


@pytest.mark.parametrize(
    ("source", "within"),
    [
        ("open(f'configs/{ask()}.yaml')", ("configs/", ".yaml")),
        ("open('configs/' + ask() + '.yaml')", ("configs/", ".yaml")),
        ("open(os.path.join('configs', ask()))", ("configs/", "")),
        ("open(Path('configs') / ask())", ("configs/", "")),
        ("importlib.import_module(f'configs.{ask()}')", ("configs.", "")),
    ],
)
def test_a_part_of_a_path_is_between_two_texts(source: str, within: tuple[str, str]) -> None:
    assert used(source).within == [within]


def test_a_text_of_which_another_part_is_not_known_has_no_place() -> None:
    assert used("open(f'{folder}/{ask()}.yaml')").within == []


@pytest.mark.parametrize(
    "source",
    [
        "models.__dict__[ask()](pretrained=True)",
        "getattr(torchvision.models, ask())()",
        "timm.create_model(ask(), num_classes=3)",
        "if ask() in timm.list_models(): pass",
        "def build(name):\n    return timm.create_model(name)\nbuild(ask())",
    ],
)
def test_the_name_of_a_model_is_one(source: str) -> None:
    assert used(source).words == ["resnet18"]
