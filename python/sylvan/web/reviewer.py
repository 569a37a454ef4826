"""Reviews of a table's moves, in a thread of their own: nobody at the table waits for them.

Several pages may have theirs under way; each gets a decision judged in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sylvan.web import protocol as p
from sylvan.web.worker import Send, Worker

__all__ = ["Judge", "Review", "Reviewer", "Stopped"]

Stopped = Callable[[], bool]
"""Whether nobody wants the judgement any more."""

Judge = Callable[[Stopped], p.Judged | None]
"""Judges a decision; None: it cannot be judged."""


@dataclass(eq=False)
class Review:
    """The review of a page."""

    send: Send
    left: list[Judge]
    """The remaining decisions."""
    found: list[p.Judged] = field(default_factory=list)
    is_stopped: bool = False
    is_dropped: bool = False
    """Stopped, and the page need not hear of it."""


class Reviewer(Worker[Review]):
    """Judges the decisions of one review after another."""

    def __init__(self) -> None:
        super().__init__(self._tell)
        self._reviews: list[Review] = []
        self._now: Review | None = None

    def begin(self, send: Send, judges: Sequence[Judge]) -> Review:
        """Begin a review; from any thread."""
        review = Review(send, list(judges))
        self.hear(review)
        return review

    @property
    def _has_work(self) -> bool:
        return bool(self._reviews)

    def _do(self, review: Review) -> None:
        self._reviews.append(review)

    def _work(self) -> None:
        """Judge one decision."""
        self._now = review = self._reviews.pop(0)
        if not review.is_stopped and review.left:
            review.send(p.Reviewing(left=len(review.left)))
            judged = review.left.pop(0)(lambda: self._closed or review.is_stopped)
            review.found += [] if judged is None else [judged]
            self._reviews.append(review)  # behind those of others
        elif not review.is_dropped:
            review.send(p.Reviewed(decisions=review.found))

    def _tell(self, message: p.Message) -> None:
        """Tell a fault to the page whose review it was."""
        if self._now is not None and not self._now.is_dropped:
            self._now.send(message)
            self._now.send(p.Reviewed(decisions=self._now.found))
