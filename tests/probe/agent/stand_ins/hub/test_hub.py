"""What stands in for data sets, metrics and models of the Hugging Face hub; only where its libraries are installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.folders import entries

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [
    pytest.mark.frameworks("datasets", "transformers", "PIL"),
    pytest.mark.usefixtures("farm", "records"),
]


@pytest.fixture
def probe(run: Any, write: Any) -> Callable[..., Any]:
    """Probes a script that is written first; gives what the command left behind."""

    def probed(script: str) -> Any:
        write("train.py", script)
        outcome = run("scan", "train.py", "--probe", "--isolated", "--device", "cpu", "--probe-timeout", "300", "-v")
        assert outcome.status in {0, 1}, outcome.err
        assert "fails" not in outcome.err, outcome.err
        return outcome

    return probed


def test_a_well_known_set_has_its_columns_classes_and_splits(probe: Callable[..., Any]) -> None:
    outcome = probe("""
import torch
from datasets import load_dataset
data = load_dataset("glue", "mnli")
assert list(data) == ["train", "validation_matched", "validation_mismatched", "test_matched", "test_mismatched"]
assert data["train"].features["label"].names == ["entailment", "neutral", "contradiction"]
assert isinstance(data["train"][0]["premise"], str)
answers = load_dataset("rajpurkar/squad", split="validation")[0]
start = answers["answers"]["answer_start"][0]
assert answers["context"][start:].startswith(answers["answers"]["text"][0])
assert load_dataset("mnist", split="test")[0]["image"].size == (28, 28)
assert set(load_dataset("wmt16", "ro-en", split="train")[0]["translation"]) == {"ro", "en"}
words = load_dataset("conll2003", split="train")[0]
assert len(words["tokens"]) == len(words["ner_tags"])
""")
    assert (
        "synthetic samples (train 1024, validation 256) of id, title, context, question, answers "
        "instead of `load_dataset('rajpurkar/squad')` (data not found)"
    ) in outcome.err


def test_splits_are_cut_streamed_and_chosen_from_as_if_all_rows_were_there(probe: Callable[..., Any]) -> None:
    probe("""
import torch
from datasets import load_dataset
assert len(load_dataset("imdb", split="train[:10%]")) == 102
assert len(load_dataset("imdb", split="train[:5000]+test[20000:20100]")) == 1124
train, test = load_dataset("imdb", split=["train", "test"])
assert len(train.select(range(20000))) == 1024 and len(train.shuffle(seed=1).select(range(10))) == 10
parts = train.train_test_split(test_size=2000)
assert len(parts["train"]) + len(parts["test"]) == 1024
assert len(list(load_dataset("c4", "en", split="train", streaming=True).take(3))) == 3
assert len(train.map(lambda row: {"n": len(row["text"])}, num_proc=4)["n"]) == 1024
assert len(train.filter(lambda row: True, num_proc=1)) == 1024
""")


def test_a_set_that_nobody_knows_has_the_columns_that_are_read(probe: Callable[..., Any]) -> None:
    outcome = probe("""
import torch
from datasets import load_dataset, load_from_disk
data = load_dataset("somebody/complaints")
kept = load_from_disk("encoded")
files = load_dataset("csv", data_files={"train": "a.csv", "dev": "b.csv"})
data = data.map(lambda row: {"length": len(row["complaint"]), "y": row["category"]})
assert set(data["validation"].column_names) == {"complaint", "category", "length", "y"}
assert list(files) == ["train", "dev"]
print(kept["train"][0]["category"])
""")
    assert "of complaint, category instead of `load_dataset('somebody/complaints')`" in outcome.err
    assert "instead of `encoded` (data not found)" in outcome.err


def test_a_set_of_which_nothing_is_known_is_named(run: Any, write: Any) -> None:
    write("train.py", "import torch\nfrom datasets import load_dataset\nprint(load_dataset('somebody/things'))\n")
    outcome = run("scan", "train.py", "--probe", "--isolated")
    text = "the script loads load_dataset('somebody/things'), which was not found, and its columns are unknown"
    assert text in outcome.err


def test_what_is_there_is_loaded(probe: Callable[..., Any], write: Any) -> None:
    write("a.csv", "text,label\nwell,1\n")
    outcome = probe("""
