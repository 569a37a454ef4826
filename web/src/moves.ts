// The table of moves: each row shows its line when it is pointed at or tapped, and plays its move on
// a click, or with its button ▶.

import { button, el } from "./dom";
import type { ActionInfo, MoveRow } from "./protocol";
import { count, minus, percent, signed } from "./words";

export interface MoveEvents {
  play(action: number): void;
  /** Show a line on the board, after a tap until something else is touched; null: the position. */
  preview(line: number[] | null, touched?: boolean): void;
}

/** A row, also of a move that no search has looked at yet. */
export type Row = Omit<MoveRow, "P"> & { P: number | null };

const MOST = 60;

/** Columns: name, help, class. */
const HEADS: readonly [string, string, string][] = [
  ["", "Play the move", "plays"],
  ["Move", "The move", ""],
  ["N", "Visits: simulations that took this move", "number"],
  ["Share", "How likely it is chosen at the temperature of the settings", "number wide"],
  ["Q", "Mean value of its simulations, for the side to move", "number"],
  ["Pawns", "The same value in pawns; #3 is a mate in three moves", "number pawns"],
  ["P", "Prior: the network's opinion before searching", "number"],
  ["W D L", "Wins, draws and losses expected", "wdlhead"],
  ["Line", "The expected continuation", "line"],
];

export class MoveTable {
  readonly root: HTMLElement;
  private rows = new Map<number, Row>();
  private readonly body = el("tbody");
  private readonly elements = new Map<number, HTMLTableRowElement>();

  constructor(private readonly events: MoveEvents) {
    const head = el(
      "tr",
      {},
      ...HEADS.map(([name, title, className]) => el("th", { class: className, title }, name)),
    );
    const scrolled = el(
      "div",
      { class: "moves" },
      el("table", {}, el("thead", {}, head), this.body),
    );
    scrolled.addEventListener("pointerleave", (event) => {
      if (event.pointerType !== "touch") this.events.preview(null);
    });
    const help =
      "N: visits. Q: mean value for the side to move. P: the network's opinion before searching. " +
      "Point at a row to see its line.";
    this.root = el("div", { class: "movebox" }, scrolled, el("p", { class: "legend" }, help));
  }

  get sorted(): Row[] {
    return [...this.rows.values()].sort((a, b) => a.rank - b.rank);
  }

  /** Forget the search, and list moves without figures. */
  offer(actions: readonly ActionInfo[]): void {
    this.rows.clear();
    this.elements.clear();
    this.body.replaceChildren();
    this.root.classList.remove("haswdl", "haspawns");
    for (const [rank, info] of actions.entries()) this.rows.set(info.action, unknown(info, rank));
    this.draw(new Set(this.rows.keys()));
  }

  apply(changed: readonly MoveRow[]): void {
    for (const row of changed) this.rows.set(row.action, row);
    if (changed.some((row) => row.wdl)) this.root.classList.add("haswdl");
    if (changed.some((row) => row.score)) this.root.classList.add("haspawns");
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
    const preview = (touched = false) =>
      this.events.preview(this.rows.get(action)?.line ?? null, touched);
    let isTouched = false;
    row.addEventListener("pointerdown", (event) => {
      isTouched = event.pointerType === "touch";
    });
    row.addEventListener("pointerenter", (event) => {
      if (event.pointerType !== "touch") preview();
    });
    row.addEventListener("focus", () => isTouched || preview());
    row.addEventListener("blur", () => this.events.preview(null));
    // A finger cannot point: its tap shows the line, and the button plays.
    row.addEventListener("click", () => (isTouched ? preview(true) : this.events.play(action)));
    row.addEventListener("keydown", (event) => {
      isTouched = false;
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

  private fill(element: HTMLTableRowElement, row: Row, most: number): void {
    element.dataset.most = String(most);
    element.classList.toggle("best", row.rank === 0 && row.N > 0);
    element.classList.toggle("unvisited", row.N === 0);
    const bar = el("div", { class: "visitbar" });
    bar.style.width = `${(100 * row.N) / most}%`;
    const mark = row.proven === null ? null : el("span", { class: "proof", title: "Proven" }, "✓");
    element.replaceChildren(
      el("td", { class: "plays" }, this.player(row)),
      el("td", { class: "move" }, row.label),
      el("td", { class: "number visits" }, bar, el("span", {}, count(row.N))),
      el("td", { class: "number wide" }, row.N ? percent(row.share) : ""),
      el("td", { class: "number" }, signed(row.Q, 3), mark),
      el("td", { class: "number pawns" }, minus(row.score ?? "")),
      el("td", { class: "number" }, percent(row.P)),
      el("td", { class: "wdlhead" }, row.wdl && wdlBar(row.wdl)),
      el("td", { class: "line" }, row.labels.slice(1).join(" ")),
    );
  }

  private player(row: Row): HTMLElement {
    const made = button("▶", `Play ${row.label}`, () => {});
    made.tabIndex = -1; // Enter on the row plays
    made.onclick = (event) => {
      event.stopPropagation();
      this.events.play(row.action);
    };
    return made;
  }
}

/** The row of a move before the first simulation. */
function unknown({ action, label }: ActionInfo, rank: number): Row {
  const nothing = { N: 0, share: 0, Q: null, P: null, wdl: null, score: null, proven: null };
  return { action, label, rank, line: [action], labels: [label], ...nothing };
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
