"""Where in the user's code something was written."""

from __future__ import annotations

import linecache
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """A line of the user's code."""

    file: str
    line: int
    function: str

    def describe(self) -> str:
        """The place and the text of its line, as a traceback shows it."""
        text = linecache.getline(self.file, self.line).strip()
        place = f'  at "{self.file}", line {self.line}, in {self.function}'
        return f"{place}\n    {text}" if text else place
