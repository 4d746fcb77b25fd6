"""The kinds of pretrained tokenizers: their models, special tokens and numbers, and what they put around texts.

They are those of the models' own tokenizers, as the documentation of each at https://huggingface.co/docs/transformers has
them.
"""

from __future__ import annotations

from typing import NamedTuple


class Layout(NamedTuple):
    """A kind of tokenizer: its model, its special tokens with their numbers (-1: the last), and what is put around texts."""

    model: str  # "wordpiece", "bytes" or "pieces" (byte-pair encoding), "unigram"
    special: dict[str, tuple[str, int]]
    single: str = "$A"
    pair: str = "$A $B:1"
    left: bool = False  # padding

    @property
    def tokens(self) -> dict[str, int]:
        """The special tokens and their numbers."""
        return dict(self.special.values())


BERT = Layout(
    "wordpiece",
    {
        "pad_token": ("[PAD]", 0),
        "unk_token": ("[UNK]", 100),
        "cls_token": ("[CLS]", 101),
        "sep_token": ("[SEP]", 102),
        "mask_token": ("[MASK]", 103),
    },
    "[CLS] $A [SEP]",
    "[CLS] $A [SEP] $B:1 [SEP]:1",
)
ROBERTA = Layout(
    "bytes",
    {
        "bos_token": ("<s>", 0),
        "pad_token": ("<pad>", 1),
        "eos_token": ("</s>", 2),
        "unk_token": ("<unk>", 3),
        "cls_token": ("<s>", 0),
        "sep_token": ("</s>", 2),
        "mask_token": ("<mask>", -1),
    },
    "<s> $A </s>",
    "<s> $A </s> </s> $B </s>",
)
END = ("<|endoftext|>", -1)
GPT = Layout("bytes", {"bos_token": END, "eos_token": END, "unk_token": END})
OPT = Layout(
    "bytes",
    {"bos_token": ("</s>", 2), "eos_token": ("</s>", 2), "unk_token": ("</s>", 2), "pad_token": ("<pad>", 1)},
    "</s> $A",
    "</s> $A </s> $B",
)
T5 = Layout(
    "unigram",
    {"pad_token": ("<pad>", 0), "eos_token": ("</s>", 1), "unk_token": ("<unk>", 2)},
    "$A </s>",
    "$A </s> $B </s>",
)
ALBERT = Layout(
    "unigram",
    {
        "pad_token": ("<pad>", 0),
        "unk_token": ("<unk>", 1),
        "cls_token": ("[CLS]", 2),
        "sep_token": ("[SEP]", 3),
        "mask_token": ("[MASK]", 4),
        "bos_token": ("[CLS]", 2),
        "eos_token": ("[SEP]", 3),
    },
    BERT.single,
    BERT.pair,
)
DEBERTA = Layout(
    "unigram",
    {
        "pad_token": ("[PAD]", 0),
        "cls_token": ("[CLS]", 1),
        "sep_token": ("[SEP]", 2),
        "unk_token": ("[UNK]", 3),
        "mask_token": ("[MASK]", -1),
        "bos_token": ("[CLS]", 1),
        "eos_token": ("[SEP]", 2),
    },
    BERT.single,
    BERT.pair,
)
XLNET = Layout(
    "unigram",
    {
        "unk_token": ("<unk>", 0),
        "bos_token": ("<s>", 1),
        "eos_token": ("</s>", 2),
        "cls_token": ("<cls>", 3),
        "sep_token": ("<sep>", 4),
        "pad_token": ("<pad>", 5),
        "mask_token": ("<mask>", 6),
    },
    "$A <sep> <cls>:2",
    "$A <sep> $B:1 <sep>:1 <cls>:2",
    left=True,
)
XLM_ROBERTA = ROBERTA._replace(model="unigram")
LLAMA = Layout(
    "pieces",
    {"unk_token": ("<unk>", 0), "bos_token": ("<s>", 1), "eos_token": ("</s>", 2)},
    "<s> $A",
    "<s> $A <s> $B:1",
    left=True,
)
GEMMA = Layout(
    "pieces",
    {"pad_token": ("<pad>", 0), "eos_token": ("<eos>", 1), "bos_token": ("<bos>", 2), "unk_token": ("<unk>", 3)},
    "<bos> $A",
    "<bos> $A <bos> $B:1",
    left=True,
)
# Words in the type of a model, or in the name of a tokenizer's class → its kind; the first that is in it.
LAYOUTS: tuple[tuple[str, Layout], ...] = (
    ("xlmroberta", XLM_ROBERTA),
    ("camembert", XLM_ROBERTA),
    ("mbart", XLM_ROBERTA),
    ("debertav2", DEBERTA),
    ("deberta", GPT._replace(special=DEBERTA.special, single=BERT.single, pair=BERT.pair)),
    ("albert", ALBERT),
    ("xlnet", XLNET),
    ("roberta", ROBERTA),
    ("longformer", ROBERTA),
    ("bart", ROBERTA),
    ("t5", T5),
    ("pegasus", T5),
    ("marian", T5),
    ("llama", LLAMA),
    ("mistral", LLAMA),
    ("mixtral", LLAMA),
    ("gemma", GEMMA),
    ("gptneox", GPT._replace(special={**GPT.special, "pad_token": ("<|padding|>", 1)})),
    ("opt", OPT),
    ("bert", BERT),
    ("electra", BERT),
    ("funnel", BERT),
    ("layoutlm", BERT),
    ("mpnet", BERT),
    ("lxmert", BERT),
)


def layout_of(kind: str, name: str) -> Layout:
    """How tokenizers are for a type of model, or of a class of this name; as GPT-2's where neither is known."""
    for text in (kind, name):
        flat = text.lower().replace("-", "").replace("_", "")
        for word, known in LAYOUTS:
            if word in flat:
                return known
    return GPT
