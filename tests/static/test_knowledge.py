"""What a run knows ends with it, except for what the file's top level leaves."""

from __future__ import annotations

from torch_doctor.static.knowledge import Lasting


class Seen(Lasting):
    def __init__(self) -> None:
        self.by_name: dict[str, tuple[set[int], list[int]]] = {}


def test_a_further_run_begins_with_what_the_top_level_left_and_not_with_what_another_run_learned() -> None:
    left = Seen()
    left.by_name["rows"] = ({1}, [1])
    numbers, places = left.again().by_name["rows"]
    numbers.add(2)
    places.append(2)
    assert left.again().by_name == {"rows": ({1}, [1])}
