"""What torch and the libraries around it do, declared as data: the static witness looks here and codes none of it."""


def words(text: str) -> tuple[str, ...]:
    """Return the names in a text that lists them between spaces and line ends."""
    return tuple(text.split())
