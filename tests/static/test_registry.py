"""The objects of a run: its own, and those that the imported files made."""

from pathlib import Path

from torch_doctor.static.questions import Asked
from torch_doctor.static.registry import Image, Imported, Registry
from torch_doctor.static.values import Loader, Object, Optimizer
from torch_doctor.trace import Scope, ScopeKind, Site


def an_optimizer() -> Optimizer:
    return Optimizer(None, "SGD", frozenset(), whole=True)


def an_image() -> Image:
    return Image(
        [],
        [],
        frozenset(),
        Scope(ScopeKind.ROOT, Site("train.py", 1, 1, 1, 1)),
        [],
        {},
        frozenset(),
        Asked(set(), set(), set()),
    )


def test_what_an_imported_file_made_is_there_for_every_run_that_imports_it() -> None:
    imported = Imported()
    first, second = Registry(imported), Registry(imported)
    made = an_optimizer()

    own = first.begin_import()
    first.add(made)
    first.share(Path("parts.py"), image := an_image())
    first.end_import(own)

    assert first.of(Optimizer) == [made]
    assert second.get(made.id) is made
    assert second.of(Optimizer) == []
    second.bring(Path("parts.py"), image)
    assert second.of(Optimizer) == [made]


def test_a_failed_import_leaves_nothing() -> None:
    run = Registry(Imported())
    before, within = Loader(), Loader()
    run.add(before)

    own = run.begin_import()
    assert run.get(before.id) is None  # the file's top level runs before anybody has imported it
    run.add(within)
    run.end_import(own)

    assert run.get(before.id) is before
    assert run.get(within.id) is None


def test_what_was_made_since_the_own_were_saved_is_forgotten() -> None:
    run = Registry(Imported())
    top, inside = Loader(), an_optimizer()
    run.add(top)
    saved = run.save()

    for _ in range(2):
        run.add(inside)
        assert run.of(Object) == [top, inside]
        run.restore(saved)
        assert run.of(Object) == [top]
