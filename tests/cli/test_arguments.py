"""What click hands over to a command has the names and the types of a struct."""

from __future__ import annotations

import importlib

import msgspec
import pytest

from torch_doctor.cli import arguments
from torch_doctor.cli.probe_options import SCRIPT_ARGUMENTS

COMMANDS: dict[str, type[arguments.RunArguments]] = {
    "scan": arguments.ScanArguments,
    "trace": arguments.TraceArguments,
    "checkup": arguments.CheckupArguments,
    "diagnose": arguments.DiagnoseArguments,
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_options_of_a_command_have_the_names_and_the_types_of_its_struct(name: str) -> None:
    command = importlib.import_module(f"torch_doctor.cli.{name}").command
    with command.make_context(name, ["train.py"]) as context:
        given = arguments.received(context.params, COMMANDS[name])
    asked = {field.name for field in msgspec.structs.fields(COMMANDS[name]) if field.required}
    assert asked <= context.params.keys() <= msgspec.structs.asdict(given).keys()


@pytest.mark.parametrize(
    ("name", "given"), [("scan", ("--probe", "--", "--lr", "1")), ("checkup", ("--", "--lr", "1"))]
)
def test_what_stands_behind_two_dashes_is_the_scripts(name: str, given: tuple[str, ...]) -> None:
    command = importlib.import_module(f"torch_doctor.cli.{name}").command
    with command.make_context(name, ["train.py", *given]) as context:
        assert context.params[SCRIPT_ARGUMENTS] == ("--lr", "1")


@pytest.mark.parametrize("wrong", [{"device": 1}, {"devices": "cpu"}, {"python": None}])
def test_another_name_or_type_is_an_error(wrong: dict[str, object]) -> None:
    right = {"device": None, "python": None}
    assert arguments.received(right, arguments.RunArguments).device is None
    with pytest.raises(msgspec.ValidationError):
        arguments.received(wrong if "python" in wrong else right | wrong, arguments.RunArguments)
