"""What the numbers in the evidence of each rule have to be for the verdict that they stand beside.

A template is a claim with `{}` for each number in it, `{…}` for any words, and `?` after a plural's `s`. The functions are
given these numbers; `NEVER` stands where the claim contradicts the verdict.
"""

from __future__ import annotations

import math
import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from torch_doctor.rule import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch_doctor.rule import Finding

NUMBER = r"(-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?|-?inf|nan)"
NEAR_ONE = 0.01


class Claim(NamedTuple):
    """A claim, and whether its numbers show what is confirmed, or what is refuted."""

    template: str
    confirms: Callable[..., bool]
    refutes: Callable[..., bool]


def never(*_: float) -> bool:
    """The claim contradicts the verdict."""
    return False


def always(*_: float) -> bool:
    """Whatever the numbers are."""
    return True


def some(number: float, *_: float) -> bool:
    """The first number is more than nothing."""
    return number > 0


def none(number: float, *_: float) -> bool:
    """The first number is nothing."""
    return number == 0


def several(number: float, *_: float) -> bool:
    """The first number is more than one."""
    return number > 1


def some_left(rows: float, batch: float, left: float) -> bool:
    """So many rows are left out, and there are any."""
    return left == rows % batch > 0


def none_left(rows: float, batch: float, left: float) -> bool:
    """No row is left out."""
    return left == rows % batch == 0


def all_of(number: float, total: float, *_: float) -> bool:
    """The first number is the second, which is not nothing."""
    return 0 < number == total


def not_all_of(number: float, total: float, *_: float) -> bool:
    """The first number is less than the second."""
    return number < total


def differ(first: float, second: float, *_: float) -> bool:
    """Two numbers are not the same."""
    return first != second


def lies_in_unit(low: float, high: float) -> bool:
    """Two numbers that probabilities may be."""
    return 0 <= low <= high <= 1


