"""Accounts: the terms of a loss, and what each of them is made of."""

from torch_doctor.static.domains.accounts.steps import Flat
from torch_doctor.static.domains.accounts.terms import JOINS, Term, Terms, derives

__all__ = ["JOINS", "Flat", "Term", "Terms", "derives"]
