"""From bytes to a syntax tree."""

from __future__ import annotations

import ast
import codecs
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_doctor.sources.python import Failure, Unsupported, decode, parse


def test_utf8_is_the_default() -> None:
    assert decode("x = 'é'\n".encode()) == ("x = 'é'\n", None)


def test_a_byte_order_mark_is_no_text() -> None:
    assert decode(codecs.BOM_UTF8 + b"x = 1") == ("x = 1", None)


@pytest.mark.parametrize(
    "cookie", ["# -*- coding: latin-1 -*-", "# vim: set fileencoding=latin-1 :", "#!/usr/bin/python\n# coding=latin_1"]
)
def test_an_encoding_comment_is_honoured(cookie: str) -> None:
    source = f"{cookie}\nx = 'é'\n"
    assert decode(source.encode("latin-1")) == (source, None)


def test_an_encoding_comment_below_code_is_a_comment() -> None:
    _, failure = decode("x = 1\n# coding: latin-1\ny = 'é'".encode("latin-1"))
    assert failure is not None


def test_bytes_that_are_no_utf8_fail_where_they_stand() -> None:
    text, failure = decode("import torch\nx = 'ü'\n".encode("latin-1"))
    assert failure == Failure("not valid UTF-8: byte 0xfc cannot be decoded", 2, 6, 2, 7)
    assert text.startswith("import torch\nx = '")


def test_an_unknown_encoding_fails_in_the_first_row() -> None:
    _, failure = decode(b"# coding: klingon\nx = 1\n")
    assert failure == Failure("unknown encoding `klingon`")


def test_an_encoding_that_is_no_text_encoding_fails() -> None:
    _, failure = decode(b"# coding: rot13\nx = 1\n")
    assert failure is not None


def test_zeros_are_binary() -> None:
    _, failure = decode(b"x = 1\ny\0z")
    assert failure == Failure("binary data, not text", 2, 2, 2, 3)


def test_text_in_two_byte_units_is_told_as_what_it_is() -> None:
    text, failure = decode("import torch\n".encode("utf-16"))
    assert text.endswith("import torch\n")
    assert failure == Failure("encoded in UTF-16, which Python cannot read: save it as UTF-8")


def test_lines_that_end_with_a_carriage_return_alone_are_lines() -> None:
    source = "# coding: latin-1\rx = 'é'\r"
    assert decode(source.encode("latin-1")) == (source, None)
    _, failure = decode("# a\r# b\r# coding: latin-1\rx = 'é'\r".encode("latin-1"))
    assert failure is not None
    assert failure.row == 4


def test_a_null_and_half_a_character_are_told_where_they_stand() -> None:
    assert parse("x = 1\ny\0z") == Failure("invalid character U+0000", 2, 2, 2, 3)
    assert parse("x = 1\ny = '\ud800'") == Failure("invalid character U+D800", 2, 6, 2, 7)


@pytest.mark.skipif(not hasattr(sys, "set_int_max_str_digits"), reason="this interpreter reads all digits")
def test_a_number_of_too_many_digits_is_not_wrong() -> None:
    assert parse("x = " + "9" * 5000) == Unsupported("a number has too many digits")


def test_brackets_that_no_python_nests_so_deep_are_wrong() -> None:
    failure = parse("x = " + "(" * 10_000 + "1" + ")" * 10_000)
    assert isinstance(failure, Failure)
    assert failure.reason == "too many nested parentheses"


def test_valid_source_becomes_a_tree() -> None:
    assert isinstance(parse("x = 1\n"), ast.Module)


def test_python_2_is_wrong() -> None:
    failure = parse("import torch\nprint 'epoch'\n")
    assert isinstance(failure, Failure)
    assert failure.row == 2
    assert failure.column == 1


def test_wrong_indentation_is_wrong() -> None:
    failure = parse("if True:\nx = 1\n")
    assert isinstance(failure, Failure)
    assert failure.row == 2


def test_a_character_name_that_does_not_exist_is_wrong() -> None:
    assert isinstance(parse(r'x = "\N{no such character}"'), Failure)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this interpreter knows the grammar")
@pytest.mark.parametrize("source", ["type X = int\n", "def f[T](x: T) -> T: ...\n", "f'{d['key']}'\n"])
def test_grammar_of_a_newer_python_is_not_wrong(source: str) -> None:
    assert isinstance(parse(source), Unsupported)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this interpreter knows the grammar")
def test_quotes_within_an_f_string_are_not_wrong_where_nobody_can_ask_about_a_long_file() -> None:
    table = "names = [\n" + "    'a name',\n" * 1_000 + "]\n"
    assert isinstance(parse(table + "f'{d['key']}'\n"), Unsupported)
    assert isinstance(parse(table + "x = = 1\n"), Failure)


def test_nesting_too_deep_for_the_parser_is_not_wrong() -> None:
    assert not isinstance(parse("x = " + "-" * 100_000 + "1"), ast.Module)
    assert isinstance(parse("x = " + "+".join("1" * 20_000)), (ast.Module, Unsupported))


def test_warnings_about_other_peoples_source_are_not_ours() -> None:
    assert isinstance(parse(r'x = "\d"; y = 1 is 1' + "\n"), ast.Module)


@given(st.binary(max_size=300))
def test_no_bytes_crash(raw: bytes) -> None:
    text, failure = decode(raw)
    parsed = parse(text)
    for result in (failure, parsed):
        if isinstance(result, Failure):
            assert result.row >= 1
            assert result.column >= 1
            assert (result.end_row, result.end_column) >= (result.row, result.column)


@given(st.text(alphabet="abc ifor:=()[]{}'\"\\\n\t#%!?,.0é", max_size=80))
def test_no_text_crashes(text: str) -> None:
    assert isinstance(parse(text), (ast.Module, Failure, Unsupported))