HAD_GRADIENTS = "{} of {} parameter tensors? have a gradient at the {…}step{…}"
TWICE = Claim("the same batch gave {} and {}", differ, never)
BETWEEN = "the values lay between {} and {}"
RAISED = [Claim("torch raised: {…}", always, never)]
GRAPHS = [
    Claim("{} graphs? alive after {} steps?{…}", several, never),
    Claim("of {} graphs? stored, {} (?:is|are) alive one iteration later", lambda kept, alive: 0 < alive < kept, never),
    Claim("of {} graphs? stored, none is alive one iteration later", never, some),
    Claim("stored {} times?, never with a graph", never, some),
]
CONTAINED = [
    Claim("the optimizer gets none of them: {…}", always, never),
    Claim("{} of {} layers?, {} parameters?, are in no parameter group", some, never),
    Claim("{} of {} layers? are in no parameter group", some, never),
    Claim("{} parameters? are in no parameter group", some, never),
    Claim("it holds {} (?:layer|parameter)s?, registered in no module", some, always),
    Claim("it holds {} (?:layer|parameter)s?, registered in another module", never, always),
]
ON_CPU = Claim("{} values? on the CPU, the others on `cuda:0`: {…}", some, never)
RANKS = [
    Claim("the gradient of {…} differs between processes by {} after backward", some, never),
    Claim("{…} step with the same gradients, although their losses differ", never, always),
]
CLAIMS: dict[str, list[Claim]] = {
    "TDR101": [
        Claim("the gradient at step {} is {} × this batch's own gradient", lambda step, _: step > 1, never),
        Claim("{} backward pass(?:es)? found no old gradient", never, some),
    ],
    "TDR102": [Claim(HAD_GRADIENTS, none, some)],
    "TDR103": [Claim(HAD_GRADIENTS, none, some)],
    "TDR104": [
        Claim(
            "{} backward pass(?:es)?, {} steps? of the optimizer",
            lambda passes, steps: passes > 1 and not steps,
            lambda passes, steps: passes > 0 and steps > 0,
        )
    ],
    "TDR105": [Claim("{} of the first {} steps? had a gradient to apply", not_all_of, some)],
    "TDR106": [
        Claim("one step applies the sum of {} micro-batch(?:es)?", several, always),
        Claim("{} of {} loss(?:es)? are divided or weighted before `backward\\(\\)`", not_all_of, all_of),
    ],
    "TDR107": [
        Claim("one step applies {} batch(?:es)?", several, always),
        Claim("the loader gives {} batch(?:es)?: {} are left over", lambda _, left: left > 0, lambda _, left: not left),
    ],
    "TDR108": [
        Claim("{} of {} calls? come between a backward pass and its step", not_all_of, all_of),
        Claim("{} of {} calls? got one parameter tensor", some, none),
    ],
    "TDR109": [Claim("{} of {} calls? follow the scaler's protocol", not_all_of, all_of)],
    "TDR110": [Claim("the optimizer had stepped {} times? before the scheduler did", none, some)],
    "TDR111": [
        Claim("the line ran {} times? and called nothing", some, never),
        Claim("the line ran {} times?, and the name is not such a method", never, some),
    ],
    "TDR112": [Claim("{} of {} evaluation batch(?:es)? update the model", some, none)],
    "TDR113": [
        Claim("{} of {} training batches run with autograd disabled", some, none),
        Claim(
            "{} calls? with autograd disabled, and {} steps? without a gradient",
            lambda calls, steps: calls > 0 and steps > 0,
            never,
        ),
    ],
    "TDR114": [Claim("{} of {} modules? with gradients are in no optimizer that steps there", some, always)],
    "TDR115": [
        Claim("{} of {} backward pass(?:es)? reach no parameter", some, none),
        Claim("`backward\\(\\)` raises an error: the loss has no graph", always, never),
        Claim("{} of {} backward pass(?:es)? gave it a gradient", none, some),
    ],
    "TDR127": [
        Claim("it has {} values? and no gradient in {} backward pass(?:es)?", lambda values, _: values > 1, never),
        Claim("it reaches no parameter that is stepped in {} backward pass(?:es)?", some, never),
    ],
    "TDR116": [
        Claim("`backward\\(\\)` raises an error for a loss of {} values?", lambda numbers: numbers != 1, never),
        Claim("{} backward pass(?:es)? succeeded", never, some),
    ],
    "TDR117": [
        Claim("set {} times?, but `requires_grad` did not change", some, never),
        Claim("set {} times?, on an object that reads it", never, some),
    ],
    "TDR118": [Claim("{} parameters? without a gradient in {} backward pass(?:es)?", some, never)],
    "TDR119": [
        Claim("{} of {} parameter tensors? changed in {} steps?", not_all_of, never),
        Claim(
            "`backward\\(\\)` raises an error: {} parameters? in {} tensors?, all frozen",
            lambda *counts: all(counts),
            never,
        ),
    ],
    "TDR120": [Claim("{…} first seen in the {…} after {} optimizer steps?", always, never)],
    "TDR121": [
        Claim(
            "the gradient norm grows from {} to {} in {} backward passes", lambda first, last, _: last > first, never
        ),
        Claim(
            "the first layers' gradient norm is at most {} of the last layer's in {} backward passes",
            lambda most, _: most < NEAR_ONE,
            never,
        ),
    ],
    "TDR122": [
        Claim("created {} times?, for {} sets? of parameters", lambda built, sets: built > sets, always),
        Claim("created {} times?", several, always),
    ],
    "TDR124": [
        Claim("it returned {} gradients? for {} inputs?", differ, never),
        Claim("`backward` and finite differences of `forward` give {} and {}", differ, never),
        Claim("{} calls? on a copy stayed in memory after the results were discarded", some, never),
        Claim("{} gradients? compared: none is wrong", never, some),
    ],
    "TDR123": [
        Claim("it steps {…} and gets the score {} {…}", always, always),
        Claim("it steps {…}, an epoch has {} batch(?:es)?, and the schedule has {} steps?", several, always),
    ],
    "TDR125": [
        Claim("{} of {} frozen batch norms? changed in one forward pass, but no frozen weight", some, none),
        Claim("{} of {} frozen tensors? changed in {} steps?", some, none),
    ],
    "TDR126": [
        Claim(
            "{} of {} adapter tensors? and {} of {} others changed",
            lambda own, all_own, base, _: base > 0 or own < all_own,
            lambda own, _, base, __: own > 0 == base,
        ),
        Claim("`backward\\(\\)` raises an error: the loss depends on no weight of the model", always, never),
    ],
    "TDR129": [Claim("the optimizer steps {} of {} parameters? of `{…}`", some, none)],
    "TDR128": [
        Claim("{} batch(?:es)? with a backward pass, {} steps?", always, lambda _, steps: steps > 0),
        Claim("the gradients of {} batch(?:es)? are cleared before any step", some, always),
        Claim("{} steps? apply gradients that an earlier step has applied", some, always),
    ],
    "TDR131": [
        Claim("in {} of {} calls?, the result differs from `{…}`: {…}", some, never),
        Claim("the result equals `{…}` in {} calls?", never, some),
    ],
    "TDR130": [
        Claim("{} frozen parameter tensors? thawed before the next call", some, never),
        Claim("{} batch norm layers? in training mode in the next batch", some, never),
    ],
    "TDR132": [
        Claim("the optimizer took {} steps?, the scheduler none", some, never),
        Claim("the optimizer took {} steps?, the scheduler {}", never, lambda _, steps: steps > 0),
        Claim("the learning rate stayed at {}", always, never),
    ],
    "TDR133": [Claim("gradients reach {} parameters? through the target", some, none)],
    "TDR201": [Claim("{} of {} loss calls got {…}", some, none), Claim(BETWEEN, lies_in_unit, always)],
    "TDR202": [Claim("{} of {} loss calls got {…}", some, none), Claim(BETWEEN, lambda _, high: high <= 0, always)],
    "TDR203": [Claim("{} of {} loss calls got {…}", some, none), Claim(BETWEEN, always, lambda _, high: high <= 0)],
    "TDR204": [Claim("{} of {} loss calls got {…}", some, none), Claim(BETWEEN, lies_in_unit, always)],
    "TDR205": [Claim("{} of {} loss calls got {…}", some, none), Claim(BETWEEN, always, lies_in_unit)],
    "TDR206": [
        Claim("the input {…} is compared with a {…} target {…} in {} of {} loss calls", some, none),
        Claim("the targets are whole numbers up to {}", always, always),
    ],
    "TDR207": [
        Claim("{} samples? of a batch have several classes", some, never),
        Claim("the loss gets {…} targets {…} for predictions {…}", always, always),
        *RAISED,
    ],
    "TDR208": [Claim("{} of {} loss calls got data in place of the prediction", some, none), *RAISED],
    "TDR209": [Claim("its constructor gets {} tensors? in place of settings", some, always)],
    "TDR210": [Claim("the smallest argument of the logarithm is {}", always, always)],
    "TDR211": [
        Claim("{} of {} calls got no log-probabilities, or averaged over all elements", some, none),
    ],
    "TDR213": [
        Claim("the loss gets {…}", always, always),
        Claim("softmax over a dimension of size {} of {…}", lambda size: size == 1, lambda size: size != 1),
    ],
    "TDR214": [
        Claim("{…} and {…}, which match, were compared {} times?", never, some),
        Claim("{…} and {…} were compared {} times?", some, never),
        Claim("{} operations? on tensors with the same number of dimensions", never, some),
    ],
    "TDR215": [Claim("the statement raises {…}", always, never), Claim("the loss was computed {} times?", never, some)],
    "TDR216": [
        Claim("{} rows were added to {} samples, each to {} at once", several, never),
        Claim("{} rows were added to {} steps, each to {} at once", never, several),
        Claim("it reduces {} elements in dimension {} of {…}", always, always),
        Claim(
            "the probabilities of a sample sum to between {} and {}",
            lambda low, high: max(abs(low - 1), abs(high - 1)) > NEAR_ONE,
            lambda low, high: max(abs(low - 1), abs(high - 1)) < NEAR_ONE,
        ),
    ],
    "TDR217": [
        Claim("{} of {} targets are padding", some, some),
        Claim("{} of {} positions are padding", some, some),
        Claim("predictions differ from them by {} on average", lambda apart: apart > 0, lambda apart: apart == 0),
        Claim("the loss is {} with them, {} without them", lambda before, after: before != after, never),
        Claim("the loss is {} with and without them", never, always),
    ],
    "TDR218": [
        Claim("{} of {} targets are the input tokens at the same positions", all_of, never),
        Claim("{} of {} targets are the input tokens two positions later", all_of, never),
        Claim("{} of {} targets are the input tokens one position later", never, all_of),
        Claim("the loss is {}; for the next tokens it is {}", always, never),
    ],
    "TDR220": [
        Claim(
            "the weights that are summed up add up to between {} and {}",
            lambda low, high: max(abs(low - 1), abs(high - 1)) > NEAR_ONE,
            lambda low, high: max(abs(low - 1), abs(high - 1)) <= NEAR_ONE,
        )
    ],
    "TDR219": [
        Claim(
            "the derivative of {…} at {} is {}; {} of {} values were {}",
            lambda _, slope, count, *__: count > 0 and not math.isfinite(slope),
            never,
        ),
        Claim("a row was masked completely, and its (?:log_)?softmax is nan", always, never),
        Claim("{…} got one element for each result and is {}", math.isnan, never),
        Claim(
            "the derivative of {…} at {} is {}; its operand can get there",
            lambda _, slope: not math.isfinite(slope),
            never,
        ),
    ],
    "TDR221": [
        Claim(
            "it reduces {} samples with {} elements each to one number",
            lambda samples, each: samples > 1 and each > 1,
            lambda samples, each: samples <= 1 or each <= 1,
        )
    ],
    "TDR301": CONTAINED,
    "TDR302": [
        Claim("created {} times?, and the base class was initialized before the first layer", never, some),
        Claim("the construction raises {…}", always, never),
        Claim("the call raises {…}", always, never),
    ],
    "TDR303": [
        Claim("{} elements? used in `forward`, but missing from `state_dict\\(\\)`", some, never),
        Claim("{} elements? of it registered when the module ran", never, some),
        Claim("no operation in `forward` uses any of its {} elements?", never, some),
    ],
    "TDR304": [
        Claim("created {} times? in forward passes, with {} parameters that {…}", some, never),
        Claim("{} layers? created here became part of the model", never, some),
    ],
    "TDR305": [
        Claim("called directly {} times?, skipping {} hooks?", lambda times, hooks: times > 0 and hooks > 0, never),
        Claim("called directly {} times?, without hooks to skip", never, some),
        Claim("called directly {} times?, inside the call of a module", never, some),
        Claim("called {} times?, where calling the object itself makes no difference", never, some),
    ],
    "TDR306": [
        Claim("in evaluation mode it set {} of {} elements? to zero", some, never),
        Claim("in evaluation mode it drops with probability {}", lambda rate: rate > 0, never),
        Claim("{} evaluations? of its module did not reach this line", never, some),
    ],
    "TDR307": [Claim("{} elements? of `{…}` missing from `parameters\\(\\)` on a GPU", some, never)],
    "TDR308": CONTAINED,
    "TDR309": [
        Claim(
            "its {} units? are identical after {} optimizer steps?", lambda units, steps: units > 1 and steps > 0, never
        ),
        Claim("its units differ after {} optimizer steps?", never, some),
    ],
    "TDR310": [
        Claim("it ran in {} calls? of {…}", never, some),
        Claim("it ran in none of {} calls? of {…}", some, never),
    ],
    "TDR311": [
        Claim(
            "{} entries are the same object: {} parameters? instead of {}",
            lambda times, few, all_: times > 1 and few < all_,
            never,
        )
    ],
    "TDR312": [Claim("{} of {} units? are zero in all {} samples of {} batches", some, never)],
    "TDR313": [Claim("{} samples? of {} batch(?:es)? got the same output", several, never)],
    "TDR314": [
        Claim("it requires {} arguments? that torch does not pass", some, never),
        Claim("{} backward pass(?:es)? ran in it", some, never),
        Claim("it sets the mode of 0 modules", always, never),
    ],
    "TDR315": [
        Claim("with one sample replaced, {} of {} other samples? changed", some, none),
        Claim("with the samples reversed, {} of {} outputs were those of other samples", some, none),
    ],
    "TDR318": [Claim("with one sample replaced, {} of {} other samples? changed", some, none)],
    "TDR321": [
        Claim("{} positions attend to only later ones", some, never),
        Claim("{} positions attend to no later ones", never, some),
        Claim("attention gets only token {…}, and none of {} others?", some, never),
        Claim("attention gets {} tokens?, and leaves out only token {…}", never, some),
        Claim("the mask hides none of {} padded positions?", some, never),
    ],
    "TDR320": [Claim("{} of {} outputs? went on unchanged: {} → {} → {}", all_of, not_all_of)],
    "TDR319": [Claim("earlier outputs changed with a later element in {} of {} samples?", some, none)],
    "TDR317": [Claim("{} groups of dimensions in another order: {…}", some, none)],
    "TDR316": [Claim("other values in it changed the output in {} of {} tr(?:y|ies)", none, some)],
    "TDR401": [TWICE, Claim("{} of {} evaluation batches run in training mode", some, none)],
    "TDR402": [
        Claim("{} of {} evaluation batches record a graph", some, none),
        Claim("each stores {} {…} for a backward pass that never runs", some, never),
    ],
    "TDR403": [Claim("{} of {} training batches after the switch run in evaluation mode", some, none)],
    "TDR413": [
        Claim("{} figures? from {} to {} (?:is|are) compared, and none is kept", some, never),
        Claim("{} figures? from {} to {} (?:is|are) compared, and {} is kept at the end", several, some),
    ],
    "TDR415": [
        Claim("the next step starts from an average of {} versions? of the weights", some, never),
        Claim("the last step left the weights {} of their norm away", some, never),
        Claim("after an average of {} versions? of the weights, the next step starts from other weights", never, some),
    ],
    "TDR416": [
        Claim("{} batch norm layers? with statistics of the average", never, some),
        Claim("{} batch norm layers? with initial statistics", some, never),
        Claim("{} batch norm layers? with statistics of the trained model", some, never),
        Claim("the weights are an average of {} versions?", some, never),
    ],
    "TDR405": [
        Claim(
            "{} samples in batches of {}: the last one has {}",
            lambda _, batch, last: last != batch,
            lambda _, batch, last: last == batch,
        ),
        Claim(
            "perfect predictions score {}, with {} wrong in the first batch {}, in the last one {}",
            lambda perfect, _, first, last: len({perfect, first, last}) == 3,
            lambda perfect, _, first, last: perfect != first == last,
        ),
    ],
    "TDR406": [TWICE],
    "TDR407": [
        Claim("it was still {} when the next pass over the batches started", lambda before: before != 0, never),
        Claim("it was reset in {} later pass(?:es)?", never, some),
    ],
    "TDR408": [
        Claim(
            "the loader yields {} batch(?:es)?, of which one counts",
            lambda batches: batches > 1,
            lambda batches: batches == 1,
        )
    ],
    "TDR409": [
        Claim(
            "of perfect predictions, {}% equal the labels here", lambda share: share < 95, lambda share: share == 100
        ),
        Claim("a tensor of bool was compared with {}", lambda number: number >= 1, never),
        Claim("a tensor of (?:int|float)\\d+ was compared with {}", never, always),
        Claim(
            "the largest of {} in dimension {} of {…} is picked",
            lambda scores, _: scores == 1,
            lambda scores, _: scores > 1,
        ),
        Claim(
            "the largest in dimension {} of {…} is picked, and the loss takes another one for the classes",
            always,
            never,
        ),
        Claim("the largest in dimension {} of {…} is picked, and the loss takes it for the classes", never, always),
        Claim("{…} was compared with {…}, which matches, {} times?", never, some),
        Claim("{…} was compared with {…} {} times?", some, never),
    ],
    "TDR410": [
        Claim(
            "perfect predictions score {}, for {} samples in {} batches",
            lambda best, rows, batches: any(math.isclose(best / r, batches / rows, rel_tol=NEAR_ONE) for r in (1, 100)),
            lambda best, *_: best in (1, 100),
        ),
        Claim("a wrong prediction adds {}, for {} samples in {} batches", lambda added, *_: added > 0, always),
        Claim("the loader has {} batch(?:es)?, the last one has index {}", lambda many, last: last == many - 1, never),
        Claim("the loader draws {} of {} samples", lambda drawn, of: drawn < of, lambda drawn, of: drawn == of),
        Claim(
            "the loader has {} batch(?:es)?, the other loader {}",
            lambda one, other: one != other,
            lambda one, other: one == other,
        ),
        Claim("the loss is the mean over a batch of {}", lambda rows: rows > 1, lambda rows: rows == 1),
        Claim("the loss is the sum over a batch of {}", lambda rows: rows > 1, always),
    ],
    "TDR411": [
        Claim(
            "{} of {} labels are ignored", lambda ignored, of: 0 < ignored < of, lambda ignored, of: 0 < ignored < of
        ),
        Claim(
            "predictions that are correct for all others score {}",
            lambda score: score not in (1, 100),
            lambda score: score in (1, 100),
        ),
        Claim(
            "predictions that are correct for all others score {} or {}, depending on those for the ignored labels",
            lambda one, other: one != other,
            never,
        ),
    ],
    "TDR412": [
        Claim(
            "perfect predictions score {}, constant ones {}, shuffled ones {}, random ones {}",
            lambda perfect, *_: perfect not in (1, 100),
            lambda perfect, *others: perfect in (1, 100) and perfect > max(others),
        ),
    ],
    "TDR501": GRAPHS,
    "TDR502": GRAPHS,
    "TDR503": [Claim("{} graphs? retained, {} of them used again", lambda kept, again: again < kept, always)],
    "TDR504": [
        Claim("the graph of one loss goes back through {} batch(?:es)?", several, never),
        Claim("torch raises an error at batch {}: {…}", several, never),
    ],
    "TDR505": [
        Claim("logged with its graph in {} calls?", some, never),
        Claim("logged {} times?, never with a graph", never, some),
    ],
    "TDR506": [Claim("{} graphs? alive after {} steps?{…}", several, never)],
    "TDR601": [Claim("the file contains {} modules?{…}", some, none)],
    "TDR602": [Claim("{} optimizer steps? changed these tensors after they were stored", some, never)],
    "TDR605": [
        Claim("the file contains {} keys? {…}, but no state of the {…}", always, never),
        Claim("the file contains {} keys? {…}, including the state in question", never, always),
    ],
    "TDR606": [
        Claim("the model has none of the {} keys?", some, never),
        Claim("`load_state_dict` got a string", always, never),
        Claim("`load_state_dict` returned a {…}", always, never),
    ],
    "TDR607": [TWICE, Claim("{} of {} evaluation batches run in training mode", some, none)],
    "TDR608": [Claim("after loading, outputs for the same input differ by up to {}", some, never)],
    "TDR609": [
        Claim("`torch.load` rejects the file: {…}", always, never),
        Claim("the file was loaded and contains no such object", never, always),
    ],
    "TDR610": [Claim("the folder {…} does not exist when the script writes to it", always, never)],
    "TDR701": [
        Claim("{} batch(?:es)? taken in stored order", several, never),
        Claim("{} batch(?:es)? taken in random order", never, some),
    ],
    "TDR703": [Claim("{} workers?{…}, memory {…}", always, always)],
    "TDR704": [Claim("a random sample is identical in two workers with different seeds", always, never)],
    "TDR705": [
        Claim("{} tensors? moved to the GPU for a loader with {} workers?", some, never),
        Claim("{} tensors? read from the GPU by a loader with {} workers?", some, never),
    ],
    "TDR706": [Claim("{} samples? of the first few changed when reread", some, none)],
    "TDR708": [Claim("evaluated {} batch(?:es)? of samples that are also trained on", some, never)],
    "TDR709": [
        Claim("{} of {} values? of the tensor had changed when it was used", some, never),
        Claim(
            "{} of {} rounds of reads changed what a copy of the dataset stores",
            lambda changed, of: changed == of,
            lambda changed, _: changed == 0,
        ),
    ],
    "TDR710": [
        Claim("{} calls? to `set_epoch` in {} pass(?:es)? over the loader", not_all_of, some),
        Claim("epochs 1 and 2 have the same order of {} samples? in {…}", always, never),
        Claim("{…} read the same {} samples? in epoch 1", always, always),
    ],
    "TDR711": [Claim("the first layer gets whole numbers up to {}", several, never)],
    "TDR715": [
        Claim("{…} root mean square of {}", always, never),
        Claim(
            "loss of a copy, where a constant prediction has 1: {} after {} steps, standardized {} after {}",
            lambda raw, longer, standardized, steps: (
                raw >= 0.8 >= standardized and standardized <= raw / 2 and longer >= 4 * steps
            ),
            never,
        ),
    ],
    "TDR712": [
        Claim("{} batch(?:es)? evaluated, an incomplete last one dropped", always, never),
        Claim("{} samples? in batches of {}: {} of them are dropped", some_left, none_left),
        Claim("{} batch(?:es)? evaluated, an incomplete last one kept", never, some),
    ],
    "TDR713": [
        Claim(
            "mean {} and standard deviation {} in training, {} and {} in evaluation",
            lambda mean, std, its, spread: (
                abs(mean - its) > 0.2 * max(std, spread) or max(std, spread) > 1.3 * min(std, spread)
            ),
            lambda mean, std, its, spread: (
                abs(mean - its) < 0.1 * max(std, spread) and max(std, spread) < 1.1 * min(std, spread)
            ),
        ),
        Claim(
            "the channel means are {}, {} and {} in training, {}, {} and {} in evaluation",
            lambda *means: math.dist(means[:3], means[:2:-1]) < math.dist(means[:3], means[3:]),
            lambda *means: math.dist(means[:3], means[:2:-1]) > math.dist(means[:3], means[3:]),
        ),
    ],
    "TDR714": [
        Claim("other values in {} positions? of padding change an output from {} to {}", some, never),
        Claim("other values in {} positions? of padding change no output", never, some),
    ],
    "TDR716": [
        Claim(
            "in {} images?, changing one channel at the read changes that channel of the model's input, and no other",
            some,
            never,
        )
    ],
    "TDR717": [Claim("{} classes have another number than in training", some, none)],
    "TDR718": [
        Claim("{} of {} evaluated windows contain consecutive numbers of training windows", some, never),
        Claim("{} of {} evaluated samples were made of the same row as a training sample", some, never),
    ],
    "TDR801": [ON_CPU],
    "TDR802": [ON_CPU, Claim("all tensors were on the GPU in {} calls?, {} in each", never, some)],
    "TDR803": [
        Claim("the moved object was not a tensor in {} calls?", never, some),
        Claim("the tensor was already on the GPU in {} calls?", never, some),
        Claim("{} values? of `{…}` stay on the CPU after the move to `{…}`", some, never),
        Claim("using the tensor fails on a GPU: {…}", always, never),
    ],
    "TDR804": [Claim("{} optimizers? created before the move", some, none)],
    "TDR805": [Claim("{} of {} backward pass(?:es)? are scaled", not_all_of, all_of)],
    "TDR806": [Claim("{} of {} calls? run with autocast enabled", some, none)],
    "TDR809": [Claim("{} processes write {…}", several, never), Claim("1 process writes {…}", never, always)],
    "TDR810": [Claim("{} values? differs? between CPU and GPU, by up to {}, where {} is allowed", some, never)],
    "TDR811": [Claim("{} of {} forwards? bypassed the wrapper", some, none), *RANKS],
    "TDR812": [Claim("{} of {} moves? came after the model was wrapped", some, none), *RANKS],
    "TDR816": [
        Claim("the forward fails after {} steps?: {…}", some, never),
        Claim("{} parameters? got no gradient", some, never),
        Claim("no gradient was missing in {} steps? with the wrapper", never, several),
    ],
    "TDR818": [
        Claim("it raises: {…}", always, never),
        Claim("converted {} tensors? on the CPU that did not require grad", never, some),
    ],
    "TDR814": RANKS,
    "TDR901": [
        Claim("{} steps? taken, but nothing was seeded", some, never),
        Claim("`{…}` is called", never, always),
    ],
    "TDR903": [Claim("enabled in {} of {} backward pass(?:es)?", some, none)],
    "TDR905": [Claim("read {} times? in the executed steps", some, none)],
}


def contradictions(finding: Finding) -> Iterator[str]:
    """What speaks against the verdict in the evidence of a finding, and evidence of which nothing is known here."""
    if finding.verdict not in {Verdict.CONFIRMED, Verdict.REFUTED}:
        return
    for evidence in finding.evidence:
        found = [
            (claim, said)
            for claim in CLAIMS[finding.code]
            if (said := pattern(claim.template).fullmatch(evidence.claim))
        ]
        if not found:
            yield f"nothing says what this claim of {finding.code} shows: {evidence.claim!r}"
        for claim, said in found[:1]:
            shows: Any = claim.confirms if finding.verdict is Verdict.CONFIRMED else claim.refutes
            if not shows(*(float(number.replace(",", "")) for number in said.groups())):
                yield f"{finding.code} is {finding.verdict.value}, but {evidence.claim!r}"


@cache
def pattern(template: str) -> re.Pattern[str]:
    """What matches the claims of a template."""
    return re.compile(template.replace("{}", NUMBER).replace("{…}", ".*?"))
