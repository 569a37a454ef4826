"""A UCI program for tests; its argument selects a failure.

good      plays the first legal move
dies      exits during its third move
leaves    exits at the second `ucinewgame`
crashes   exits at the start
illegal   plays a move that is never legal
nothing   answers `bestmove (none)`
hangs     never answers `go`
silent    never answers anything
late      takes 0.3 s per move
chatty    floods its output with meaningless lines
"""

import sys
import time

import chess


def main(kind: str) -> None:
    board, thoughts, games = chess.Board(), 0, 0
    if kind == "crashes":
        sys.exit(3)
    for line in sys.stdin:
        words = line.split()
        if kind == "silent" or not words:
            continue
        if words[0] == "uci":
            print("id name Fake 1\noption name Skill Level type spin default 1 min 0 max 20\nuciok")
        elif words[0] == "isready":
            print("readyok")
        elif words[0] == "ucinewgame":
            games += 1
            if kind == "leaves" and games == 2:
                sys.exit(0)
        elif words[0] == "position":
            board = chess.Board() if words[1] == "startpos" else chess.Board(" ".join(words[2:8]))
            for move in words[words.index("moves") + 1 :] if "moves" in words else []:
                board.push_uci(move)
        elif words[0] == "go":
            thoughts += 1
            answer(kind, board, thoughts)
        elif words[0] == "quit":
            return
        sys.stdout.flush()


def answer(kind: str, board: chess.Board, thoughts: int) -> None:
    if kind == "dies" and thoughts == 3:
        sys.exit(1)
    if kind == "hangs":
        return
    if kind == "late":
        time.sleep(0.3)
    if kind == "chatty":
        print(
            "info string \x00 score\ninfo score cp\ninfo score mate x\nnonsense\n\ninfo depth 3"
            * 50
        )
    move = min(move.uci() for move in board.legal_moves)
    answers = {"illegal": "e2e5", "nothing": "(none)"}
    print(f"info depth 1 score cp 25 nodes 1 pv {move}\nbestmove {answers.get(kind, move)}")


if __name__ == "__main__":
    main(sys.argv[1])
