"""All texts of the studio, by key: the table english.json. A translation is such a file; what it lacks stays English.

Values stand in braces, as in `str.format`. `{count:wire|wires}` is the first word for one, the second for any other number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from string import Formatter

ENGLISH: Mapping[str, str] = json.loads(Path(__file__).with_name("english.json").read_text(encoding="utf-8"))
NUMBER = re.compile(r"%(?:\.\d+)?[dfg]")  # where a slider writes its number

SURROGATE = re.compile("[\ud800-\udfff]")
_HASHES = re.compile("#(?=#)")

_current: Mapping[str, str] = ENGLISH


def text(key: str, **values: object) -> str:
    """The text with its values filled in. An unknown key is shown as it is, so that a slip is seen and nothing breaks."""
    template = _current.get(key) or ENGLISH.get(key, key)
    if not values:
        return template
    return shown(_COUNTING.format(template, **values) if "|" in template else template.format(**values))


def shown(words: str) -> str:
    """With a sign in place of each half of a surrogate pair, which names of files hold that are no Unicode: the window's toolkit
    ends the process at one."""
    return words if words.isascii() else SURROGATE.sub("\ufffd", words)


def label(words: str) -> str:
    """A person's words as the label of a widget: Dear ImGui shows nothing of a label after "##", unless something is between."""
    return _HASHES.sub("#\u200b", shown(words)) if "##" in words else shown(words)


class _Counting(Formatter):
    """Knows words for one and for many."""

    def format_field(self, value: object, format_spec: str) -> str:
        one, bar, many = format_spec.partition("|")
        if not bar:
            return super().format_field(value, format_spec)
        return one if str(value) == "1" else many


_COUNTING = _Counting()


def foreign_letters() -> frozenset[str]:
    """Letters of the texts of now that no English one has."""
    return frozenset("".join(_current.values())) - frozenset("".join(ENGLISH.values()))


def use(table: Mapping[str, str]) -> None:
    """Texts of another language from now on; raises ValueError naming keys that there are not."""
    unknown = sorted(set(table) - set(ENGLISH))
    if unknown:
        raise ValueError(f"unknown keys: {', '.join(unknown)}")
    global _current
    _current = {**ENGLISH, **table}


def why_unusable(key: str, words: str) -> str:
    """What keeps the words from standing for the English text of that key; "" if nothing does.

    They may leave values out, but not ask for others or write them otherwise: that would fail when they are shown.
    """
    if "\0" in words:
        return "it holds a zero character"
    try:
        found, known = _values(words), _values(ENGLISH[key])
    except ValueError as error:
        return str(error)
    extra = sorted({name for name, _ in found} - {name for name, _ in known})
    if extra:
        return f"there is no value {', '.join(f'{{{name}}}' for name in extra)}"
    for name, form in sorted(found - known):
        if form and ("|" not in form or "{" in form):
            return f"{{{name}}} cannot be written as {form!r}"
    numbers = NUMBER.findall(ENGLISH[key])
    if numbers and (NUMBER.findall(words) != numbers or "%" in NUMBER.sub("", words)):
        return f"the number is {' '.join(numbers)}"  # these go to the C library's printf, which trusts them
    return ""


def _values(words: str) -> set[tuple[str, str]]:
    """Names in braces with how they are written. Raises ValueError where braces do not close."""
    parts = Formatter().parse(words)
    return {(name, f"!{way}" if way else form or "") for _, name, form, way in parts if name is not None}