import torch
from datasets import load_dataset
data = load_dataset("csv", data_files="a.csv", split="train")
assert data[0] == {"text": "well", "label": 1}
data.save_to_disk("kept")
from datasets import load_from_disk
assert load_from_disk("kept")[0] == data[0]
""")
    assert "instead of" not in outcome.err


def test_metrics_are_zero(probe: Callable[..., Any]) -> None:
    outcome = probe("""
import torch
import evaluate
metric = evaluate.load("glue", "mrpc")
metric.add_batch(predictions=[1], references=[1])
assert metric.compute()["accuracy"] == 0
""")
    assert "evaluate" in outcome.err


def test_a_model_has_the_architecture_that_its_name_tells_and_the_settings_of_the_script(
    probe: Callable[..., Any], folder: Path
) -> None:
    outcome = probe("""
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, BertModel
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=5, hidden_dropout_prob=0.3)
assert type(model).__name__ == "BertForSequenceClassification" and not model.training
assert model.classifier.out_features == 5 and model.config.hidden_dropout_prob == 0.3
assert model.config.hidden_size == 768 and len(model.bert.encoder.get_submodule("layer")) == 2
assert model.config.name_or_path == "bert-base-uncased"
assert BertModel.from_pretrained("./my-model").config.hidden_size == 768
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
batch = tokenizer(["A bird.", "The old house."], ["and", "a dog"], padding=True, return_tensors="pt")
assert batch["input_ids"][0, 0] == tokenizer.cls_token_id == 101 and tokenizer.pad_token_id == 0
assert len(tokenizer) == model.config.vocab_size == 8192 and tokenizer.model_max_length == 512
assert tokenizer.decode(batch["input_ids"][1], skip_special_tokens=True) == "the old house. a dog"
assert model(**batch).logits.shape == (2, 5)
model.save_pretrained("kept")
tokenizer.save_pretrained("kept")
again = AutoModelForSequenceClassification.from_pretrained("kept")
assert torch.equal(again.classifier.weight, model.classifier.weight)
assert AutoTokenizer.from_pretrained("kept")("A bird.")["input_ids"][0] == 101
""")
    assert (
        "BertForSequenceClassification with random weights (num_hidden_layers 2 for 12, vocab_size 8192 for 30522)"
        in outcome.err
    )
    assert entries(folder) == ["train.py"]
    assert "synthetic vocabulary of 8192 instead of `the tokenizer of bert-base-uncased`" in outcome.err


def test_a_model_with_a_decoder_knows_where_it_begins(probe: Callable[..., Any]) -> None:
    probe("""
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained("t5-small")
batch = tokenizer(["the house"], text_target=["a dog"], return_tensors="pt")
model = AutoModelForSeq2SeqLM.from_pretrained("t5-small")
assert model(**batch).loss > 0 and model.config.eos_token_id == tokenizer.eos_token_id
""")


def test_a_script_that_numbers_the_layers_and_the_tokens_has_them_all(probe: Callable[..., Any]) -> None:
    probe("""
import torch
from transformers import AutoTokenizer, DistilBertModel
assert len(AutoTokenizer.from_pretrained("distilbert-base-uncased")) == 30522
model = DistilBertModel.from_pretrained("distilbert-base-uncased")
for parameter in model.transformer.layer[5].parameters():
    parameter.requires_grad = False
""")


@pytest.mark.parametrize(
    ("name", "first", "pad"),
    [("gpt2", None, None), ("t5-small", None, "<pad>"), ("roberta-base", "<s>", "<pad>")],
)
def test_tokenizers_are_of_the_kind_of_their_models(
    probe: Callable[..., Any], name: str, first: str | None, pad: str | None
) -> None:
    probe(f"""
