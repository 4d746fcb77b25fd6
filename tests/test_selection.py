"""Which rules are enabled, with which level and fix."""

from __future__ import annotations

import pytest

from torch_doctor.rule import Finding, Fix, Level, Rule
from torch_doctor.selection import FixLayer, Layer, UnknownSelectorError, adjusted, check, names_of, quiet, select
from torch_doctor.trace import Site


def rule(code: str, name: str, level: Level = Level.ERROR) -> Rule:
    def find(self: Rule, trace: object) -> list[Finding]:  # noqa: ARG001 - a rule's signature
        return []

    made = type(name, (Rule,), {"code": code, "name": name, "level": level, "witness": "S", "check": find})
    instance: Rule = made()
    return instance


RULES = (
    rule("TDR101", "missing-zero-grad"),
    rule("TDR102", "grad-cleared"),
    rule("TDR201", "softmax"),
    rule("TDR601", "saved", Level.WARNING),
    rule("TDR901", "no-seed", Level.ADVICE),
)
DEFAULT = ["TDR101", "TDR102", "TDR201", "TDR601"]


def chosen(*layers: Layer) -> list[str]:
    return [rule.code for rule in select(RULES, layers)]


def test_errors_and_warnings_speak_and_advice_does_not() -> None:
    assert chosen() == DEFAULT
    assert chosen(Layer(), Layer()) == DEFAULT


@pytest.mark.parametrize(
    ("selectors", "codes"),
    [
        (("ALL",), [*DEFAULT, "TDR901"]),
        (("TDR1",), ["TDR101", "TDR102"]),
        (("tdr1",), ["TDR101", "TDR102"]),
        (("TDR9",), ["TDR901"]),
        (("softmax", "TDR601"), ["TDR201", "TDR601"]),
        ((), []),
    ],
)
def test_select_names_codes_prefixes_names_or_all(selectors: tuple[str, ...], codes: list[str]) -> None:
    assert chosen(Layer(select=selectors)) == codes


def test_ignore_takes_away_and_extend_select_adds() -> None:
    assert chosen(Layer(ignore=("TDR1",), extend_select=("no-seed",))) == ["TDR201", "TDR601", "TDR901"]


@pytest.mark.parametrize(
    ("layer", "codes"),
    [
        (Layer(select=("TDR101",), ignore=("TDR1",)), ["TDR101"]),
        (Layer(select=("TDR1",), ignore=("TDR101",)), ["TDR102"]),
        (Layer(select=("missing-zero-grad",), ignore=("TDR10",)), ["TDR101"]),
        (Layer(select=("TDR1",), ignore=("TDR1",)), []),
        (Layer(select=("TDR10",), ignore=("ALL",)), ["TDR101", "TDR102"]),
        (Layer(ignore=("ALL",), extend_select=("softmax",)), ["TDR201"]),
    ],
)
def test_the_more_specific_selector_wins_and_ignore_wins_a_draw(layer: Layer, codes: list[str]) -> None:
    assert chosen(layer) == codes


def test_select_on_the_command_line_replaces_the_configurations() -> None:
    assert chosen(Layer(select=("TDR2",), ignore=("TDR101",)), Layer(select=("TDR1",))) == ["TDR101", "TDR102"]


def test_a_lone_ignore_in_the_configuration_stays() -> None:
    assert chosen(Layer(ignore=("TDR101",)), Layer(select=("TDR1",))) == ["TDR102"]


def test_ignore_and_extend_select_on_the_command_line_change_the_configurations_choice() -> None:
    assert chosen(Layer(select=("TDR1",)), Layer(ignore=("TDR102",), extend_select=("TDR201",))) == ["TDR101", "TDR201"]


@pytest.mark.parametrize(
    ("selector", "said"),
    [
        ("missing-zerograd", "--select: unknown rule `missing-zerograd`; did you mean `missing-zero-grad`?"),
        ("TDR6O1", "--select: unknown rule `TDR6O1`; did you mean `TDR601`?"),
        ("TDR1O1", "--select: unknown rule `TDR1O1`; did you mean `TDR101`?"),
        ("tdrl01", "--select: unknown rule `tdrl01`; did you mean `TDR101`?"),
        ("missing-zero", "--select: unknown rule `missing-zero`; did you mean `missing-zero-grad`?"),
        ("TDR7", "--select: unknown rule `TDR7`"),
        ("xyz", "--select: unknown rule `xyz`"),
        ("", "--select: unknown rule ``"),
    ],
)
def test_an_unknown_selector_is_an_error(selector: str, said: str) -> None:
    with pytest.raises(UnknownSelectorError) as error:
        check([selector], RULES, "--select")
    assert str(error.value) == said


