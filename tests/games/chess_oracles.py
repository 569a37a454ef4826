"""Second implementations of chess encoders and codecs, in Python over python-chess boards.

Written from their descriptions (`docs/chess-encodings.md`), not from the fast ones, so that both
must have the same mistake to agree. Planes are packed: an int per plane, bit = square.
"""

from __future__ import annotations

from collections.abc import Iterator

import chess

from sylvan.games import Chess

ALL = 2**64 - 1
PIECES = [chess.PAWN, chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN, chess.KING]

# --- codecs -----------------------------------------------------------------------------------

DIRECTIONS = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)]
KNIGHT_JUMPS = [(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)]
UNDERPROMOTIONS = [chess.KNIGHT, chess.BISHOP, chess.ROOK]


def az73_code(move: chess.Move, turn: chess.Color) -> int:
    """The code of a move, square by square and plane by plane."""
    origin, target = move.from_square, move.to_square
    if turn == chess.BLACK:
        origin, target = chess.square_mirror(origin), chess.square_mirror(target)
    files = chess.square_file(target) - chess.square_file(origin)
    ranks = chess.square_rank(target) - chess.square_rank(origin)
    if move.promotion in UNDERPROMOTIONS:
        plane = 64 + 3 * UNDERPROMOTIONS.index(move.promotion) + files + 1
    elif (files, ranks) in KNIGHT_JUMPS:
        plane = 56 + KNIGHT_JUMPS.index((files, ranks))
    else:
        distance = max(abs(files), abs(ranks))
        plane = 7 * DIRECTIONS.index((files // distance, ranks // distance)) + distance - 1
    return 73 * origin + plane


def lc0_outputs() -> list[str]:
    """The moves of lc0's 1858 outputs, from the mover's side."""
    names = [chess.square_name(square) for square in chess.SQUARES]
    board, outputs = chess.Board(None), []
    for origin in chess.SQUARES:
        targets = chess.SquareSet()
        for piece in (chess.QUEEN, chess.KNIGHT):
            board.clear_board()
            board.set_piece_at(origin, chess.Piece(piece, chess.WHITE))
            targets |= board.attacks(origin)
        outputs += [names[origin] + names[target] for target in sorted(targets)]
    for file in range(8):
        for target in (file - 1, file, file + 1):
            if 0 <= target < 8:
                step = f"{chess.FILE_NAMES[file]}7{chess.FILE_NAMES[target]}8"
                outputs += [step + piece for piece in "qrb"]
    return outputs


LC0_OUTPUTS = lc0_outputs()
LC0_INDEX = {name: index for index, name in enumerate(LC0_OUTPUTS)}


def lc0_index(board: chess.Board, move: chess.Move) -> int:
    """The index of a legal move's logit in lc0."""
    origin, target = move.from_square, move.to_square
    if board.is_castling(move):
        rooks = board.clean_castling_rights() & chess.BB_RANKS[chess.square_rank(origin)]
        east = chess.square_file(target) > chess.square_file(origin)
        target = max(chess.SquareSet(rooks)) if east else min(chess.SquareSet(rooks))
    if board.turn == chess.BLACK:
        origin, target = chess.square_mirror(origin), chess.square_mirror(target)
    name = chess.square_name(origin) + chess.square_name(target)
    if move.promotion not in (None, chess.KNIGHT):
        name += chess.piece_symbol(move.promotion)
    return LC0_INDEX[name]


# --- encoders ---------------------------------------------------------------------------------


def planes(encoder: str, past: list[chess.Board], fill: str = "fen_only") -> list[int]:
    """The planes of a game whose positions are `past`, the current one last."""
    now = past[-1]
    mover = now.turn
    rights = [
        [
            ALL * now.has_queenside_castling_rights(side),
            ALL * now.has_kingside_castling_rights(side),
        ]
        for side in (mover, not mover)
    ]
    (own_long, own_short), (their_long, their_short) = rights
    black = ALL * (mover == chess.BLACK)
    passing = chess.BB_SQUARES[now.ep_square] if now.has_legal_en_passant() else 0
    passing = chess.flip_vertical(passing) if mover == chess.BLACK else passing
    clock = now.halfmove_clock
    pieces = pieces_of(now, mover)
    short_first = [own_short, own_long, their_short, their_long]
    if encoder == "planes18":
        return [*pieces, *short_first, passing, black]
    if encoder == "planes19":
        return [*pieces, black, *short_first, passing, clock]
    if encoder == "planes29":
        white, number = ALL - black, now.fullmove_number
        moved = [changed_squares(past, age, mover) for age in range(8)]
        return [*pieces, white, black, *short_first, passing, clock, number, *moved]
    boards = [board_planes(past, age, fill, mover) for age in range(8)]
    if encoder == "lc0_112":
        flat = [plane for shown, seen in boards for plane in (*shown, ALL * (seen >= 1))]
        long_first = [own_long, own_short, their_long, their_short]
        return [*flat, *long_first, black, clock, 0, ALL]
    assert encoder == "az119"
    flat = [
        plane for shown, seen in boards for plane in (*shown, ALL * (seen >= 1), ALL * (seen >= 2))
    ]
    return [*flat, black, now.fullmove_number, *short_first, clock]


def pieces_of(board: chess.Board, mover: chess.Color) -> list[int]:
    """Twelve planes from the mover's side."""
    masks = [int(board.pieces(p, side)) for side in (mover, not mover) for p in PIECES]
    return masks if mover == chess.WHITE else [chess.flip_vertical(mask) for mask in masks]


def changed_squares(past: list[chess.Board], age: int, mover: chess.Color) -> int:
    """The squares whose piece is another one than a half-move before, `age` plies ago."""
    index = len(past) - 1 - age
    before = past[index - 1] if index > 0 else before_the_first(past[0], "always", index - 1)
    if index < 0 or before is None:
        return 0
    masks = [
        chess.BB_SQUARES[square if mover == chess.WHITE else chess.square_mirror(square)]
        for square in chess.SQUARES
        if past[index].piece_at(square) != before.piece_at(square)
    ]
    return sum(masks)


def board_planes(
    past: list[chess.Board], age: int, fill: str, mover: chess.Color
) -> tuple[list[int], int]:
    """The pieces `age` plies ago, and the earlier occurrences of that position."""
    index = len(past) - 1 - age
    if index >= 0:
        board = past[index]
        # A position cannot repeat after a capture or a pawn move.
        reversible = past[max(0, index - board.halfmove_clock) : index]
        same = sum(same_position(board, earlier) for earlier in reversible)
        return pieces_of(board, mover), same
    shown = before_the_first(past[0], fill, index)
    return ([0] * 12 if shown is None else pieces_of(shown, mover)), 0


def same_position(one: chess.Board, two: chess.Board) -> bool:
    return (
        one.turn == two.turn
        and one.occupied == two.occupied
        and one.pawns == two.pawns
        and one.epd() == two.epd()
    )


def before_the_first(first: chess.Board, fill: str, index: int) -> chess.Board | None:
    """The filled-in board `-index` plies before the first one."""
    filled = fill == "always" or (
        fill == "fen_only" and first.epd(en_passant="fen") != chess.Board().epd()
    )
    if first.ep_square is None:
        return first if filled else None
    if not filled and index < -1:
        return None
    before = first.copy(stack=False)
    forwards = 8 if first.turn == chess.BLACK else -8  # the pawn is of the side not to move
    pawn = before.remove_piece_at(first.ep_square + forwards)
    before.set_piece_at(first.ep_square - forwards, pawn)
    return before


# --- games ------------------------------------------------------------------------------------


def played(
    start: chess.Board, moves: Iterator[chess.Move] | list[chess.Move]
) -> Iterator[tuple[Chess, chess.Board, list[chess.Board]]]:
    """Our game, theirs and all their positions so far, ply by ply."""
    theirs, ours = start.copy(stack=False), Chess.from_board(start.copy(stack=False))
    past = [theirs.copy(stack=False)]
    yield ours, theirs, past
    for move in moves:
        ours.push(theirs.uci(move))
        theirs.push(move)
        past.append(theirs.copy(stack=False))
        yield ours, theirs, past
