"""Columns, classes and splits of well-known data sets of the Hugging Face hub.

The facts are those of the dataset cards, https://huggingface.co/datasets/NAME (names as the cards have them, without owner).
A column is written as `rows` reads it: `text` and `long` (words, sentences), `int`, `float`, `bool`, `id`, `words:a,b` (one of
these strings), `class:a,b` or `class:10` (a number with names), `image:28x28` or `image:32x32x3`, `tokens`,
`tags:O,B-PER` (one class for each token), `answers` (squad's), `translation:de,en`, `chat`, `numbers` (a list of them),
`ones` (of the same length).
"""

from __future__ import annotations

from typing import NamedTuple

NER = "tags:O,B-PER,I-PER,B-ORG,I-ORG,B-LOC,I-LOC,B-MISC,I-MISC"
NLI = "class:entailment,neutral,contradiction"
PARTS = ("train", "validation", "test")
DIGITS = "class:0,1,2,3,4,5,6,7,8,9"
CLOTHES = "class:T - shirt / top,Trouser,Pullover,Dress,Coat,Sandal,Shirt,Sneaker,Bag,Ankle boot"
OBJECTS = "class:airplane,automobile,bird,cat,deer,dog,frog,horse,ship,truck"
FEELINGS = "class:sadness,joy,love,anger,fear,surprise"
WNUT = (
    "tags:O,B-corporation,I-corporation,B-creative-work,I-creative-work,B-group,I-group,B-location,I-location,B-person,"
    "I-person,B-product,I-product"
)


class Known(NamedTuple):
    """A data set: its columns as `name=kind name=kind`, and its splits."""

    columns: str
    splits: tuple[str, ...] = PARTS


CONLL = Known(f"id=id tokens=tokens pos_tags=tags:47 chunk_tags=tags:23 ner_tags={NER}")
SQUAD = Known("id=id title=text context=long question=text answers=answers", ("train", "validation"))
WIKITEXT = Known("text=long")
TRANSLATION = Known("translation=translation:de,en")
BOOKS = Known("id=id translation=translation:en,fr", ("train",))
TRAIN_TEST = ("train", "test")
MATCHED = ("train", "validation_matched", "validation_mismatched", "test_matched", "test_mismatched")

