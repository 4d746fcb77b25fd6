from __future__ import annotations

from torch_doctor_rules.judging.wording import ROOM, message, owner


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
    assert owner("", "step", "optimizer") == "optimizer"
