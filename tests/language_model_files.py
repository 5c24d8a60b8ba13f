"""Files as the tools around language models write them, for the tests.

`write_samples`: lm-evaluation-harness 0.4.13, `evaluator.py` (the example) and
`loggers/evaluation_tracker.py` (`save_results_samples`, which turns responses into text).
`chat_completion`, `completion`, `response`: openai 3.51.0, `types/`. `batch_line`: the same in a
batch, as OpenAI's service and vLLM's `entrypoints/openai/run_batch.py` write it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from math import log
from pathlib import Path
from typing import Any


def write_lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def sample(
    doc_id: int,
    options: Sequence[str],
    scores: Sequence[float],
    target: int | str,
    *,
    text: str = "",
    **changes: Any,
) -> dict[str, Any]:
    """A question with the log-likelihood of each option."""
    doc = {"text": text or f"text {doc_id}", "label": target}
    arguments = {}
    for i, option in enumerate(options):
        arguments[f"gen_args_{i}"] = {"arg_0": f"{doc['text']}\nAnswer:", "arg_1": f" {option}"}
    best = max(range(len(scores)), key=lambda i: scores[i])
    position = target if isinstance(target, int) else list(options).index(target)
    pairs = [[str(score), str(i == best)] for i, score in enumerate(scores)]
    return {
        "doc_id": doc_id,
        "doc": doc,
        "target": str(target),
        "arguments": arguments,
        "resps": [[pair] for pair in pairs],
        "filtered_resps": pairs,
        "filter": "none",
        "metrics": ["acc"],
        "doc_hash": hashlib.sha256(doc["text"].encode()).hexdigest(),
        "prompt_hash": "0" * 64,
        "target_hash": hashlib.sha256(str(target).encode()).hexdigest(),
        "acc": float(best == position),
        **changes,
    }


def generated(doc_id: int, text: str, target: str, *, filtered_by: str = "none") -> dict[str, Any]:
    """A generated answer."""
    return {
        "doc_id": doc_id,
        "doc": {"text": f"text {doc_id}"},
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": "Answer:", "arg_1": {"until": ["\n"]}}},
        "resps": [[f"{text}\n"]],
        "filtered_resps": [text],
        "filter": filtered_by,
        "metrics": ["exact_match"],
        "doc_hash": f"{doc_id:064}",
        "prompt_hash": "0" * 64,
        "target_hash": "0" * 64,
        "exact_match": float(text == target),
    }


def write_samples(folder: Path, model: str, task: str, rows: Sequence[Mapping[str, Any]]) -> Path:
    """The file that `--log_samples --output_path folder` writes."""
    return write_lines(folder / model / f"samples_{task}_2026-11-18T09-30-12.345678.jsonl", rows)


def _entry(token: str, probability: float) -> dict[str, Any]:
    return {"token": token, "bytes": list(token.encode()), "logprob": log(probability)}


def chat_completion(
    text: str, *places: tuple[str, Mapping[str, float]], model: str = "gpt-4o"
) -> dict[str, Any]:
    """An answer; for each of its tokens the likeliest ones and their probabilities."""
    content = []
    for token, likeliest in places:
        top = [_entry(other, p) for other, p in likeliest.items()]
        entry = _entry(token, likeliest.get(token, 0.001))
        content.append({**entry, "top_logprobs": top})
    choice = {
        "finish_reason": "stop",
        "index": 0,
        "logprobs": {"content": content, "refusal": None} if places else None,
        "message": {"content": text, "refusal": None, "role": "assistant", "annotations": []},
    }
    return {
        "id": "chatcmpl-BxYz01",
        "choices": [choice],
        "created": 1763457012,
        "model": model,
        "object": "chat.completion",
        "service_tier": "default",
        "system_fingerprint": "fp_07871e2ad8",
        "usage": {"completion_tokens": 1, "prompt_tokens": 60, "total_tokens": 61},
    }


def completion(text: str, token: str, likeliest: Mapping[str, float]) -> dict[str, Any]:
    """An answer of the older interface, which vLLM has as well."""
    logprobs = {
        "text_offset": [0],
        "token_logprobs": [log(likeliest[token])],
        "tokens": [token],
        "top_logprobs": [{other: log(p) for other, p in likeliest.items()}],
    }
    choice = {"finish_reason": "length", "index": 0, "logprobs": logprobs, "text": text}
    return {
        "id": "cmpl-5f1c",
        "choices": [choice],
        "created": 1763457012,
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "object": "text_completion",
        "usage": {"completion_tokens": 1, "prompt_tokens": 60, "total_tokens": 61},
    }


def response(text: str, token: str, likeliest: Mapping[str, float]) -> dict[str, Any]:
    """An answer of the Responses interface, after its reasoning."""
    logprob = {
        **_entry(token, likeliest[token]),
        "top_logprobs": [_entry(other, p) for other, p in likeliest.items()],
    }
    content = {"annotations": [], "text": text, "type": "output_text", "logprobs": [logprob]}
    return {
        "id": "resp_68",
        "created_at": 1763457012,
        "model": "gpt-5",
        "object": "response",
        "output": [
            {"id": "rs_1", "summary": [], "type": "reasoning"},
            {
                "id": "msg_1",
                "content": [content],
                "role": "assistant",
                "status": "completed",
                "type": "message",
            },
        ],
    }


def batch_line(case: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
    """A line of a batch; without a ``body``, of a request that failed."""
    if body is None:
        error = {"code": "batch_expired", "message": "This request could not be executed."}
        return {"id": f"batch_req_{case}", "custom_id": case, "response": None, "error": error}
    answer = {"status_code": 200, "request_id": f"req_{case}", "body": body}
    return {"id": f"batch_req_{case}", "custom_id": case, "response": answer, "error": None}
