from __future__ import annotations

import pytest

from torch_doctor_rules.judging.wording import ROOM, message, named, owner, sentence, with_method


def test_short_names_stay_as_they_are() -> None:
    assert message("`{name}` is wrong", name="model") == "`model` is wrong"


def test_the_longest_name_is_cut_in_the_middle() -> None:
    text = message("`{short}` and `{long}`", short="model", long="self." + "x" * 200 + ".end")
    assert len(text) == ROOM
    assert text.startswith("`model` and `self.xxx")
    assert text.endswith("xxx.end`")


def test_a_name_over_several_lines_becomes_one() -> None:
    assert message("`{name}`", name="criterion(\n    out,\n    `y`)") == "`criterion( out, 'y')`"


def test_text_without_names_is_cut_at_its_end() -> None:
    assert message("x" * 200) == "x" * 99 + "…"


def test_the_owner_of_a_method() -> None:
    assert owner("loss.backward()", "backward", "loss") == "loss"
    assert owner("self.optimizer", "step", "optimizer") == "self.optimizer"
    assert owner("model(x).mean()", "backward", "loss") == "model(x).mean()"
    assert owner("", "step", "optimizer") == "optimizer"


def test_what_the_source_gives_no_name_stands_without_backticks() -> None:
    text = "`{loss}.backward()` runs, and `{loss}` has a graph, as `{other}` does"
    assert message(text, loss=owner("", "backward", "the loss"), other="kl") == (
        "`backward()` of the loss runs, and the loss has a graph, as `kl` does"
    )
    assert sentence("call `{name}.step()`", name=named("opt", "the optimizer")) == "call `opt.step()`"


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("loss", "add the number: `loss.item()`"),
        ("self.losses[0]", "add the number: `self.losses[0].item()`"),
        ("loss * n", "add the number: `.item()`"),
        (named("", "a loss"), "add the number: `.item()`"),
    ],
)
def test_a_method_is_put_behind_a_name_and_behind_nothing_else(name: str, remedy: str) -> None:
    assert with_method("add the number", name) == remedy
