"""Run the requests of one `execute` as few times as their shapes allow, and give each its own rows back.

Pure numpy: a request is a feed (input name → array), the model is a function. Feeds of equal shapes behind the batch
dim are concatenated; a group that fails is run again in halves, so that only the culprit fails. A feed that runs
alone is never copied, and results are views of the model's outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import RunError
from .shapes import ShapeRules

Array = npt.NDArray[Any]
Feed = Mapping[str, Array]
Run = Callable[[Sequence[str], Feed], list[Array]]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why one request has no result; `request_at_fault` tells a bad request from a broken machine."""

    text: str
    request_at_fault: bool = True


Result = Mapping[str, Array] | Failure


class RowsMixed(Exception):
    """The model does not give an output row for each input row, so that rows of a batch cannot be told apart."""


class Batcher:
    """Runs feeds through one model; not for several threads at once.

    A model that turns out unable to run requests together (rows that do not match, or a joined run that fails where
    each request alone does not) is warned of once, and its requests run one by one from then on.
    """

    def __init__(
        self,
        run: Run,
        rules: ShapeRules,
        outputs: Sequence[str],
        *,
        batched: bool,
        warn: Callable[[str], None] = lambda _text: None,
    ) -> None:
        """Take the outputs that the config names, in the order to compute them; `batched`: dim 0 is the batch."""
        self._run = run
        self._rules = rules
        self._outputs = tuple(outputs)
        self._batched = batched
        self._joins = batched and rules.can_join
        self._warn = warn

    def run_all(self, feeds: Sequence[Feed], wanted: Sequence[Collection[str]] | None = None) -> list[Result]:
        """Return one result per feed, in order. `wanted` holds the outputs that each asks for; without it, all."""
        if len(feeds) == 1 or not self._joins:
            return [self._run_alone(feed, self._names(wanted, [at])) for at, feed in enumerate(feeds)]
        try:
            joined = join(feeds)
        except ValueError:  # numpy joins equal shapes only; asking it costs less than comparing them first
            return self._run_by_shape(feeds, wanted)
        return self._run_joined(feeds, joined, self._names(wanted, range(len(feeds))))

    def _run_by_shape(self, feeds: Sequence[Feed], wanted: Sequence[Collection[str]] | None) -> list[Result]:
        """Run feeds of different shapes, those of equal shape together."""
        groups: dict[object, list[int]] = {}
        for at, feed in enumerate(feeds):
            groups.setdefault(self._rules.key(feed), []).append(at)
        results: dict[int, Result] = {}
        for members in groups.values():
            group = [feeds[at] for at in members]
            results.update(
                zip(members, self._run_joined(group, join(group), self._names(wanted, members)), strict=True)
            )
        return [results[at] for at in range(len(feeds))]

    def _names(self, wanted: Sequence[Collection[str]] | None, members: Sequence[int]) -> tuple[str, ...]:
        """Return the outputs that at least one of these requests asks for."""
        if wanted is None:
            return self._outputs
        union = {name for member in members for name in wanted[member]}
        return tuple(name for name in self._outputs if name in union)

    def _run_joined(self, feeds: Sequence[Feed], joined: Feed, names: Sequence[str]) -> list[Result]:
        """Run feeds of equal shape as one batch; if that fails, in halves, to find out whose fault it is."""
        if len(feeds) == 1 or not self._joins or self._rules.problem(feeds[0]) is not None:
            return [self._run_alone(feed, names) for feed in feeds]
        try:
            return split(feeds, joined, dict(zip(names, self._run(names, joined), strict=True)))
        except RowsMixed as error:
            self._stop_joining(str(error))
            return [self._run_alone(feed, names) for feed in feeds]
        except RunError as error:
            half = len(feeds) // 2
            halves = (feeds[:half], feeds[half:])
            results = [result for part in halves for result in self._run_joined(part, join(part), names)]
            if error.request_at_fault and not any(isinstance(result, Failure) for result in results):
                self._stop_joining(f"a batch failed whose requests do not fail alone: {error}")
            return results

    def _stop_joining(self, why: str) -> None:
        """Run requests one by one from now on, and say so once."""
        if self._joins:
            self._joins = False
            self._warn(f"{why}; its requests run one by one from now on: set max_batch_size to 0, or mend the model")

    def _run_alone(self, feed: Feed, names: Sequence[str]) -> Result:
        """Run one feed as it is."""
        problem = self._rules.problem(feed)
        if problem is not None:
            return Failure(problem)
        try:
            outputs = self._run(names, self._rules.to_model(feed))
        except RunError as error:
            return Failure(str(error), error.request_at_fault)
        found = dict(zip(names, outputs, strict=True))
        if self._joins and feed:
            self._check_rows(feed, found)
        return self._rules.to_config(found)

    def _check_rows(self, feed: Feed, outputs: Mapping[str, Array]) -> None:
        """Notice a model that must not be batched before two requests are mixed up."""
        try:
            require_rows(outputs, len(next(iter(feed.values()))))
        except RowsMixed as error:
            self._stop_joining(str(error))


def join(feeds: Sequence[Feed]) -> Feed:
    """Concatenate feeds along the batch dim; raises ValueError if their other dims differ."""
    return {name: np.concatenate([feed[name] for feed in feeds]) for name in feeds[0]}


def split(feeds: Sequence[Feed], joined: Feed, outputs: Mapping[str, Array]) -> list[Result]:
    """Return each feed's rows of the outputs, as views; raises RowsMixed if there are not as many rows as went in."""
    first = next(iter(joined))
    require_rows(outputs, len(joined[first]))
    results: list[Result] = []
    start = 0
    for feed in feeds:
        end = start + len(feed[first])
        results.append({name: output[start:end] for name, output in outputs.items()})
        start = end
    return results


def require_rows(outputs: Mapping[str, Array], rows: int) -> None:
    """Raise RowsMixed unless every output has a row per input row, so that rows can be told apart."""
    for name, output in outputs.items():
        if output.ndim == 0 or len(output) != rows:
            raise RowsMixed(
                f"output '{name}' has shape {list(output.shape)} for a batch of {rows}: its rows cannot be told apart"
            )
