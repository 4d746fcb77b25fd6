"""Help pages: `-h` lists the common options on one screen, `--help` all of them, in groups."""

from __future__ import annotations

import importlib
import re
from typing import Any

import click
import pytest

from torch_doctor.cli import COMMANDS
from torch_doctor.cli.grouping import COMMON, GROUPS, REST, GroupedCommand, group_of

Run = Any  # arguments to outcome
LINES, COLUMNS = 60, 80


def command(name: str) -> click.Command:
    found: click.Command = importlib.import_module(f"torch_doctor.cli.{name}").command
    return found


def options(name: str) -> list[click.Option]:
    every = command(name).get_params(click.Context(command(name)))
    return [option for option in every if isinstance(option, click.Option) and not option.hidden]


GROUPED = [name for name in COMMANDS if isinstance(command(name), GroupedCommand)]


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(COLUMNS))


def test_the_common_options_of_a_scan_fit_on_a_page(run: Run) -> None:
    lines = run("scan", "-h").out.splitlines()
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= COLUMNS
    for heading in ("Examples", "Rule selection", "Probe", "Fixes", "Output", "Exit codes"):
        assert f"{heading}:" in lines


def test_the_page_of_common_options_says_how_to_list_the_others(run: Run) -> None:
    assert run("scan", "-h").out.endswith("\n\nRun `torch-doctor scan --help` to list all options.\n")
    assert "to list all options" not in run("scan", "--help").out


@pytest.mark.parametrize("page", ["-h", "--help"])
def test_a_page_has_examples_and_every_exit_code(run: Run, page: str) -> None:
    text = run("scan", page).out
    examples = re.findall(r"^  (torch-doctor scan.*?)(?:  |$)", text.partition("Examples:")[2], flags=re.MULTILINE)
    assert 3 <= len(examples) <= 5
    assert re.findall(r"^  (\d+) ", text.partition("Exit codes:")[2], flags=re.MULTILINE) == ["0", "1", "2", "130"]


@pytest.mark.parametrize("name", GROUPED)
def test_every_option_has_a_group(name: str) -> None:
    assert [option.opts for option in options(name) if group_of(option) == REST] == []


def test_every_name_in_the_groups_is_an_option() -> None:
    named = [name for names in GROUPS.values() for name in names]
    assert len(named) == len(set(named))
    assert set(named) == {option.opts[-1] for name in GROUPED for option in options(name)}
    assert set(named) >= COMMON


def test_an_option_without_a_group_is_still_listed() -> None:
    @click.command("train", cls=GroupedCommand)
    @click.option("--epochs", help="Number of epochs.")
    def train() -> None: ...

    page = train.get_help(click.Context(train, info_name="train"))
    assert re.search(rf"{REST}:\n  --epochs TEXT +Number of epochs\.", page)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_complete_page_lists_every_option(run: Run, name: str) -> None:
    text = run(name, "--help").out
    for option in options(name):
        assert re.search(rf"^  (-\w, )?{option.opts[-1]}\b", text, flags=re.MULTILINE)


def test_the_brief_page_shows_the_first_sentence_of_a_help_text(run: Run) -> None:
    brief, complete = (" ".join(run("scan", page).out.split()) for page in ("-h", "--help"))
    assert "--fix Apply safe fixes. --unsafe-fixes" in brief
    assert "--fix Apply safe fixes. With --probe, re-run the scripts" in complete


@pytest.mark.parametrize("name", COMMANDS)
def test_a_help_text_is_a_sentence_without_clauses(name: str) -> None:
    for option in options(name):
        assert option.help is not None
        assert re.match(r"[A-Z]", option.help), option.opts
        assert option.help.endswith((".", "]")), option.opts
        assert not re.match(r"(What|How|Where|Whether|Which|That)\b", option.help), option.opts


def test_a_value_that_counts_by_default_is_shown_without_parentheses(run: Run) -> None:
    assert "[default: auto]" in run("scan", "--help").out
    assert "[default: (" not in run("scan", "--help").out
