"""Which rules are enabled, and with which level and fixes. The more specific selector wins, as in ruff."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.nearness import nearest
from torch_doctor.rule import Fix, Level

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from torch_doctor.rule import Rule

ALL = "ALL"
EXACT = 99


class UnknownSelectorError(ValueError):
    """A selector that matches no rule; the message suggests a similar name if there is one."""


class Layer(Struct, frozen=True):
    """The selection of one file or of the command line, which is the last layer.

    `select` of None leaves the selection of the layers below; the lowest one is that of the levels.
    """

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()


class FixLayer(Struct, frozen=True):
    """Which fixes one file allows, and which of them it declares safe or unsafe.

    `fixable` of None leaves the choice of the layers below; by default, all rules are fixable.
    """

    fixable: tuple[str, ...] | None = None
    unfixable: tuple[str, ...] = ()
    extend_safe_fixes: tuple[str, ...] = ()
    extend_unsafe_fixes: tuple[str, ...] = ()


def matches(selector: str, rule: Rule) -> bool:
    """Return whether a selector matches a rule: `ALL`, a name, a code or a prefix of codes."""
    return selector.upper() == ALL or selector == rule.name or rule.code.startswith(selector.upper())


def specificity(selector: str, rules: Iterable[Rule]) -> int:
    """Return how specific a selector is: `ALL` least, then shorter and longer prefixes, then codes and names."""
    if selector.upper() == ALL:
        return 0
    if any(selector == rule.name or selector.upper() == rule.code for rule in rules):
        return EXACT
    return len(selector)


def check(selectors: Iterable[str], rules: Sequence[Rule], where: str) -> None:
    """Make sure that every selector matches a rule; `where` starts the error message.

    Raises:
        UnknownSelectorError: one does not.
    """
    for selector in selectors:
        if not selector or not any(matches(selector, rule) for rule in rules):
            message = f"{where}: unknown rule `{selector}`{did_you_mean(selector, names_of(rules))}"
            raise UnknownSelectorError(message)


def names_of(rules: Iterable[Rule]) -> list[str]:
    """Return all selectors that match a single rule: codes and names."""
    return [name for rule in rules for name in (rule.code, rule.name)]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the end of an error message that suggests the most similar known word; "" if none is similar."""
    near = nearest(word, known)
    return f"; did you mean `{near}`?" if near else ""


def select(rules: Sequence[Rule], layers: Sequence[Layer]) -> tuple[Rule, ...]:
    """Return the enabled rules, after layers from the lowest to the highest.

    A layer with `select` replaces the layers below it; an `ignore` below stays only if it came without a `select`.
    """
    chosen = _chosen(rules, {rule.code for rule in rules if rule.level is not Level.ADVICE}, layers)
    return tuple(rule for rule in rules if rule.code in chosen)


def _chosen(rules: Sequence[Rule], chosen: set[str], layers: Sequence[Layer]) -> set[str]:
    """Return the codes of the rules that layers select, where the rules with the codes `chosen` are selected at first."""
    carried: tuple[str, ...] = ()
    for layer in layers:
        if layer.select is not None:
            chosen = set()
        wanted = [*(layer.select or ()), *layer.extend_select]
        unwanted = [*layer.ignore, *(carried if layer.select is not None else ())]
        steps = [(specificity(selector, rules), 0, selector) for selector in wanted]
        steps += [(specificity(selector, rules), 1, selector) for selector in unwanted]
        for _, is_ignore, selector in sorted(steps, key=lambda step: step[:2]):
            named = {rule.code for rule in rules if matches(selector, rule)}
            chosen = chosen - named if is_ignore else chosen | named
        carried = layer.ignore if layer.select is None else ()
    return chosen


def quiet(chosen: Iterable[Rule], layers: Iterable[Layer]) -> frozenset[str]:
    """Return the codes of the rules that are enabled by level alone, so that their advice is not reported."""
    named = [selector for layer in layers for selector in (*(layer.select or ()), *layer.extend_select)]
    return frozenset(rule.code for rule in chosen if not any(matches(selector, rule) for selector in named))


def hiding(rules: Iterable[Rule], chosen: Collection[Rule], layers: Iterable[Layer]) -> tuple[Rule, ...]:
    """Return the rules that are not enabled and not ignored, but whose bugs may hide those of others."""
    ignored = [selector for layer in layers for selector in layer.ignore]
    return tuple(
        rule
        for rule in rules
        if rule.meant is not None
        and chosen
        and rule not in chosen
        and not any(matches(selector, rule) for selector in ignored)
    )


def adjusted(
    rules: Sequence[Rule], levels: Iterable[Mapping[str, Level]], fixes: Sequence[FixLayer]
) -> tuple[Rule, ...]:
    """Return the rules with the levels and fixes that layers give them, from the lowest to the highest.

    `levels` has a table of selectors for each layer. A rule without a fix does not get one, and a rule that is not fixable
    has none.
    """
    level_of = {rule.code: rule.level for rule in rules}
    for table in levels:
        for selector in sorted(table, key=lambda selector: specificity(selector, rules)):
            level_of |= {rule.code: table[selector] for rule in rules if matches(selector, rule)}
    fix_of = _fixes(rules, fixes)
    return tuple(_with(rule, level_of[rule.code], fix_of[rule.code]) for rule in rules)


def _fixes(rules: Sequence[Rule], layers: Sequence[FixLayer]) -> dict[str, Fix]:
    """Return by code whether the fix of each rule is safe, unsafe, or not to be made."""
    every = {rule.code for rule in rules}
    fixable = _chosen(rules, every, [Layer(layer.fixable, layer.unfixable) for layer in layers])
    found: dict[str, Fix] = {rule.code: rule.fix for rule in rules if rule.fix is not Fix.NONE and rule.code in fixable}
    for layer in layers:
        steps = [(specificity(each, rules), 0, each, Fix.SAFE) for each in layer.extend_safe_fixes]
        steps += [(specificity(each, rules), 1, each, Fix.UNSAFE) for each in layer.extend_unsafe_fixes]
        for _, _, selector, fix in sorted(steps, key=lambda step: step[:2]):
            found |= {rule.code: fix for rule in rules if rule.code in found and matches(selector, rule)}
    return {code: found.get(code, Fix.NONE) for code in every}


def _with(rule: Rule, level: Level, fix: Fix) -> Rule:
    if (level, fix) == (rule.level, rule.fix):
        return rule
    other = copy.copy(rule)
    other.level, other.fix = level, fix
    return other
