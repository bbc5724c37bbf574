"""Text that a network writes, letter by letter: each letter is drawn from what the network says comes next.

The window that the network reads is as long as its samples; what lies behind the last letter is padding, which a network that
only looks back does not see. `write` does as much as its time allows, so that nobody waits for a long text.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from munet import Session
from munet.inspect import vocabulary


@dataclass(frozen=True)
class Writing:
    """A text as far as it is written: `written` begins with the prompt. `left` letters are to come."""

    letters: str  # "node.socket" that takes numbers of letters
    scores: str  # "node.socket" that holds what comes next
    file: str  # of the text that the network learns; it says which letters there are
    written: str
    left: int
    temperature: float = 0.8
    seed: int = 0


def write(session: Session, writing: Writing, limit_s: float = 0.1) -> Writing:
    """Some more letters, one at least. Letters of the prompt that the text does not have are left out."""
    known = vocabulary(writing.file)
    numbers = {letter: number for number, letter in enumerate(known)}
    length = session.samples(1)[writing.letters].shape[1]
    written = "".join(letter for letter in writing.written if letter in numbers) or known[0]
    left, end = writing.left, time.perf_counter() + limit_s
    while left > 0:
        window = [numbers[letter] for letter in written[-length:]]
        given = np.zeros((1, length), np.uint8)
        given[0, : len(window)] = window
        scores = session.predict({writing.letters: given}, [writing.scores])[writing.scores]
        rng = np.random.default_rng((writing.seed, len(written)))
        written += known[drawn(scores[0, len(window) - 1], writing.temperature, rng)]
        left -= 1
        if time.perf_counter() > end:
            break
    return replace(writing, written=written, left=left)


def drawn(scores: np.ndarray, temperature: float, rng: np.random.Generator) -> int:
    """A number by its score: the best at temperature 0, the more evenly the higher. Scores that are not finite never."""
    scores = np.where(np.isfinite(scores), scores.astype(np.float64), -np.inf)
    if temperature <= 0 or not np.isfinite(scores).any():
        return int(scores.argmax())
    shares = np.exp((scores - scores.max()) / temperature)
    return int(rng.choice(len(shares), p=shares / shares.sum()))
