"""By which order pandas has numbered the words of a column."""

from __future__ import annotations

import pytest

from tests.said import said

SCRIPT = """
    import pandas as pd
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    table, other = pd.read_csv("train.csv"), pd.read_csv("test.csv")
    x = torch.tensor(table[["a", "b"]].values)
    codes, names = pd.factorize(table["wood"])
    numbers = {{name: number for number, name in enumerate(table["wood"].unique())}}
    {before}
    loader = DataLoader(TensorDataset(x, torch.as_tensor({labels})), batch_size=8, shuffle=True)
    for batch, wood in loader:
        print(wood)
"""


@pytest.mark.parametrize(
    ("labels", "numbered"),
    [
        ("codes", True),
        ("table['wood'].factorize()[0]", True),
        ("names.get_indexer(table['wood'])", True),
        ("table['wood'].map(numbers)", True),
        ("pd.factorize(table['wood'], sort=True)[0]", False),
        ("table['wood'].astype('category').cat.codes", False),
        ("table['wood'].map({'oak': 0, 'ash': 1})", False),
        ("table['kind'].values", False),
    ],
)
def test_columns_are_numbered_in_the_order_in_which_the_rows_have_them(labels: str, *, numbered: bool) -> None:
    assert bool(said(SCRIPT.format(before="", labels=labels), "classes numbered by")) is numbered


@pytest.mark.parametrize(
    ("before", "label", "numbered"),
    [
        ("table['label'] = codes", "label", True),
        ("table['label'] = codes", "kind", False),
        ("table['label'] = codes; table['label'] = table['wood'].map({'oak': 0})", "label", False),
        ("table['label'] = table['wood'].map(numbers)", "label", True),
    ],
)
def test_a_column_remembers_by_which_order_it_is_numbered(before: str, label: str, *, numbered: bool) -> None:
    script = SCRIPT.format(before=before, labels=f"table[{label!r}].values")
    assert bool(said(script, "classes numbered by")) is numbered