def test_known_selectors_pass() -> None:
    check(["ALL", "TDR", "TDR1", *names_of(RULES)], RULES, "--select")


@pytest.mark.parametrize(
    ("layers", "without_advice"),
    [
        ((Layer(),), DEFAULT),
        ((Layer(extend_select=("TDR601",)),), ["TDR101", "TDR102", "TDR201"]),
        ((Layer(extend_select=("saved",)), Layer()), ["TDR101", "TDR102", "TDR201"]),
        ((Layer(select=("ALL",)),), []),
        ((Layer(select=("ALL",)), Layer(ignore=("TDR1",))), []),
        ((Layer(extend_select=("TDR9",)),), DEFAULT),
    ],
)
def test_only_a_rule_that_somebody_names_gives_advice(layers: tuple[Layer, ...], without_advice: list[str]) -> None:
    assert sorted(quiet(select(RULES, layers), layers)) == without_advice


def test_a_level_is_that_of_the_most_specific_selector_of_the_last_layer(rules: tuple[Rule, ...]) -> None:
    first = {"ALL": Level.ADVICE, "TDR6": Level.ERROR, "no-seed": Level.WARNING}
    levels = {rule.code: rule.level for rule in adjusted(rules, [first], [])}
    assert levels == {
        "TDR000": Level.ADVICE,
        "TDR101": Level.ADVICE,
        "TDR601": Level.ERROR,
        "TDR901": Level.WARNING,
    }
    levels = {rule.code: rule.level for rule in adjusted(rules, [first, {"TDR": Level.ERROR}], [])}
    assert set(levels.values()) == {Level.ERROR}
    assert [rule.level for rule in rules] == [Level.ERROR, Level.ERROR, Level.WARNING, Level.ADVICE]


def test_a_finding_that_a_rule_lowers_stays_below_the_level_of_its_rule(rules: tuple[Rule, ...]) -> None:
    site = Site("a.py", 1, 1, 1, 2)
    for level, lowered in ((Level.ERROR, Level.WARNING), (Level.WARNING, Level.WARNING), (Level.ADVICE, Level.ADVICE)):
        (rule,) = adjusted(rules[1:2], [{"ALL": level}], [])
        assert rule.finding(site, "").level is level
        assert rule.finding(site, "", level=Level.WARNING).level is lowered


@pytest.mark.parametrize(
    ("layers", "fix"),
    [
        ([FixLayer()], Fix.UNSAFE),
        ([FixLayer(unfixable=("TDR1",))], Fix.NONE),
        ([FixLayer(fixable=("TDR6",))], Fix.NONE),
        ([FixLayer(fixable=("TDR101",), unfixable=("ALL",))], Fix.UNSAFE),
        ([FixLayer(unfixable=("TDR101",)), FixLayer(fixable=("ALL",))], Fix.NONE),
        ([FixLayer(extend_safe_fixes=("missing-zero-grad",))], Fix.SAFE),
        ([FixLayer(extend_safe_fixes=("ALL",), extend_unsafe_fixes=("TDR1",))], Fix.UNSAFE),
        ([FixLayer(extend_unsafe_fixes=("ALL",)), FixLayer(extend_safe_fixes=("ALL",))], Fix.SAFE),
        ([FixLayer(extend_safe_fixes=("ALL",)), FixLayer(unfixable=("ALL",))], Fix.NONE),
    ],
)
def test_fixes_are_those_that_layers_allow_and_declare_safe(
    rules: tuple[Rule, ...], layers: list[FixLayer], fix: Fix
) -> None:
    fixes = {rule.code: rule.fix for rule in adjusted(rules, [], layers)}
    assert (fixes["TDR101"], fixes["TDR601"]) == (fix, Fix.NONE)  # TDR601 has no fix to offer
