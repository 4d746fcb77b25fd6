"""Accounts: the terms of a loss, and what each update consists of: the passes that fill, apply and clear gradients."""

from torch_doctor.static.domains.accounts.steps import Flat
from torch_doctor.static.domains.accounts.terms import JOINS, Term, Terms, derives

__all__ = ["JOINS", "Flat", "Term", "Terms", "derives"]
