// Compare two searches of the same position: another network or other settings beside the first.
// The second search has a connection of its own, so to the server it is another page.

import { Connection } from "./connection";
import { button, el } from "./dom";
import type { Row } from "./moves";
import type { Hello, Looked, Message, MoveRow, Position, Request, Search } from "./protocol";
import { type Settings, SettingsPanel } from "./settings";
import { differences, NOTABLE } from "./tree/differences";
import { TreePane } from "./treepane";
import { speedOf, verdictOf } from "./verdict";
import { count, percent, signed } from "./words";

const MOST = 20;

export class Compare {
  /** Network, settings and result of the second search; the table of both. */
  readonly root = el("div", { class: "compare", hidden: true });
  readonly tree: TreePane;
  private link: Connection | null = null;
  private position: Position | null = null;
  private search: Search | null = null;
  private settings: Settings = {};
  private moves: readonly Row[] = [];
  private rows = new Map<number, MoveRow>();
  private running = false;
  private readonly evaluator = el("select", { aria: { label: "Second network" } });
  private readonly verdict = el("p", { class: "verdict" });
  private readonly speed = el("p", { class: "speed", aria: { label: "Speed of the second" } });
  private readonly table = el("div", { class: "moves versus" });
  private readonly panel = new SettingsPanel((settings) => this.configure(settings), "second");

  /** `first` is the tree of the first search; `play` makes a move, `look` shows a position. */
  constructor(
    private readonly first: TreePane,
    private readonly play: (action: number) => void,
    private readonly look: (looked: Looked) => void,
  ) {
    this.tree = new TreePane({
      look: (path) => this.send({ type: "look", path, details: true }),
      wanted: () => this.want(),
    });
    this.evaluator.onchange = () => this.configure(this.settings);
    this.root.append(
      el("h3", {}, "The second search"),
      this.verdict,
      el("div", { class: "speedline" }, this.evaluator, this.speed),
      el(
        "details",
        { class: "settingsbox" },
        el("summary", { title: "Settings of the second search" }, "Settings of the second"),
        this.panel.root,
      ),
      this.table,
    );
  }

  get isOpen(): boolean {
    return this.link !== null;
  }

  open(position: Position, running: boolean): void {
    this.root.hidden = false;
    this.running = running;
    this.position = position;
    this.link = new Connection(
      (message) => this.hear(message),
      (state) => {
        if (state === "lost") this.verdict.textContent = "The server does not answer.";
      },
    );
  }

  close(): void {
    this.root.hidden = true;
    this.link?.close();
    this.link = this.search = null;
    this.clear();
    this.mark();
  }

  /** The first search is at another position. */
  follow(position: Position): void {
    const before = this.position;
    this.position = position;
    if (!this.isOpen || (before && placeOf(before) === placeOf(position))) return;
    const last = position.plies[position.ply - 1]?.action;
    const isNext = before && last !== undefined && placeOf(before) === placeOf(position, 1);
    if (isNext) this.send({ type: "move", action: last });
    else this.ask(position);
  }

  /** Start, stop or step, as the first does. */
  send(request: Request): void {
    if (request.type === "run") this.running = request.simulations === undefined;
    if (request.type === "stop") this.running = false;
    this.link?.send(request);
  }

  /** Draw what differs; the first search has these moves. */
  update(moves: readonly Row[]): void {
    this.moves = moves;
    if (!this.isOpen) return;
    this.table.replaceChildren(this.versus(moves));
    this.mark();
  }

  private hear(message: Message): void {
    if (message.type === "hello") this.welcome(message);
    else if (message.type === "position") this.shown(message);
    else if (message.type === "search") this.searched(message);
    else if (message.type === "looked") {
      this.tree.show(message);
      this.look(message);
    } else if (message.type === "problem") this.verdict.textContent = message.sentence;
  }

  private welcome(hello: Hello): void {
    const chosen = this.evaluator.value || this.position?.evaluator;
    this.evaluator.replaceChildren(
      ...hello.evaluators.map((name) =>
        el("option", { value: name }, name === "default" ? "default network" : name),
      ),
    );
    if (chosen) this.evaluator.value = chosen;
    if (!Object.keys(this.settings).length) this.settings = this.position?.settings ?? {};
    this.panel.offer(hello.settings);
    this.panel.show(this.settings);
    this.configure(this.settings);
    this.want();
    if (this.position) this.ask(this.position);
  }

