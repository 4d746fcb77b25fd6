"""What is kept for a while gives way to what is needed."""

from torch_doctor.sources.bounded import Bounded


def test_what_nobody_has_needed_for_the_longest_time_gives_way() -> None:
    kept = Bounded[str, str](10, len)
    for key in "abc":
        kept[key] = key * 4 if key == "c" else key * 3
    assert [key for key in "abc" if key in kept] == ["a", "b", "c"]
    assert kept["a"] == "aaa"
    kept["d"] = "d"
    assert [key for key in "abcd" if key in kept] == ["a", "c", "d"]
    kept["c"] = "cc"  # and weighs less from here on
    kept["e"] = "eeee"
    assert [key for key in "abcde" if key in kept] == ["a", "c", "d", "e"]


def test_the_newest_is_kept_whatever_it_weighs() -> None:
    kept = Bounded[str, str](10, len)
    kept["a"] = "a"
    kept["b"] = "b" * 100
    assert ("a" in kept, kept["b"]) == (False, "b" * 100)
    kept.pop("b")
    kept.pop("b")
    kept["c"] = "c" * 10
    assert kept["c"] == "c" * 10
