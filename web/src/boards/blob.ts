// A table of Blob as one seat sees it: who bid what, the trick, one's own hand.

import { el } from "../dom";
import type { Row } from "../moves";
import type { BlobBoard, CardInfo } from "../protocol";
import { percent } from "../words";
import type { BoardView, Shown } from "./board";

export class BlobView implements BoardView {
  readonly root = el("div", { class: "blobtable" });
  private shown: Shown | null = null;
  /** The share of each action's visits. */
  private shares = new Map<number, number>();

  constructor(private readonly play: (action: number) => void) {}

  show(shown: Shown): void {
    this.shown = shown;
    this.shares.clear();
    this.draw();
  }

  mark(moves: readonly Row[]): void {
    const total = moves.reduce((sum, move) => sum + move.N, 0);
    this.shares = new Map(moves.map((move) => [move.action, total ? move.N / total : 0]));
    this.draw();
  }

  flip(): void {}

  private draw(): void {
    const { shown } = this;
    const board = shown?.board;
    if (!shown || board?.kind !== "blob") return;
    // Bids, and in an analysis the cards that another seat may play.
    const isOthers = board.to_play !== board.you;
    const choices = shown.playable && (board.bidding || isOthers) ? shown.actions : [];
    this.root.replaceChildren(
      el("p", { class: "round" }, roundOf(board)),
      seats(board),
      el(
        "div",
        { class: "trick", aria: { label: "The trick" }, hidden: board.bidding },
        ...board.trick.map((card) =>
          el("figure", {}, this.card(card, false), el("figcaption", {}, `seat ${card.seat}`)),
        ),
      ),
      el(
        "div",
        { class: "actions" },
        ...choices.map((info) =>
          el(
            "button",
            { type: "button", onclick: () => this.play(info.action) },
            info.label,
            this.share(info.action),
          ),
        ),
      ),
      el(
        "div",
        { class: board.bidding ? "hand bidding" : "hand", aria: { label: "Your hand" } },
        ...board.hand.map((card) => this.card(card, shown.playable)),
      ),
    );
  }

  private share(action: number | null): HTMLElement | null {
    const share = action === null ? undefined : this.shares.get(action);
    return share === undefined ? null : el("span", { class: "share" }, percent(share));
  }

  private card(card: CardInfo, playable: boolean): HTMLElement {
    const suit = card.name.at(-1) ?? "";
    const red = "♥♦".includes(suit) ? " red" : "";
    const action = playable ? card.action : null;
    return el(
      "button",
      {
        type: "button",
        class: `card${red}`,
        disabled: action === null,
        aria: { label: card.name },
        onclick: () => action !== null && this.play(action),
      },
      el("span", {}, card.name.slice(0, -1)),
      el("span", { class: "suit" }, suit),
      this.share(action),
    );
  }
}

function roundOf(board: BlobBoard): string {
  const cards = `${board.cards} card${board.cards === 1 ? "" : "s"}`;
  const trump = board.trump ? `trump ${board.trump}` : "no trump";
  const turned = board.turned_up ? ` (${board.turned_up} turned up)` : "";
  return `Round ${board.round} of ${board.rounds}: ${cards}, ${trump}${turned}`;
}

function seats(board: BlobBoard): HTMLElement {
  const heads = ["", "bid", "took", "cards", "lacks", "points"].map((name) =>
    el("th", { class: name && name !== "lacks" ? "number" : "" }, name),
  );
  const rows = board.seats.map((seat, number) =>
    el(
      "tr",
      { class: number === board.to_play ? "turn" : "" },
      el(
        "td",
        {},
        `${number === board.to_play ? "▶ " : ""}${number === board.you ? "you" : `seat ${number}`}${number === board.dealer ? ", dealer" : ""}`,
      ),
      ...[seat.bid ?? "–", seat.tricks, seat.cards].map((cell) =>
        el("td", { class: "number" }, String(cell)),
      ),
      el("td", {}, seat.voids || "–"),
      el("td", { class: "number" }, String(seat.points)),
    ),
  );
  return el(
    "table",
    { class: "edges seats" },
    el("thead", {}, el("tr", {}, ...heads)),
    el("tbody", {}, ...rows),
  );
}
