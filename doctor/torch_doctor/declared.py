"""The installed rules by their declarations, which are cached: the module of a rule is imported when the rule is used."""

from __future__ import annotations

import sys
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import Struct

from torch_doctor.cache import Storage, digest, of_code, of_files
from torch_doctor.packages import offers
from torch_doctor.rule import ENTRY_POINT, Fix, Level, all_rules, installed, left_out
from torch_doctor.trace import Meant  # noqa: TC001 - msgspec reads it

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from torch_doctor.rule import Rule

_OWN = "torch-doctor"
"""The package whose rules are all that the modules of another package define: those of others may depend on anything."""


class Declared(Struct, frozen=True, array_like=True):
    """What a rule class declares of what selections, cache keys and most reports need; its module is that below its package."""

    module: str
    cls: str
    code: str
    name: str
    level: Level
    witness: str
    fix: Fix
    meant: Meant | None


class Deferred:
    """A rule of which the declaration is known: it is imported when anything else is asked of it."""

    def __init__(self, package: str, declared: Declared, level: Level, fix: Fix) -> None:
        self.__module__ = f"{package}.{declared.module}"
        self.declared = declared
        self.code, self.name, self.witness, self.meant = (
            declared.code,
            declared.name,
            declared.witness,
            declared.meant,
        )
        self.level, self.fix = level, fix

    def __reduce__(self) -> tuple[object, ...]:
        """Return how a copy is made, in this process or another one."""
        return Deferred, (self.__module__.partition(".")[0], self.declared, self.level, self.fix)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever it has
        """Return what else the rule has, with the level and the fix that it was given."""
        return getattr(self._rule, name)

    @cached_property
    def _rule(self) -> Rule:
        rule: Rule = getattr(import_module(self.__module__), self.declared.cls)()
        rule.level, rule.fix = self.level, self.fix
        return rule


def installed_rules(cache: Path | None, *, keeps: bool) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """Return the installed rules, sorted by code, and a line for each that cannot be used.

    Where the declarations of our own are in the `cache` folder, these rules are not imported; where they are not, they are put
    there if the caller `keeps` results. The declarations hold as long as no file of ours has changed.
    """
    own = next((offer for offer in offers(ENTRY_POINT) if offer.package == _OWN), None)
    if cache is None or own is None or own.module in sys.modules:
        return all_rules(), left_out()
    storage = Storage(cache)
    key = f"rules {digest(repr((own.value, of_code(frozenset((own.module,))), of_files(own.module))).encode()).hex()}"
    known = _read(storage, key)
    if known is None:
        rules, problems = all_rules(), left_out()
        if keeps and not problems:  # they may be of ours
            storage.put({key: msgspec.msgpack.encode(declarations(rules, own.module))})
        return rules, problems
    return installed({own.value: [cast("Rule", Deferred(own.module, each, each.level, each.fix)) for each in known]})


def _read(storage: Storage, key: str) -> list[Declared] | None:
    raw = storage.get(key)
    try:
        return None if raw is None else msgspec.msgpack.decode(raw, type=list[Declared])
    except msgspec.MsgspecError:
        return None


def declarations(rules: Iterable[Rule], package: str) -> list[Declared]:
    """Return what the rules of a package declare."""
    start = f"{package}."
    return [
        Declared(
            rule.__module__.removeprefix(start),
            type(rule).__name__,
            rule.code,
            rule.name,
            rule.level,
            rule.witness,
            rule.fix,
            rule.meant,
        )
        for rule in rules
        if rule.__module__.startswith(start)
    ]
