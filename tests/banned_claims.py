"""What no text of the project may claim, each with its reason."""

from __future__ import annotations

import re

DATA = r"(?:data|examples|images|labels|cases|annotations)"
BANNED = {
    "what more data would do is not known from one ensemble": [
        (
            r"\b(?:more|new|further|additional|labeled) (?:training |labeled "
            rf")?{DATA}\b[^.;:|]{{0,30}}\b(?:help|reduce|remove|resolve|save|lower)"
        ),
        (
            rf"\b{DATA} (?:would|will|should|may|might|could|can|cannot) (?:hardly |also |not "
            r")?(?:help|reduce|remove|save|provide|lower|change)"
        ),
        r"\b(?:amount|value|worth) of (?:more )?(?:training )?(?:data|examples)\b",
        r"\bwould (?:more )?data help\b",
        r"\b(?:ir)?reducible\b",
        r"\b(?:to|can|could) be learned\b",
        r"\bteach(?:es)? most\b",
        r"\bmost informative\b",
        r"\b(?:is|are) settled\b",
        r"first (?:thing )?to (?:try|collect)\b",
    ],
    "epistemic uncertainty is disagreement of the members, not a measure of their knowledge": [
        r"\black of knowledge\b",
        r"\bnot seen enough\b",
        r"\b(?:least|best|poorly|better) known\b",
        r"\bknows? (?:it )?least\b",
    ],
    "aleatoric uncertainty is how unsure the members are, not a property of the data": [
        r"\bnoise in the data\b",
        r"\b(?:it|uncertainty) is in the (?:images|data)\b",
        r"\bthe image itself (?:is )?ambiguous\b",
    ],
    "a test that finds nothing does not show that probabilities are right": [
        r"\bno (?:sign|evidence) of (?:bad|mis)",
        r"\b(?:is|are) (?:already |well |perfectly )+calibrated\b",
        r"\bgood calibration\b",
    ],
}


def banned_claims(text: str) -> list[str]:
    """The claims in ``text`` that are banned, each with its reason and what stands around it;
    string literals over several lines are joined.
    """
    joined = re.sub(r'["\']\s*\n\s*f?["\']', "", text)
    plain = re.sub(r"[\s\u00a0#*`]+", " ", joined)
    found = []
    for reason, patterns in BANNED.items():
        for match in re.finditer("|".join(patterns), plain, re.IGNORECASE):
            found.append(f"{reason}: …{plain[max(match.start() - 40, 0) : match.end() + 40]}…")
    return found
