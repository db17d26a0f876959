"""The arithmetic of the benchmarks, and that contenders take turns."""

from __future__ import annotations

import harness
import pytest
from harness import Contender, Row

LEAST = {"ours": 2.0, "a": 3.0, "b": 1.5}


def test_ratios_are_against_the_best_peer_of_each_round() -> None:
    row = Row("case", {"ours": (2.0, 4.0), "a": (4.0, 4.0), "b": (6.0, 2.0)}, LEAST)
    assert row.ratios("ours") == (2.0, 0.5)
    assert row.least_ratio("ours") == 0.75
    assert row.median("a") == 4.0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2.5, "2.5 s"), (0.0123, "12.3 ms"), (9.999e-4, "1 ms"), (4.2e-5, "42 us"), (1e-7, "100 ns")],
)
def test_durations_have_a_fitting_unit(seconds: float, text: str) -> None:
    assert harness.duration(seconds) == text


def test_contenders_take_turns() -> None:
    """After the warm-up the order of calls is strictly alternating."""
    seen: list[str] = []
    pause = "import time; time.sleep(0.002); "
    contenders = [
        Contender(name, f"{pause}seen.append({name!r})", {"seen": seen}) for name in ("a", "b")
    ]
    row = harness.measure("turns", contenders, samples=4)
    timed = seen[-harness.ROUNDS * 4 * 2 :]
    assert timed == ["a", "b"] * (harness.ROUNDS * 4)
    assert all(len(times) == harness.ROUNDS for times in row.rounds.values())


def test_table_shows_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        Row(
            "first",
            {"loopwright": (1e-3,) * 5, "peer": (2e-3,) * 5},
            {"loopwright": 1e-3, "peer": 1e-3},
            "goal 1 ms",
        ),
        Row("second", {"loopwright": (1e-3,) * 5}, {"loopwright": 1e-3}),
    ]
    harness.table("Title", rows)
    shown = capsys.readouterr().out
    assert "2.00 2.00 2.00 2.00 2.00 (1.00)   goal 1 ms" in shown
    assert "geometric mean 2.00, worst 2.00; of least times 1.00, worst 1.00" in shown
    assert shown.splitlines()[4].split()[-1] == "-"