import torch
from transformers import AutoModel, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained({name!r})
tokens = tokenizer.convert_ids_to_tokens(tokenizer("The old house.")["input_ids"])
assert ({first!r} or tokens[0]) == tokens[0] and tokenizer.pad_token == {pad!r}
assert tokenizer.decode(tokenizer("The old house.")["input_ids"], skip_special_tokens=True) == "The old house."
assert AutoModel.from_pretrained({name!r}).get_input_embeddings().num_embeddings >= len(tokenizer)
""")


def test_a_model_that_the_library_places_is_where_its_batches_are_moved_to(probe: Callable[..., Any]) -> None:
    outcome = probe("""
import torch
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained("gpt2", device_map="auto", torch_dtype=torch.float32)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for batch in torch.utils.data.DataLoader(torch.randint(0, 100, (8, 16)), batch_size=4, shuffle=True):
    batch = batch.to("cuda")
    loss = model(batch, labels=batch).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""")
    assert "TDR802" not in outcome.out


def test_only_a_model_that_is_made_to_chat_has_a_template(probe: Callable[..., Any]) -> None:
    probe("""
import torch
from transformers import AutoTokenizer
said = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "yes"}]
tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B-Instruct")
asked = tokenizer.apply_chat_template(said[:1], tokenize=False, add_generation_prompt=True)
assert tokenizer.apply_chat_template(said, tokenize=False).startswith(asked)
assert AutoTokenizer.from_pretrained("gpt2").chat_template is None
""")


@pytest.mark.frameworks("sentencepiece")
def test_a_tokenizer_in_python_needs_no_library_that_reads_its_vocabulary(probe: Callable[..., Any]) -> None:
    probe("""
import sys
import torch
sys.modules["google.protobuf"] = None
from transformers import LlamaTokenizer, T5Tokenizer
for tokenizer in (LlamaTokenizer.from_pretrained("huggyllama/llama-7b"), T5Tokenizer.from_pretrained("t5-small")):
    text = tokenizer.decode(tokenizer("the old house").input_ids, skip_special_tokens=True)
    assert text.strip() == "the old house", text
""")


def test_a_tokenizer_whose_name_tells_nothing_is_of_the_kind_of_the_model_beside_it(
    probe: Callable[..., Any],
) -> None:
    probe("""
import torch
from transformers import AutoConfig, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained("somebody/words")
assert tokenizer.eos_token == "<|endoftext|>"
config = AutoConfig.from_pretrained("gpt2", vocab_size=len(tokenizer))
""")


def test_a_model_whose_name_tells_nothing_is_named(run: Any, write: Any) -> None:
    script = "import torch\nfrom transformers import AutoModel\nAutoModel.from_pretrained('somebody/thing')\n"
    write("train.py", script)
    outcome = run("scan", "train.py", "--probe", "--isolated")
    text = "the script loads somebody/thing, which was not found, and its architecture is unknown: download it first"
    assert text in outcome.err


def test_files_that_the_script_fetches_by_itself_are_named(run: Any, write: Any) -> None:
    script = "import torch\nfrom huggingface_hub import hf_hub_download\nhf_hub_download('a/b', 'c.bin')\n"
    write("train.py", script)
    outcome = run("scan", "train.py", "--probe", "--isolated")
    assert "the script downloads a/b/c.bin from the Hugging Face Hub: download it first" in outcome.err


def test_the_trainer_of_transformers_ends_as_loops_do(probe: Callable[..., Any]) -> None:
    outcome = probe("""
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments
data = load_dataset("emotion")
tokenizer = AutoTokenizer.from_pretrained("prajjwal1/bert-tiny")
data = data.map(lambda rows: tokenizer(rows["text"], padding="max_length", max_length=32), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("prajjwal1/bert-tiny", num_labels=6)
Trainer(model, TrainingArguments("out", num_train_epochs=50, fp16=True, report_to="none"), train_dataset=data["train"]).train()
""")
    assert "reached 6 optimizer steps" in outcome.err
    assert "float32 instead of `fp16` (a GPU's precision)" in outcome.err
    assert "the training of transformers' Trainer stops after 3 optimizer steps per epoch and 2 epochs" in outcome.err
