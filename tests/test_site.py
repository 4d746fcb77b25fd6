"""The site: it builds without a warning or a dead link, and every rule, key and command has its page or section."""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from docs.building import build, dead_links
from torch_doctor.cli import COMMANDS, streams
from torch_doctor.config import KEYS
from torch_doctor.report.links import SITE, url_of
from torch_doctor.report.paint import Paint
from torch_doctor.report.rule_pages import page
from torch_doctor.rule import Fix, all_rules

if TYPE_CHECKING:
    from torch_doctor.rule import Rule

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.tools
Run = Any  # arguments to outcome
ROOT = Path(__file__).parents[1]
CONFIGURATION = ROOT / "docs/mkdocs.yml"
CODES = [rule.code for rule in all_rules() if rule.code.startswith("TDR")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("zensical", reason="Zensical needs Python 3.11")
    return build(tmp_path_factory.mktemp("site"))


def shown(path: Path) -> str:
    """The text of a page."""
    return html.unescape(re.sub(r"<[^>]*>", "", path.read_text(encoding="utf-8")))


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "index.html").write_text(
        '<a href="rules/#new">new</a> <a href="rules/#old">old</a> <a href="//pytorch.org">'
    )
    (tmp_path / "rules/index.html").write_text('<h2 id="new">New</h2> <img src="../new.svg"> <a href="#new">here</a>')
    assert dead_links(tmp_path) == [
        "index.html: rules/#old leads to no anchor",
        "rules/index.html: ../new.svg leads to no page",
    ]


def test_every_code_leads_to_its_page(site: Path) -> None:
    for rule in all_rules():
        url = url_of(rule.code)
        assert url is not None
        text = shown(site / url.removeprefix(SITE) / "index.html")
        assert f"{rule.name} ({rule.code})" in text
        assert "Why is this bad?" in text


def test_a_rule_page_shows_badges_the_finding_and_the_fix_as_a_diff(site: Path) -> None:
    source = (site / "rules/TDR201/index.html").read_text(encoding="utf-8")
    badges = re.findall(r'<span class="badge [\w-]+">([^<]*)</span>', source)
    text = shown(site / "rules/TDR201/index.html")
    assert badges == ["error", "unsafe fix", "static", "runtime"]
    assert re.search(
        r"^error\[TDR201\] softmax-before-cross-entropy: .*\n(?:  .*\n)?   --> train.py:8:40$", text, re.MULTILINE
    )
    assert (
        "\n-model = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1))\n+model = nn.Sequential(nn.Linear(4, 3))\n"
        in text
    )


def test_every_rule_page_shows_a_finding_unless_only_a_run_can(site: Path) -> None:
    for rule in all_rules():
        text = shown(site / f"rules/{rule.code}/index.html")
        assert ("torch-doctor scan train.py reports:" in text) == ("S" in rule.witness), rule.code
        assert f"[{rule.code}] {rule.name}: " in text or "S" not in rule.witness, rule.code
        assert text.count("\nThe complete script\n") == 2, rule.code
        assert re.search(r"^[+-]", text.partition("Use instead")[2], re.MULTILINE), rule.code
        assert ("\nFix: " in text) == (rule.fix is not Fix.NONE), rule.code


def test_the_index_has_a_legend_and_a_family_for_every_rule(site: Path) -> None:
    source = (site / "rules/index.html").read_text(encoding="utf-8")
    legend, _, families = source.partition("<h2")
    assert set(re.findall(r'class="badge ([\w-]+)"', families)) <= set(re.findall(r'class="badge ([\w-]+)"', legend))
    assert [code for code in CODES if f">{code}<br" not in families] == []


def test_the_search_finds_rules(site: Path) -> None:
    assert [code for code in CODES if code not in (site / "search.json").read_text(encoding="utf-8")] == []


def test_the_table_of_rules_leads_to_all_of_them(site: Path) -> None:
    table = (site / "rules/index.html").read_text(encoding="utf-8")
    assert [code for code in CODES if f'href="{code}/"' not in table] == []


def test_every_setting_and_every_command_is_listed(site: Path, run: Run) -> None:
    settings = (site / "configuration/index.html").read_text(encoding="utf-8")
    commands = shown(site / "commands/index.html")
    keys = run("config").out.split()
    assert [key for key in keys if f'<h3 id="{key.replace(".", "-")}">' not in settings] == []
    assert {key.partition(".")[0] for key in keys} == set(KEYS)
    assert [name for name in COMMANDS if f"Usage: torch-doctor {name}" not in commands] == []


def test_the_address_of_the_site_is_told_once() -> None:
    assert f"site_url: {SITE}\n" in CONFIGURATION.read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["urls"]["Documentation"] == SITE


def test_a_rule_of_another_package_has_no_page_there() -> None:
    assert url_of("TDX101") is None


def test_a_code_is_a_link_where_the_terminal_knows_links() -> None:
    linked = Paint(links=True).linked("TDR101", url_of("TDR101"))
    assert linked == f"\x1b]8;;{SITE}rules/TDR101/\x1b\\TDR101\x1b]8;;\x1b\\"
    assert Paint(links=True).linked("TDX101", url_of("TDX101")) == "TDX101"
    assert Paint().linked("TDR101", url_of("TDR101")) == "TDR101"


@pytest.mark.parametrize(
    ("terminal", "choice", "ci", "links"),
    [(True, "auto", False, True), (False, "always", False, False), (True, "never", False, False), (True, "auto", True, False)],
)  # fmt: skip
def test_only_a_terminal_in_colours_gets_links(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, choice: str, ci: bool, links: bool
) -> None:
    for variable in ("NO_COLOR", "FORCE_COLOR", "CI"):
        monkeypatch.delenv(variable, raising=False)
    if ci:
        monkeypatch.setenv("CI", "true")
    monkeypatch.setattr(streams, "is_terminal", lambda _: terminal)
    assert streams.look_of(choice, sys.stdout).paint.links is links


@pytest.mark.parametrize("name", ["md", "markdown"])
@pytest.mark.usefixtures("stand_ins")
def test_all_pages_are_printed_one_after_the_other(run: Run, rules: tuple[Rule, ...], name: str) -> None:
    assert run("rule", "--all", "--output-format", name) == (0, "\n".join(map(page, rules)), "")
    assert run("rule", "TDR101", "--output-format", name).out == page(rules[1])
    records = run("rule", "--all", "--output-format", "json").json
    assert [record["url"] for record in records] == [url_of(rule.code) for rule in rules]


@pytest.mark.parametrize("arguments", [(), ("TDR101", "--all")])
def test_one_rule_or_all_has_to_be_asked_for(run: Run, arguments: tuple[str, ...]) -> None:
    assert run("rule", *arguments) == (2, "", "error: pass the code or the name of one rule, or --all\n")
