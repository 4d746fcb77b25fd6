"""The objects of a run: its own, and those that the imported files made."""

from torch_doctor.static.registry import Imported, Registry
from torch_doctor.static.values import Loader, Object, Optimizer


def an_optimizer() -> Optimizer:
    return Optimizer(None, "SGD", frozenset(), whole=True)


def test_what_an_imported_file_made_is_there_for_every_run() -> None:
    imported = Imported()
    first, second = Registry(imported), Registry(imported)
    made = an_optimizer()

    own = first.begin_import()
    first.add(made)
    first.share()
    first.end_import(own)

    assert first.get(made.id) is made
    assert second.get(made.id) is made
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
