"""Where the numbers of a script come from: constants, data classes, dictionaries, command lines, defaults of functions."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

import libcst as cst
import libcst.matchers as m

from tests.metamorphic.code import IMPORT, origins, statement, statements, with_imports
from tests.metamorphic.extraction import with_definitions
from tests.metamorphic.names import FreshNames
from tests.metamorphic.transformation import Kind, ModuleTransformation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.metamorphic.names import Statement

NUMBER = m.Integer() | m.Float()
FLAG = m.Name("True") | m.Name("False")
OF_THE_CODE = {"dim", "dims", "axis", "keepdim", "device_ids", "start_dim", "end_dim", "stacklevel", "dtype", "index"}
"""Arguments that are part of the code and no settings."""


class Setting:
    """A literal that a call is given, under the name that it gets as a setting."""

    def __init__(self, name: str, value: cst.BaseExpression) -> None:
        self.name = name
        self.value = value

    @property
    def code(self) -> str:
        return cst.Module([]).code_for_node(self.value)

    @property
    def type(self) -> str:
        return {"Integer": "int", "Float": "float"}.get(type(self.value).__name__, "bool")


class SettingTransformation(ModuleTransformation):
    """A transformation of the numbers that calls get by keyword, and of how often `range` counts."""

    kind: ClassVar[Kind] = Kind.KEPT
    holder: ClassVar[tuple[str, ...]] = ()
    flags: ClassVar[bool] = False

    def rewrite(self, module: cst.Module) -> cst.Module:
        fresh = FreshNames(module)
        holder = fresh.of(*self.holder) if self.holder else ""
        visitor = _Settings(fresh, lambda name: self.read(holder, name), flags=self.flags)
        body = [entry if m.matches(entry, IMPORT) else entry.visit(visitor) for entry in module.body]
        if not visitor.settings:
            return module
        return self.with_settings(module.with_changes(body=body), holder, visitor.settings)

    @abstractmethod
    def read(self, holder: str, name: str) -> str:
        """The expression that reads a setting."""

    @abstractmethod
    def with_settings(self, module: cst.Module, holder: str, settings: Sequence[Setting]) -> cst.Module:
        """The module with the settings defined before everything else."""


class _Settings(cst.CSTTransformer):
    def __init__(self, fresh: FreshNames, read: Callable[[str], str], *, flags: bool = False) -> None:
        super().__init__()
        self.settings: list[Setting] = []
        self._fresh = fresh
        self._read = read
        self._literal = NUMBER | FLAG if flags else NUMBER

    def visit_Decorator(self, node: cst.Decorator) -> bool:
        """What a decorator gets is needed before the settings may be there."""
        del node
        return False

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        del original_node
        if m.matches(updated_node, m.Call(func=m.Name("range"), args=[m.Arg(NUMBER)])):
            return updated_node.with_changes(args=[self._moved(updated_node.args[0], "count")])
        args = [self._moved(arg, arg.keyword.value) if arg.keyword else arg for arg in updated_node.args]
        return updated_node.with_changes(args=args)

    def _moved(self, arg: cst.Arg, word: str) -> cst.Arg:
        if word in OF_THE_CODE or not m.matches(arg.value, self._literal):
            return arg
        setting = Setting(self._fresh.of(word, f"{word}_option"), arg.value)
        self.settings.append(setting)
        return arg.with_changes(value=cst.parse_expression(self._read(setting.name)))


class SettingsAsConstants(SettingTransformation):
    """`lr=0.1` becomes `lr=LR`, a constant of the module."""

    flags = True

    def read(self, holder: str, name: str) -> str:
        del holder
        return name.upper()

    def with_settings(self, module: cst.Module, holder: str, settings: Sequence[Setting]) -> cst.Module:
        del holder
        return with_definitions(module, statements("\n".join(f"{one.name.upper()} = {one.code}" for one in settings)))


class SettingsInDictionary(SettingTransformation):
    """`lr=0.1` becomes `lr=config["lr"]`, of a dictionary as a YAML file gives."""

    holder = ("config", "settings", "options")
    flags = True

    def read(self, holder: str, name: str) -> str:
        return f'{holder}["{name}"]'

    def with_settings(self, module: cst.Module, holder: str, settings: Sequence[Setting]) -> cst.Module:
        entries = ", ".join(f'"{one.name}": {one.code}' for one in settings)
        return with_definitions(module, statements(f"{holder} = {{{entries}}}"))


class SettingsInDataclass(SettingTransformation):
    """`lr=0.1` becomes `lr=config.lr`, of a data class with defaults."""

    holder = ("config", "settings", "options")
    flags = True

    def read(self, holder: str, name: str) -> str:
        return f"{holder}.{name}"

    def with_settings(self, module: cst.Module, holder: str, settings: Sequence[Setting]) -> cst.Module:
        name = FreshNames(module).of("Config", "Settings", "Options")
        fields = "\n".join(f"    {one.name}: {one.type} = {one.code}" for one in settings)
        made = statements(f"@dataclasses.dataclass\nclass {name}:\n{fields}\n{holder} = {name}()")
        return with_imports(with_definitions(module, made), "import dataclasses")


class SettingsOnCommandLine(SettingTransformation):
    """`lr=0.1` becomes `lr=args.lr`, of an `argparse` parser with `0.1` as the default."""

    holder = ("args", "options", "arguments")

    def rewrite(self, module: cst.Module) -> cst.Module:
        return module if m.findall(module, m.Name("parse_args")) else super().rewrite(module)

    def read(self, holder: str, name: str) -> str:
        return f"{holder}.{name}"

    def with_settings(self, module: cst.Module, holder: str, settings: Sequence[Setting]) -> cst.Module:
        parser = FreshNames(module).of("parser", "argument_parser")
        added = [f'{parser}.add_argument("--{one.name}", type={one.type}, default={one.code})' for one in settings]
        lines = [f"{parser} = argparse.ArgumentParser()", *added, f"{holder} = {parser}.parse_args()"]
        return with_imports(with_definitions(module, statements("\n".join(lines))), "import argparse")


class SettingsAsDefaults(ModuleTransformation):
    """A number in the body of a function becomes a parameter with that default: `def train(model, loader, lr=0.1)`."""

    kind: ClassVar[Kind] = Kind.KEPT

    def rewrite(self, module: cst.Module) -> cst.Module:
        fresh = FreshNames(module)
        body = [self._function(entry, fresh) if isinstance(entry, cst.FunctionDef) else entry for entry in module.body]
        changed = any(new is not old for new, old in zip(body, module.body, strict=True))
        return module.with_changes(body=body) if changed else module

    @staticmethod
    def _function(node: cst.FunctionDef, fresh: FreshNames) -> Statement:
        visitor = _Settings(fresh, lambda name: name)
        body = cst.ensure_type(node.body.visit(visitor), type(node.body))
        simple = m.Parameters(star_arg=m.MatchIfTrue(lambda arg: isinstance(arg, cst.MaybeSentinel)), star_kwarg=None)
        if not visitor.settings or not m.matches(node.params, simple) or node.decorators:
            return node
        code = ", ".join(f"{one.name}={one.code}" for one in visitor.settings)
        made = cst.ensure_type(statement(f"def f({code}): pass", origins(node)), cst.FunctionDef)
        parameters = node.params.with_changes(params=[*node.params.params, *made.params.params])
        return node.with_changes(params=parameters, body=body)
