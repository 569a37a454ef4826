// Set up a chess position: put pieces on the board, say who moves and who may castle.

import { Chessground } from "chessground";
import type { Api } from "chessground/api";
import type { Color, Key, Piece, Role } from "chessground/types";
import { button, el } from "../dom";

const ROLES: Role[] = ["king", "queen", "rook", "bishop", "knight", "pawn"];
const START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR";
const RIGHTS: [string, string][] = [
  ["K", "White short"],
  ["Q", "White long"],
  ["k", "Black short"],
  ["q", "Black long"],
];

export interface EditorEvents {
  /** Open the position. */
  done(fen: string): void;
  cancel(): void;
}

export class Editor {
  readonly root = el("div", {
    class: "editor",
    aria: { role: "group", label: "Set up a position" },
  });
  private readonly ground: Api;
  /** The piece that a click puts on a square; null: nothing, so it takes away; undefined: clicks move. */
  private brush: Piece | null | undefined = undefined;
  private readonly brushes: HTMLButtonElement[] = [];
  private readonly turn = el(
    "select",
    { aria: { label: "Side to move" } },
    el("option", { value: "w" }, "White to move"),
    el("option", { value: "b" }, "Black to move"),
  );
  private readonly rights = RIGHTS.map(([letter, label]) =>
    el("input", { type: "checkbox", value: letter, title: label, aria: { label } }),
  );
  private readonly text = el("input", {
    type: "text",
    class: "fen",
    spellcheck: false,
    aria: { label: "FEN" },
  });

  constructor(fen: string, events: EditorEvents) {
    const inner = el("div");
    const board = el("div", { class: "chessboard" }, inner);
    this.ground = Chessground(inner, {
      coordinates: true,
      movable: { free: true, color: "both" },
      draggable: { deleteOnDropOff: true },
      drawable: { enabled: false },
      premovable: { enabled: false },
      highlight: { lastMove: false },
      events: { change: () => this.write(), select: (key) => this.put(key) },
    });
    new ResizeObserver(() => {
      if (board.clientWidth) this.ground.redrawAll();
    }).observe(board);
    for (const input of [this.turn, ...this.rights]) input.onchange = () => this.write();
    this.text.oninput = () => this.read(this.text.value);
    this.text.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") events.done(this.text.value);
      if (event.key === "Escape") events.cancel();
    });
    this.root.append(
      this.palette("black"),
      board,
      this.palette("white"),
      el(
        "div",
        { class: "controls" },
        this.turn,
        el("span", { class: "quiet" }, "castling"),
        ...RIGHTS.map(([letter, label], at) =>
          el("label", { title: label }, this.rights[at] ?? "", letter),
        ),
      ),
      this.text,
      el(
        "div",
        { class: "controls" },
        button(
          "Search it",
          "Open this position (Enter in the line above)",
          () => events.done(this.text.value),
          "main",
        ),
        button("Empty", "Take all pieces away", () => this.read("8/8/8/8/8/8/8/8")),
        button("Start", "The first position of a game", () => this.read(`${START} w KQkq - 0 1`)),
        button("Cancel", "Back without a change", () => events.cancel()),
      ),
    );
    this.read(fen);
    this.text.value = fen;
  }

  private palette(color: Color): HTMLElement {
    const pieces = ROLES.map((role) => this.offer({ color, role }, `${color} ${role}`));
    return el("div", { class: "palette" }, ...pieces, this.offer(null, "nothing"));
  }

  /** A button that chooses what clicks put on the board; again: clicks move pieces. */
  private offer(piece: Piece | null, name: string): HTMLElement {
    const made: HTMLButtonElement = button(
      piece ? "" : "×",
      piece ? `Put a ${name} on squares` : "Take pieces away",
      () => {
        const again = made.getAttribute("aria-pressed") === "true";
        this.brush = again ? undefined : piece;
        for (const each of this.brushes) {
          each.setAttribute("aria-pressed", String(each === made && !again));
        }
        this.ground.set({ movable: { color: again ? "both" : undefined } });
      },
      piece ? "brush cg-wrap" : "brush",
    );
    if (piece) {
      made.append(document.createElement("piece"));
      made.firstElementChild?.classList.add(piece.color, piece.role);
    }
    this.brushes.push(made);
    return made;
  }

  private put(key: Key): void {
    if (this.brush === undefined) return;
    const same = this.ground.state.pieces.get(key);
    const again = this.brush && same?.role === this.brush.role && same.color === this.brush.color;
    this.ground.setPieces(new Map([[key, again || !this.brush ? undefined : this.brush]]));
    this.ground.selectSquare(null);
    this.write();
  }

  /** Show a FEN, or the beginning of one. */
  private read(fen: string): void {
    const [pieces = "", turn = "w", castling = "-"] = fen.trim().split(/\s+/);
    if (pieces.split("/").length !== 8) return; // not yet
    this.ground.set({ fen: pieces, lastMove: [] });
    this.turn.value = turn === "b" ? "b" : "w";
    for (const box of this.rights) box.checked = castling.includes(box.value);
    if (document.activeElement !== this.text) this.write();
  }

  private write(): void {
    const rights = this.rights.filter((box) => box.checked).map((box) => box.value);
    this.text.value = `${this.ground.getFen()} ${this.turn.value} ${rights.join("") || "-"} - 0 1`;
  }
}
