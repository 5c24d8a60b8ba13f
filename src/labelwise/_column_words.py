"""What columns beside the classes are called, in files and in data frames: ids, labels, folds,
confidences.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

ROLES = {
    "y_true": ("y_true", "label", "labels", "target"),
    "groups": ("group", "groups"),
    "member": ("member", "model"),
    "answer": ("answer", "response", "prediction", "pred", "choice", "y_pred"),
    "further": ("prompt", "template", "seed", "fold", "temperature"),
}
"""What a column may hold besides ids and the numbers of a class, and what it may be called; the
first name that is there counts.
"""
CERTAIN = ("y_true", "id", "ids")  # never classes, whatever they hold
INDEX = ("index", "__index_level_0__", "unnamed: 0", "")  # the row numbers that pandas writes
_ID = re.compile(
    r"""(.*[_\-.\s:/])? (id|ids|uid|uuid|guid)                      # image_id, Patient ID
    | (image|img|patient|case|sample|file|doc|document|subject|study|scan|slide|item|row|record
      |question|example|instance) [_\-\s]? (id|ids|name|path|number|no|key)?  # imageid, filename
    | path | name | key | url | uri | accession | md5 | sha256 | hash""",
    re.IGNORECASE | re.VERBOSE,
)
_CAMEL_CASE_ID = re.compile(r".*[a-z](Id|ID)s?")  # imageId
_NO_CLASS = re.compile(
    r"""fold|split|seed|run|repeat|replicate|trial|epoch|step|checkpoint|temperature|batch|part|rank
    |row|row_?number|confidence|conf|score|certainty|uncertainty|entropy|margin|variance|std|loss
    |nll|energy|msp|max_?prob(ability)?|pred|preds|prediction|predicted|y_?pred|y_?hat
    |predicted_?(class|label)|pred_?(class|label)|argmax|correct|is_?correct|top_?1|epistemic
    |aleatoric|total|mutual_?information|age|weight|time|timestamp|date|year|duration|latency""",
    re.IGNORECASE | re.VERBOSE,
)


def column_word(name: str) -> str:
    """The name of a column as it is compared."""
    return name.strip().lower()


def column_in_words(name: str) -> str:
    """What to call a column in a message.

    >>> column_in_words("case"), column_in_words("")
    ('`case`', 'the column without a name')
    """
    if name.strip():
        return f"`{name}`"
    return "the column without a name"


def columns_called(names: Sequence[str], role: str) -> list[str]:
    """The columns that are called like labels, groups or members, best first.

    >>> columns_called(["id", "Target", "label"], "y_true")
    ['label', 'Target']
    """
    by_word = {column_word(name): name for name in reversed(names)}
    return [by_word[word] for word in ROLES[role] if word in by_word]


def is_called_id(name: str) -> bool:
    """Whether a column is called like an id.

    >>> is_called_id("image_id"), is_called_id("Patient"), is_called_id("cat")
    (True, True, False)
    """
    return bool(_ID.fullmatch(name.strip()) or _CAMEL_CASE_ID.fullmatch(name.strip()))


def id_rank(name: str) -> int:
    """How much a column is called like an id: 0 for `id`, 1 for other ids and the row numbers of
    pandas, else 2.

    >>> list(map(id_rank, ["id", "image_id", "index", "cat"]))
    [0, 1, 1, 2]
    """
    if column_word(name) in ("id", "ids"):
        return 0
    return 1 if column_word(name) in INDEX or is_called_id(name) else 2


def is_called_measurement(name: str) -> bool:
    """Whether a column is called like a number that is often stored beside the probabilities of the
    classes, such as a fold or a confidence.
    """
    return _NO_CLASS.fullmatch(name.strip()) is not None


def may_be_no_class(name: str, *, whole: bool) -> bool:
    """Whether a column of numbers is called like something else; ``whole``: it holds only whole
    numbers. A class called "target" has probabilities.

    >>> may_be_no_class("target", whole=True), may_be_no_class("target", whole=False)
    (True, False)
    """
    word = column_word(name)
    if word in CERTAIN or is_called_measurement(name):
        return True
    has_role = word in INDEX or any(word in words for words in ROLES.values())
    return whole and (has_role or is_called_id(name))
