"""What is said of tokenizers, and of models that compute the loss of their tokens themselves."""

from __future__ import annotations

from typing import Final

NEXT: Final = "next"
"""Such a model moves the labels that it is given: each place is compared with the label of the next one."""
ANYWHERE: Final = "anywhere"
"""It compares each place with the label that it is given there, or it is not known with which."""
IGNORED: Final = -100
"""The label that losses over classes leave out where they are not told another."""
