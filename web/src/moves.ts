// The table of moves: each row plays its move on a click and shows its line on a hover.

import { el } from "./dom";
import type { MoveRow } from "./protocol";
import { count, percent, signed } from "./words";

export interface MoveEvents {
  play(action: number): void;
  /** Show a line on the board; null: the position itself. */
  preview(line: number[] | null): void;
}

const MOST = 60;

export class MoveTable {
  readonly root: HTMLElement;
  private rows = new Map<number, MoveRow>();
  private readonly body = el("tbody");
  private readonly elements = new Map<number, HTMLTableRowElement>();
  private hasWdl = false;

  constructor(private readonly events: MoveEvents) {
    const heads: [string, string, string][] = [
      ["Move", "The move", ""],
      ["N", "Visits: simulations that took this move", "number"],
      ["Share", "How likely it is chosen at the temperature of the settings", "number wide"],
      ["Q", "Mean result for the side to move", "number"],
      ["P", "Prior: what the network thought before searching", "number"],
      ["W D L", "Wins, draws and losses expected", "wdlhead"],
      ["Line", "The expected continuation", "line"],
    ];
    const head = el(
      "tr",
      {},
      ...heads.map(([name, title, className]) => el("th", { class: className, title }, name)),
    );
    this.root = el("div", { class: "moves" }, el("table", {}, el("thead", {}, head), this.body));
    this.root.addEventListener("pointerleave", () => this.events.preview(null));
  }

  get sorted(): MoveRow[] {
    return [...this.rows.values()].sort((a, b) => a.rank - b.rank);
  }

  clear(): void {
    this.rows.clear();
    this.hasWdl = false;
    this.elements.clear();
    this.body.replaceChildren();
  }

  apply(changed: readonly MoveRow[]): void {
    for (const row of changed) {
      this.rows.set(row.action, row);
      if (row.wdl) this.hasWdl = true;
    }
    this.root.classList.toggle("haswdl", this.hasWdl);
    if (changed.length) this.draw(new Set(changed.map((row) => row.action)));
  }

  private draw(changed: ReadonlySet<number>): void {
    const rows = this.sorted.slice(0, MOST);
    const most = Math.max(1, ...rows.map((row) => row.N));
    rows.forEach((row, index) => {
      let made = this.elements.get(row.action);
      if (!made) {
        made = this.made(row.action);
        this.elements.set(row.action, made);
      }
      if (changed.has(row.action) || made.dataset.most !== String(most)) {
        this.fill(made, row, most);
      }
      if (this.body.children[index] !== made) {
        this.body.insertBefore(made, this.body.children[index] ?? null);
      }
    });
    while (this.body.children.length > rows.length) this.body.lastElementChild?.remove();
  }

  private made(action: number): HTMLTableRowElement {
    const row = el("tr", { tabIndex: 0, data: { action: String(action) } });
    const preview = () => this.events.preview(this.rows.get(action)?.line ?? null);
    row.addEventListener("pointerenter", preview);
    row.addEventListener("focus", preview);
    row.addEventListener("blur", () => this.events.preview(null));
    row.addEventListener("click", () => this.events.play(action));
    row.addEventListener("keydown", (event) => {
      const to = { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling }[
        event.key as "ArrowDown"
      ];
      if (event.key === "Enter") this.events.play(action);
      else if (to instanceof HTMLElement) to.focus();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    return row;
  }

  private fill(element: HTMLTableRowElement, row: MoveRow, most: number): void {
    element.dataset.most = String(most);
    element.classList.toggle("best", row.rank === 0 && row.N > 0);
    element.classList.toggle("unvisited", row.N === 0);
    const bar = el("div", { class: "visitbar" });
    bar.style.width = `${(100 * row.N) / most}%`;
    const q = row.score ?? signed(row.Q, 3);
    const mark = row.proven === null ? null : el("span", { class: "proof", title: "Proven" }, "✓");
    element.replaceChildren(
      el("td", { class: "move" }, row.label),
      el("td", { class: "number visits" }, bar, el("span", {}, count(row.N))),
      el("td", { class: "number wide" }, percent(row.share)),
      el("td", { class: "number", title: `Q ${signed(row.Q, 4)}` }, q, mark),
      el("td", { class: "number" }, percent(row.P)),
      el("td", { class: "wdlhead" }, row.wdl && wdlBar(row.wdl)),
      el("td", { class: "line" }, row.labels.slice(1).join(" ")),
    );
  }
}

/** Wins, draws and losses as a bar with its numbers. */
export function wdlBar(wdl: readonly number[]): HTMLElement {
  const [w = 0, d = 0, l = 0] = wdl.map((share) => Math.round(share / 10));
  const bar = el("div", { class: "wdl", title: `wins ${w}%, draws ${d}%, losses ${l}%` });
  const parts: [string, number][] = [
    ["w", w],
    ["d", d],
    ["l", l],
  ];
  for (const [name, share] of parts) {
    const part = el("span", { class: name }, share >= 12 ? String(share) : "");
    part.style.flexGrow = String(share);
    bar.append(part);
  }
  return bar;
}
