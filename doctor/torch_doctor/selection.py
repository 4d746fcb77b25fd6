"""Which rules speak: selectors are a code, the beginning of one, a name or ALL; the more specific one wins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.nearness import nearest
from torch_doctor.rule import Level

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from torch_doctor.rule import Rule

ALL = "ALL"
EXACT = 99


class UnknownSelectorError(ValueError):
    """A selector that names no rule; the message says what was meant, if that can be told."""


class Layer(Struct, frozen=True):
    """What one place says of the selection; the command line is a layer above the configuration.

    `select` of None leaves the choice to the layers below, and then to the levels.
    """

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()


def matches(selector: str, rule: Rule) -> bool:
    """Whether the selector names the rule."""
    return selector.upper() == ALL or selector == rule.name or rule.code.startswith(selector.upper())


def specificity(selector: str, rules: Iterable[Rule]) -> int:
    """How exactly a selector speaks: everything, a shorter or longer prefix, one rule."""
    if selector.upper() == ALL:
        return 0
    if any(selector == rule.name or selector.upper() == rule.code for rule in rules):
        return EXACT
    return len(selector)


def check(selectors: Iterable[str], rules: Sequence[Rule], where: str) -> None:
    """Make sure that every selector names a rule.

    Raises:
        UnknownSelectorError: one does not.
    """
    for selector in selectors:
        if not selector or not any(matches(selector, rule) for rule in rules):
            message = f"{where}: no rule is called `{selector}`{did_you_mean(selector, names_of(rules))}"
            raise UnknownSelectorError(message)


def names_of(rules: Iterable[Rule]) -> list[str]:
    """Everything that a selector for one rule can be."""
    return [name for rule in rules for name in (rule.code, rule.name)]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of an error message: the known word that is nearest, if any is near."""
    near = nearest(word, known)
    return f"; did you mean `{near}`?" if near else ""


def select(rules: Sequence[Rule], layers: Sequence[Layer]) -> tuple[Rule, ...]:
    """The rules that speak, after layers from the lowest to the highest. As in ruff.

    A layer with `select` replaces what is below it, and an `ignore` below stays only if it came without a `select`.
    """
    chosen = {rule.code for rule in rules if rule.level is not Level.ADVICE}
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
    return tuple(rule for rule in rules if rule.code in chosen)


def quiet(chosen: Iterable[Rule], layers: Iterable[Layer]) -> frozenset[str]:
    """The codes of the rules that speak because of their level: nobody has asked for the advice that they may have besides."""
    named = [selector for layer in layers for selector in (*(layer.select or ()), *layer.extend_select)]
    return frozenset(rule.code for rule in chosen if not any(matches(selector, rule) for selector in named))


def hiding(rules: Iterable[Rule], chosen: Collection[Rule], layers: Iterable[Layer]) -> tuple[Rule, ...]:
    """The rules that do not speak, and behind whose findings those of others hide; not those that somebody ignores."""
    ignored = [selector for layer in layers for selector in layer.ignore]
    return tuple(
        rule
        for rule in rules
        if rule.meant is not None
        and chosen
        and rule not in chosen
        and not any(matches(selector, rule) for selector in ignored)
    )
