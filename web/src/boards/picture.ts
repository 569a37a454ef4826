// Any other game: its own picture or text, and a list of actions.

import { el } from "../dom";
import type { Row } from "../moves";
import { percent } from "../words";
import type { BoardView, Shown } from "./board";

export class PictureView implements BoardView {
  readonly root = el("div", { class: "pictureboard" });
  private shown: Shown | null = null;

  constructor(private readonly play: (action: number) => void) {}

  show(shown: Shown): void {
    this.shown = shown;
    this.draw(new Map());
  }

  mark(moves: readonly Row[]): void {
    const total = moves.reduce((sum, move) => sum + move.N, 0);
    this.draw(new Map(moves.map((move) => [move.action, total ? move.N / total : 0])));
  }

  flip(): void {}

  private draw(shares: Map<number, number>): void {
    const board = this.shown?.board;
    if (!this.shown || board?.kind !== "picture") return;
    const source = board.image
      ? `data:image/png;base64,${board.image}`
      : board.svg && `data:image/svg+xml,${encodeURIComponent(board.svg)}`;
    const picture = source
      ? el("img", { src: source, alt: board.text })
      : el("pre", {}, board.text);
    const { playable } = this.shown;
    const actions = this.shown.actions.map((info) =>
      el(
        "button",
        { type: "button", disabled: !playable, onclick: () => this.play(info.action) },
        info.label,
        shares.has(info.action) &&
          el("span", { class: "share" }, percent(shares.get(info.action) ?? 0)),
      ),
    );
    this.root.replaceChildren(picture, el("div", { class: "actions" }, ...actions));
  }
}
