"""The messages between a page and the server: JSON objects over one websocket.

A page sends a `Request`, the server a `Message`; `type` says which one. Every message is checked
against these classes, in both directions, and every text and list has a largest size. The page's
TypeScript types are made from them (`typescript.py`), so that the two cannot differ.

A path is the list of actions from the searched position to a node. Values are returns of the game,
as everywhere in Sylvan.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, TypeAdapter

from sylvan.web.learn_messages import (
    AskOpinion,
    Curves,
    Film,
    Follow,
    Foresee,
    Foreseen,
    ForeseenStep,
    GameInfo,
    Games,
    ListGames,
    Opinion,
    Opinions,
    PauseRun,
    Replay,
    Replayed,
    ReplayPly,
    ResumeRun,
    RunInfo,
    Runs,
    StartRun,
)
from sylvan.web.messages import (
    Details,
    Hello,
    Looked,
    Message,
    Position,
    Problem,
    Saved,
    Search,
    Simulation,
)
from sylvan.web.parts import (
    ActionInfo,
    BlobBoard,
    BlobSeat,
    Board,
    CardInfo,
    ChessBoard,
    Considered,
    GridBoard,
    MoveRow,
    Name,
    NodeRow,
    Part,
    PictureBoard,
    PlyInfo,
    Setting,
    SettingInfo,
    StepInfo,
)
from sylvan.web.play_messages import (
    Act,
    Advise,
    ClockChoice,
    GameOffer,
    Hint,
    Hinted,
    Join,
    Judged,
    ListOffers,
    Note,
    Notes,
    Offers,
    Option,
    Reveal,
    Review,
    Reviewed,
    SeatChoice,
    SeatInfo,
    Sit,
    Table,
    TakeBack,
)
from sylvan.web.requests import (
    Ack,
    Configure,
    Goto,
    Load,
    Look,
    Move,
    Open,
    Request,
    Restart,
    Run,
    Save,
    Show,
    Slow,
    Stop,
    Sweep,
)

__all__ = [
    "MOST_BYTES",
    "Ack",
    "Act",
    "ActionInfo",
    "Advise",
    "AskOpinion",
    "BlobBoard",
    "BlobSeat",
    "Board",
    "CardInfo",
    "ChessBoard",
    "ClockChoice",
    "Configure",
    "Considered",
    "Curves",
    "Details",
    "Film",
    "Follow",
    "Foresee",
    "Foreseen",
    "ForeseenStep",
    "GameInfo",
    "GameOffer",
    "Games",
    "Goto",
    "GridBoard",
    "Hello",
    "Hint",
    "Hinted",
    "Join",
    "Judged",
    "ListGames",
    "ListOffers",
    "Load",
    "Look",
    "Looked",
    "Message",
    "Move",
    "MoveRow",
    "Name",
    "NodeRow",
    "Note",
    "Notes",
    "Offers",
    "Open",
    "Opinion",
    "Opinions",
    "Option",
    "Part",
    "PauseRun",
    "PictureBoard",
    "PlyInfo",
    "Position",
    "Problem",
    "Replay",
    "ReplayPly",
    "Replayed",
    "Request",
    "Restart",
    "ResumeRun",
    "Reveal",
    "Review",
    "Reviewed",
    "Run",
    "RunInfo",
    "Runs",
    "Save",
    "Saved",
    "Search",
    "SeatChoice",
    "SeatInfo",
    "Setting",
    "SettingInfo",
    "Show",
    "Simulation",
    "Sit",
    "Slow",
    "StartRun",
    "StepInfo",
    "Stop",
    "Sweep",
    "Table",
    "TakeBack",
    "read_request",
]

MOST_BYTES = 4 * 2**20
"""The longest message that a page may send: a saved analysis."""

_requests: TypeAdapter[Request] = TypeAdapter(Annotated[Request, Field(discriminator="type")])


def read_request(text: str | bytes) -> Request:
    """Read a request.

    :raises ValidationError: it is not one.
    """
    return _requests.validate_json(text)
