// Connect Four and tic-tac-toe: a grid of stones; every cell or column is a button.

import { el, svg } from "../dom";
import type { Row } from "../moves";
import type { GridBoard } from "../protocol";
import { percent } from "../words";
import type { BoardView, Shown } from "./board";

export class GridView implements BoardView {
  readonly root = el("div", { class: "gridboard" });
  private shown: Shown | null = null;
  private shares = new Map<number, number>();
  private best: number | null = null;
  /** Whether shares of visits are shown, which need room above the columns. */
  private isMarked = false;

  constructor(private readonly play: (action: number) => void) {}

  show(shown: Shown): void {
    this.shown = shown;
    this.shares.clear();
    this.best = null;
    this.draw();
  }

  mark(moves: readonly Row[]): void {
    this.isMarked = true;
    const total = moves.reduce((sum, move) => sum + move.N, 0);
    this.shares = new Map(moves.map((move) => [move.action, total ? move.N / total : 0]));
    this.best = moves.find((move) => move.rank === 0 && move.N > 0)?.action ?? null;
    this.draw();
  }

  flip(): void {}

  private draw(): void {
    const board = this.shown?.board;
    if (!this.shown || board?.kind !== "grid") return;
    const home = this.root.getRootNode() as Document | ShadowRoot;
    const focused = (home.activeElement as HTMLElement | null)?.dataset.action;
    const legal = new Map(this.shown.actions.map((info) => [info.action, info.label]));
    const frame = el("div", { class: board.drop ? "grid drop" : "grid" });
    frame.style.setProperty("--columns", String(board.columns));
    frame.style.setProperty("--rows", String(board.rows));
    const marker = el("div", { class: "gridmarks" });
    marker.style.setProperty("--columns", String(board.columns));
    for (let at = 0; at < board.cells.length; at++) {
      const action = board.drop ? at % board.columns : at;
      const isOpen = this.shown.playable && legal.has(action);
      const cell = el(
        "button",
        {
          type: "button",
          class: `cell${at === board.last ? " last" : ""}`,
          disabled: !isOpen,
          tabIndex: board.drop && at >= board.columns ? -1 : 0,
          title: isOpen ? `Play ${legal.get(action)}` : "",
          data: { action: String(action) },
          aria: { label: this.name(board, at, legal.get(action)) },
          onclick: () => this.play(action),
        },
        stone(board.cells[at] ?? "."),
      );
      if (!board.drop) this.markCell(cell, action);
      frame.append(cell);
    }
    if (board.drop) for (let at = 0; at < board.columns; at++) marker.append(this.bar(at));
    this.root.replaceChildren(board.drop && this.isMarked ? marker : "", frame);
    if (focused !== undefined) {
      frame.querySelector<HTMLElement>(`[data-action="${focused}"]:not([tabindex="-1"])`)?.focus();
    }
  }

  private name(board: GridBoard, at: number, label: string | undefined): string {
    const content = { x: "crosses", o: "noughts" }[board.cells[at] ?? "."] ?? "empty";
    const stones = board.drop ? { crosses: "red", noughts: "yellow", empty: "empty" } : null;
    const what = stones ? stones[content as keyof typeof stones] : content;
    return `${label === undefined ? "" : `Play ${label}, `}${what}`;
  }

  private markCell(cell: HTMLElement, action: number): void {
    const share = this.shares.get(action);
    if (share === undefined || cell.querySelector("svg")) return;
    cell.append(el("span", { class: action === this.best ? "mark best" : "mark" }, percent(share)));
  }

  /** The share of visits above a column. */
  private bar(action: number): HTMLElement {
    const share = this.shares.get(action);
    const mark = el("div", { class: action === this.best ? "columnmark best" : "columnmark" });
    if (share === undefined) return mark;
    const bar = el("div", { class: "bar" });
    bar.style.height = `${Math.round(100 * share)}%`;
    mark.append(bar, el("span", {}, percent(share)));
    return mark;
  }
}

function stone(cell: string): Node {
  if (cell === ".") return document.createTextNode("");
  const shape =
    cell === "x"
      ? svg("path", { d: "M25 25 75 75M75 25 25 75", class: "cross" })
      : svg("circle", { cx: 50, cy: 50, r: 27, class: "nought" });
  const disc = svg("circle", { cx: 50, cy: 50, r: 44, class: `disc ${cell}` });
  return svg("svg", { viewBox: "0 0 100 100", "aria-hidden": "true" }, disc, shape);
}
