"""What columns of numbers beside the classes are called, in files and in data frames: ids, labels,
folds, confidences.
"""

from __future__ import annotations

import re
from collections.abc import Callable

ROLES = {
    "y_true": ("y_true", "label", "labels", "target"),
    "groups": ("group", "groups"),
    "member": ("member", "model"),
}
"""What a column may hold besides ids and the numbers of a class, and what it may be called; the
first name that is there counts.
"""
CERTAIN = ("y_true", "id", "ids")  # never classes, whatever they hold
INDEX = ("index", "__index_level_0__", "unnamed: 0", "")  # the row numbers that pandas writes
ID_WORD = re.compile(
    r"""(?: (.*[_\-.\s:/])? (id|ids|uid|uuid|guid)                                   # image_id, Patient ID
        | (image|img|patient|case|sample|file|doc|document|subject|study|scan|slide|item|row|record|question|example|instance)[_\-\s]?
          (id|ids|name|path|number|no|key)?                                          # imageid, filename, patient
        | path | name | key | url | uri | accession | md5 | sha256 | hash )""",  # noqa: E501
    re.IGNORECASE | re.VERBOSE,
)
# Numbers that are often stored beside the probabilities of the classes.
NOT_A_CLASS = re.compile(
    r"""(fold|split|seed|run|repeat|replicate|trial|epoch|step|checkpoint|temperature|batch|part|rank|row|row_?number
        |confidence|conf|score|certainty|uncertainty|entropy|margin|variance|std|loss|nll|energy|msp|max_?prob(ability)?
        |pred|preds|prediction|predicted|y_?pred|y_?hat|predicted_?(class|label)|pred_?(class|label)|argmax|correct|is_?correct|top_?1
        |epistemic|aleatoric|total|mutual_?information|age|weight|time|timestamp|date|year|duration|latency)""",
    re.IGNORECASE | re.VERBOSE,
)


def word_of(name: str) -> str:
    """The name of a column as it is compared."""
    return name.strip().lower()


def may_be_no_class(name: str, is_whole: Callable[[], bool]) -> bool:
    """Whether a column of numbers is called like something else; ``is_whole`` says whether it holds
    only whole numbers.

    >>> may_be_no_class("fold", lambda: True), may_be_no_class("cat", lambda: True)
    (True, False)
    """
    word = word_of(name)
    if word in CERTAIN or NOT_A_CLASS.fullmatch(word):
        return True
    called = (
        word in INDEX or any(word in words for words in ROLES.values()) or ID_WORD.fullmatch(word)
    )
    return bool(called) and is_whole()  # a class called "target" has probabilities