# Name, or name/configuration → what it is; the configuration is looked for first.
KNOWN: dict[str, Known] = {
    # --- pairs and sentences ---
    "glue/cola": Known("sentence=text label=class:unacceptable,acceptable idx=int"),
    "glue/sst2": Known("sentence=text label=class:negative,positive idx=int"),
    "glue/mrpc": Known("sentence1=text sentence2=text label=class:not_equivalent,equivalent idx=int"),
    "glue/qqp": Known("question1=text question2=text label=class:not_duplicate,duplicate idx=int"),
    "glue/stsb": Known("sentence1=text sentence2=text label=float idx=int"),
    "glue/mnli": Known(f"premise=text hypothesis=text label={NLI} idx=int", MATCHED),
    "glue/qnli": Known("question=text sentence=text label=class:entailment,not_entailment idx=int"),
    "glue/rte": Known("sentence1=text sentence2=text label=class:entailment,not_entailment idx=int"),
    "glue/wnli": Known("sentence1=text sentence2=text label=class:not_entailment,entailment idx=int"),
    "super_glue/boolq": Known("question=text passage=long idx=int label=class:False,True"),
    "super_glue/cb": Known("premise=text hypothesis=text idx=int label=class:entailment,contradiction,neutral"),
    "super_glue/copa": Known(
        "premise=text choice1=text choice2=text question=words:cause,effect idx=int label=class:choice1,choice2"
    ),
    "super_glue/rte": Known("premise=text hypothesis=text idx=int label=class:entailment,not_entailment"),
    "snli": Known(f"premise=text hypothesis=text label={NLI}", ("test", "train", "validation")),
    "multi_nli": Known(f"premise=text hypothesis=text genre=text label={NLI}", MATCHED[:3]),
    "xnli": Known(f"premise=text hypothesis=text label={NLI}"),
    "boolq": Known("question=text answer=bool passage=long", ("train", "validation")),
    # --- texts and their classes ---
    "imdb": Known("text=long label=class:neg,pos", ("train", "test", "unsupervised")),
    "rotten_tomatoes": Known("text=text label=class:neg,pos"),
    "sst2": Known("idx=int sentence=text label=class:negative,positive"),
    "ag_news": Known("text=text label=class:World,Sports,Business,Sci/Tech", TRAIN_TEST),
    "yelp_polarity": Known("text=long label=class:1,2", TRAIN_TEST),
    "yelp_review_full": Known("label=class:1 star,2 star,3 stars,4 stars,5 stars text=long", TRAIN_TEST),
    "amazon_polarity": Known("label=class:negative,positive title=text content=long", TRAIN_TEST),
    "dbpedia_14": Known("label=class:14 title=text content=text", TRAIN_TEST),
    "emotion": Known(f"text=text label={FEELINGS}"),
    "trec": Known("text=text coarse_label=class:ABBR,ENTY,DESC,HUM,LOC,NUM fine_label=class:50", TRAIN_TEST),
    "banking77": Known("text=text label=class:77", TRAIN_TEST),
    "tweet_eval/sentiment": Known("text=text label=class:negative,neutral,positive"),
    "tweet_eval/emotion": Known("text=text label=class:anger,joy,optimism,sadness"),
    "tweet_eval/emoji": Known("text=text label=class:20"),
    "tweet_eval/hate": Known("text=text label=class:non-hate,hate"),
    "tweet_eval/irony": Known("text=text label=class:non_irony,irony"),
    "tweet_eval/offensive": Known("text=text label=class:non-offensive,offensive"),
    "sms_spam": Known("sms=text label=class:ham,spam", ("train",)),
    "financial_phrasebank": Known("sentence=text label=class:negative,neutral,positive", ("train",)),
    # --- plain text ---
    "wikitext": WIKITEXT,
    "ptb_text_only": Known("sentence=text"),
    "bookcorpus": Known("text=text", ("train",)),
    "openwebtext": Known("text=long", ("train",)),
    "tiny_shakespeare": Known("text=long"),
    "TinyStories": Known("text=long", ("train", "validation")),
    "wikipedia": Known("id=id url=text title=text text=long", ("train",)),
    "c4": Known("text=long timestamp=text url=text", ("train", "validation")),
    "fineweb": Known("text=long id=id", ("train",)),
    "fineweb-edu": Known("text=long id=id", ("train",)),
    # --- questions, tokens, summaries, translations ---
    "squad": SQUAD,
    "squad_v2": SQUAD,
    "swag": Known(
        "video-id=id startphrase=text sent1=text sent2=text ending0=text ending1=text ending2=text ending3=text label=class:4"
    ),
    "gsm8k": Known("question=text answer=text", TRAIN_TEST),
    "conll2003": CONLL,
    "conllpp": CONLL,
    "wnut_17": Known(f"id=id tokens=tokens ner_tags={WNUT}"),
    "cnn_dailymail": Known("article=long highlights=text id=id"),
    "xsum": Known("document=long summary=text id=id"),
    "samsum": Known("id=id dialogue=long summary=text"),
    "billsum": Known("text=long summary=text title=text", ("train", "test", "ca_test")),
    "multi_news": Known("document=long summary=text"),
    "wmt14": TRANSLATION,
    "wmt16": TRANSLATION,
    "wmt19": TRANSLATION,
    "opus100": TRANSLATION,
    "iwslt2017": TRANSLATION,
    "opus_books": BOOKS,
    "kde4": BOOKS,
    "multi30k": Known("en=text de=text"),
    # --- instructions ---
    "alpaca": Known("instruction=text input=text output=text text=long", ("train",)),
    "alpaca-cleaned": Known("output=text input=text instruction=text", ("train",)),
    "databricks-dolly-15k": Known("instruction=text context=long response=text category=text", ("train",)),
    "openassistant-guanaco": Known("text=long", TRAIN_TEST),
    "hh-rlhf": Known("chosen=long rejected=long", TRAIN_TEST),
    # --- pictures ---
    "mnist": Known(f"image=image:28x28 label={DIGITS}", TRAIN_TEST),
    "fashion_mnist": Known(f"image=image:28x28 label={CLOTHES}", TRAIN_TEST),
    "cifar10": Known(f"img=image:32x32x3 label={OBJECTS}", TRAIN_TEST),
    "cifar100": Known("img=image:32x32x3 fine_label=class:100 coarse_label=class:20", TRAIN_TEST),
    "beans": Known("image_file_path=text image=image:500x500x3 labels=class:angular_leaf_spot,bean_rust,healthy"),
    "food101": Known("image=image:512x512x3 label=class:101", ("train", "validation")),
    "cats_vs_dogs": Known("image=image:400x400x3 labels=class:cat,dog", ("train",)),
    "imagenet-1k": Known("image=image:400x400x3 label=class:1000"),
    "tiny-imagenet": Known("image=image:64x64x3 label=class:200", ("train", "valid")),
    "svhn": Known(f"image=image:32x32x3 label={DIGITS}", TRAIN_TEST),
    "pokemon-blip-captions": Known("image=image:512x512x3 text=text", ("train",)),
}
# Owners whose sets of these names are others, with columns of their own.
OTHERS = frozenset({"setfit", "mteb", "tner", "uitnlp"})


def known(name: str, configuration: str | None) -> Known | None:
    """What is known of the data set that scripts load as `name`; None for one that is not well known."""
    owner, _, last = name.rpartition("/")
    if owner.lower() in OTHERS:
        return None
    found = KNOWN.get(f"{last}/{configuration}") or KNOWN.get(last)
    if found is not None and configuration and found.columns.count("translation:") and "-" in configuration:
        first, _, second = configuration.rpartition("-")
        before, _, _ = found.columns.partition("translation:")
        found = found._replace(columns=f"{before}translation:{first.rpartition('-')[2]},{second}")
    return found