  private ask(position: Position): void {
    const moves = position.plies.map((ply) => ply.action);
    const { game, start: text, ply } = position;
    this.link?.send({ type: "open", game, text, moves, ply });
    if (this.running) this.link?.send({ type: "run" });
  }

  private configure(settings: Settings): void {
    this.settings = settings;
    this.link?.send({ type: "configure", evaluator: this.evaluator.value, settings });
  }

  private want(): void {
    const { nodes, opened } = this.tree;
    this.link?.send({ type: "show", nodes, opened });
  }

  private shown(position: Position): void {
    this.tree.seats = position.seats;
    this.panel.show(position.settings);
    this.settings = position.settings;
  }

  private searched(search: Search): void {
    const { position } = this;
    if (!position) return;
    if (search.fresh) this.clear();
    this.search = search;
    for (const row of search.moves) this.rows.set(row.action, row);
    const [low, high] = position.value_range ?? [-1, 1];
    this.tree.apply(search, [low ?? -1, high ?? 1]);
    this.verdict.replaceChildren(...verdictOf(search, position, this.sorted[0]));
    this.speed.textContent = speedOf(search);
    this.update(this.moves);
  }

  private clear(): void {
    this.rows.clear();
    this.tree.clear();
  }

  private get sorted(): MoveRow[] {
    return [...this.rows.values()].sort((a, b) => a.rank - b.rank);
  }

  private mark(): void {
    const [own, other] = [this.first.store, this.tree.store];
    this.first.view.differs = this.isOpen ? differences(own, other) : new Map();
    this.tree.view.differs = this.isOpen ? differences(other, own) : new Map();
    this.first.view.draw();
    this.tree.view.draw();
  }

  /** Both searches in one table: what differs by a tenth of the visits is marked. */
  private versus(moves: readonly Row[]): HTMLElement {
    const names = ["Move", "N", "N₂", "Share", "Share₂", "", "Q", "Q₂", "P", "P₂"];
    const total = (rows: Iterable<Row>) => [...rows].reduce((sum, row) => sum + row.N, 0) || 1;
    const totals = [total(moves), total(this.rows.values())] as const;
    const actions = [...new Set([...moves, ...this.sorted].map((row) => row.action))];
    const visits = (action: number) =>
      (moves.find((row) => row.action === action)?.N ?? 0) / totals[0] +
      (this.rows.get(action)?.N ?? 0) / totals[1];
    actions.sort((a, b) => visits(b) - visits(a));
    const rows = actions.slice(0, MOST).map((action) => {
      const [a, b] = [moves.find((row) => row.action === action), this.rows.get(action)];
      const shares = [(a?.N ?? 0) / totals[0], (b?.N ?? 0) / totals[1]] as const;
      const by = shares[1] - shares[0];
      const differs = Math.abs(by) >= NOTABLE && this.search !== null;
      const best = `${a?.rank === 0 ? "①" : ""}${b?.rank === 0 && b.N ? "②" : ""}`;
      const cells = [
        count(a?.N ?? 0),
        count(b?.N ?? 0),
        percent(shares[0]),
        percent(shares[1]),
        differs ? (by > 0 ? "▲" : "▼") : "",
        signed(a?.Q ?? null, 3),
        signed(b?.Q ?? null, 3),
        percent(a?.P ?? null),
        percent(b?.P ?? null),
      ];
      return el(
        "tr",
        { class: differs ? "differs" : "" },
        el(
          "td",
          { class: "move" },
          button(a?.label ?? b?.label ?? "", "Play this move", () => this.play(action), "plain"),
          ` ${best}`,
        ),
        ...cells.map((text) =>
          el("td", { class: /[▲▼]/.test(text) ? "number sign" : "number" }, text),
        ),
      );
    });
    const head = names.map((name) => el("th", { class: name === "Move" ? "" : "number" }, name));
    return el(
      "table",
      {
        title: "① best of the first search, ② of the second; ▲ the second looks more at it, ▼ less",
      },
      el("thead", {}, el("tr", {}, ...head)),
      el("tbody", {}, ...rows),
    );
  }
}

/** A position as a text, or `back` plies earlier. */
function placeOf(position: Position, back = 0): string {
  const ply = position.ply - back;
  const moves = position.plies.slice(0, ply).map((each) => each.action);
  return `${position.game} ${position.start} ${moves.join()}`;
}
