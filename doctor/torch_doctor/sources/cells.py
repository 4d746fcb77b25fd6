"""What IPython adds to Python: magics, shell lines and help, blanked so that rows and columns stay as they are."""

from __future__ import annotations

from torch_doctor.pattern import pattern

TIMING_MAGIC = pattern(r"%%(?:time|timeit|capture)\b")
HELP = pattern(r"\s*[%\w.*]+\?{1,2}\s*(?:#.*)?$")
ASSIGNED = pattern(r"(?P<target>[\w.,\s\[\]*]+)=\s*(?P<magic>[!%].*)$")
ASSIGNED_TIMED = pattern(r"(?P<target>[\w.,\s\[\]*]+=\s*)(?P<magic>%time\s+)(?=[^\s-])")
TIMED = pattern(r"\s*(?P<magic>%time(?:it)?\s+)(?=[^\s-])")
AUTOMATIC = pattern(
    r"\s*(?:alias|autoreload|bookmark|cat|cd|conda|config|cp|dhist|env|gui|history|ldir|less|lf|ll|ls|lsmagic|lx|magic|mamba|man"
    r"|matplotlib|micromamba|mkdir|more|mv|pdoc|pip|popd|prun|psource|pushd|pwd|quickref|rehashx|reset|rm|rmdir|run|save|time"
    r"|timeit|uv|who|whos|writefile|xmode)(?:\s+(?![=.,*<>|&^%@]|[-+/]\s)\S.*)?$"
)
"""Magics that need no `%` (https://ipython.readthedocs.io/en/stable/interactive/magics.html), where no operator follows."""
LEXEME = pattern(r"'''|\"\"\"|'|\"|#|[(\[{]|[)\]}]")


def is_foreign(source: str) -> bool:
    """Whether the whole cell is something else than Python: a shell script, HTML, a file to write."""
    first = source.lstrip("\n\r \t").partition("\n")[0]
    return first.startswith("%%") and not TIMING_MAGIC.match(first)


def leading_indent(lines: list[str]) -> str:
    """What IPython takes off every row of a cell: the white space before its first row."""
    first = next((line for line in lines if line.strip()), "")
    return first[: len(first) - len(first.lstrip())]


def blank_magics(lines: list[str], *, automatic: bool = False) -> list[str]:
    """The lines of a cell with what is IPython's replaced; a line of Python stays byte for byte.

    `automatic`: magics without their `%` too.
    """
    result: list[str] = []
    nesting = Nesting()
    continued = False  # the line belongs to a magic that a backslash continued
    for line in lines:
        if continued:
            result.append("")
            continued = line.rstrip().endswith("\\")
            continue
        replaced = None if nesting.inside else _replacement(line)
        if automatic and replaced is None and not nesting.inside and AUTOMATIC.match(line):
            replaced = f"{line[: len(line) - len(line.lstrip())]}pass"
        if replaced is None:
            nesting.read(line)
            result.append(line)
        else:
            result.append(replaced)
            continued = line.rstrip().endswith("\\")
    return result


def _replacement(line: str) -> str | None:
    stripped = line.lstrip()
    indent = line[: len(line) - len(stripped)]
    if timed := TIMED.match(line):
        return indent + "if 1:".ljust(len(timed["magic"])) + line[timed.end() :]  # the statement keeps its column
    if timed := ASSIGNED_TIMED.match(line):
        return timed["target"] + " " * len(timed["magic"]) + line[timed.end() :]
    if stripped.startswith(("%", "!", "?")) or HELP.match(line):
        return f"{indent}pass" if indent else ""
    if assigned := ASSIGNED.match(line):
        return f"{assigned['target']}= None"
    return None


class Nesting:
    """Whether the next line begins inside a bracket, a long string or a continued statement."""

    def __init__(self) -> None:
        self._depth = 0
        self._quote = ""
        self._continued = False

    @property
    def inside(self) -> bool:
        """Whether a magic at the start of the next line would be no magic."""
        return self._depth > 0 or bool(self._quote) or self._continued

    def read(self, line: str) -> None:
        """Go on by one line of Python."""
        position = 0
        while position < len(line):
            if self._quote:
                position = self._end_of_string(line, position)
                continue
            found = LEXEME.search(line, position)
            if found is None or found[0] == "#":
                break
            position = found.end()
            if found[0] in "([{":
                self._depth += 1
            elif found[0] in ")]}":
                self._depth = max(self._depth - 1, 0)
            else:
                self._quote = found[0]
        if len(self._quote) == 1 and not line.endswith("\\"):
            self._quote = ""  # a short string ends with its line, closed or not
        self._continued = not self._quote and line.endswith("\\")

    def _end_of_string(self, line: str, position: int) -> int:
        while position < len(line):
            if line[position] == "\\":
                position += 2
            elif line.startswith(self._quote, position):
                position += len(self._quote)
                self._quote = ""
                break
            else:
                position += 1
        return position
