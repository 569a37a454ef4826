// The chess board: pieces to drag or click, arrows as wide as moves are visited.

import { Chessground } from "chessground";
import type { Api } from "chessground/api";
import type { DrawShape } from "chessground/draw";
import type { Key } from "chessground/types";
import { button, el } from "../dom";
import type { Row } from "../moves";
import type { ChessBoard } from "../protocol";
import type { BoardView, Shown } from "./board";

const ARROWS = 5;
const PIECES: Record<string, string> = { q: "queen", r: "rook", b: "bishop", n: "knight" };

export class ChessView implements BoardView {
  readonly root = el("div", { class: "chessboard" });
  private readonly ground: Api;
  private board: ChessBoard | null = null;
  private shown: Shown | null = null;
  private asking: HTMLElement | null = null;
  private arrows: DrawShape[] = [];

  constructor(private readonly play: (action: number) => void) {
    const inner = el("div");
    this.root.append(inner);
    this.ground = Chessground(inner, {
      coordinates: true,
      animation: { duration: 150 },
      highlight: { lastMove: true, check: true },
      movable: { free: false, events: { after: (from, to) => this.moved(from, to) } },
      drawable: { enabled: true, brushes: BRUSHES },
      premovable: { enabled: false },
    });
    new ResizeObserver(() => {
      if (!this.root.clientWidth) return;
      this.ground.redrawAll();
      this.drawArrows();
    }).observe(this.root);
  }

  show(shown: Shown): void {
    const { board, playable } = shown;
    if (board.kind !== "chess") return;
    this.shown = shown;
    this.board = board;
    this.asking?.remove();
    this.ground.set({
      fen: board.fen,
      turnColor: board.turn,
      check: board.check,
      lastMove: board.last as Key[],
      movable: {
        color: playable ? board.turn : undefined,
        dests: playable ? destinations(Object.keys(board.moves)) : new Map(),
      },
    });
  }

  mark(moves: readonly Row[]): void {
    const most = Math.max(1, ...moves.map((move) => move.N));
    const shapes: DrawShape[] = [];
    for (const move of moves.slice(0, ARROWS)) {
      const uci = this.uci(move.action);
      if (!uci || move.N < 0.03 * most) continue;
      shapes.push({
        orig: uci.slice(0, 2) as Key,
        dest: uci.slice(2, 4) as Key,
        brush: move.rank === 0 ? "best" : "other",
        modifiers: { lineWidth: 3 + Math.round((11 * move.N) / most) },
      });
    }
    this.arrows = shapes.reverse();
    this.drawArrows();
  }

  /** Draw the arrows, unless the board has no place yet: its size would be wrong. */
  private drawArrows(): void {
    if (!this.root.clientWidth) return;
    this.ground.state.dom.bounds.clear();
    this.ground.setAutoShapes(this.arrows);
  }

  flip(): void {
    this.ground.toggleOrientation();
  }

  private uci(action: number): string | undefined {
    return Object.entries(this.board?.moves ?? {}).find(([, code]) => code === action)?.[0];
  }

  private moved(from: Key, to: Key): void {
    const moves = this.board?.moves ?? {};
    const only = moves[from + to];
    if (only !== undefined) {
      this.play(only);
      return;
    }
    const offered = Object.keys(PIECES).filter((piece) => moves[from + to + piece] !== undefined);
    this.asking?.remove();
    const cancel = () => {
      this.asking?.remove();
      if (this.shown) this.show(this.shown); // the pawn goes back
    };
    this.asking = el(
      "div",
      { class: "promotion", aria: { role: "dialog", label: "Promote to" } },
      ...offered.map((piece) =>
        el(
          "button",
          {
            type: "button",
            onclick: () => {
              this.asking?.remove();
              const action = moves[from + to + piece];
              if (action !== undefined) this.play(action);
            },
          },
          PIECES[piece] ?? piece,
        ),
      ),
      button("×", "Cancel (Escape)", cancel),
    );
    this.asking.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      cancel();
    });
    this.root.append(this.asking);
    this.asking.querySelector("button")?.focus();
  }
}

/** The squares that each piece may go to, from moves in UCI. */
export function destinations(moves: readonly string[]): Map<Key, Key[]> {
  const found = new Map<Key, Key[]>();
  for (const move of moves) {
    const from = move.slice(0, 2) as Key;
    const to = move.slice(2, 4) as Key;
    const known = found.get(from);
    if (!known) found.set(from, [to]);
    else if (!known.includes(to)) known.push(to);
  }
  return found;
}

const BRUSHES = Object.fromEntries(
  [
    ["best", "#1f6fb5", 0.9],
    ["other", "#4f6b85", 0.5],
    ["green", "#15781b", 0.8],
    ["red", "#882020", 0.8],
    ["blue", "#003088", 0.8],
    ["yellow", "#e68f00", 0.8],
  ].map(([key, color, opacity]) => [
    key,
    { key: String(key), color: String(color), opacity: Number(opacity), lineWidth: 10 },
  ]),
) as Required<NonNullable<Parameters<typeof Chessground>[1]>>["drawable"]["brushes"] & object;
