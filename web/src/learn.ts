// Watch runs learn: their list, their curves as they grow, their games move by move.

import { seatName } from "./boardpane";
import { type BoardView, boardView } from "./boards/board";
import { Charts } from "./charts";
import { button, el } from "./dom";
import { RunPoints } from "./points";
import type { Games, Message, Position, Replayed, Request, RunInfo } from "./protocol";
import { capital, percent, signed } from "./words";

const FEW = 3;

export class Learn {
  readonly root = el("main", { class: "learn", hidden: true });
  private chosen = new Set<string>();
  private curves = new Map<string, RunPoints>();
  private isFirst = true;
  private readonly list = el("tbody");
  private readonly empty = el(
    "p",
    { class: "quiet" },
    "No runs here. Train one (sylvan train connect4) and start with sylvan web --run runs.",
  );
  private readonly charts = new Charts();
  private readonly games = el("div", { class: "gamelist" });
  private readonly replay: ReplayPane;

  constructor(private readonly send: (request: Request) => void) {
    this.replay = new ReplayPane();
    const heads = ["", "run", "game", "state", "step", "done", "best", ""].map((name) =>
      el("th", {}, name),
    );
    this.root.append(
      el(
        "section",
        { class: "runs", aria: { label: "Runs" } },
        el("table", {}, el("thead", {}, el("tr", {}, ...heads)), this.list),
        this.empty,
        this.games,
        this.replay.root,
      ),
      el("section", { aria: { label: "Curves" } }, this.charts.root),
    );
    window.addEventListener("resize", () => this.draw()); // also when the theme changes
    let width = 0;
    new ResizeObserver(() => {
      if (width !== this.charts.root.clientWidth) this.draw();
      width = this.charts.root.clientWidth;
    }).observe(this.charts.root);
  }

  /** The page is shown: ask for the runs, and follow those chosen. */
  open(): void {
    this.send({ type: "follow", runs: [...this.chosen] });
  }

  /** The page is hidden: the server need not look at files. */
  close(): void {
    this.send({ type: "follow", runs: [] });
  }

  hear(message: Message): void {
    if (message.type === "runs") this.listed(message.runs);
    else if (message.type === "curves") {
      const run = this.curves.get(message.run) ?? new RunPoints();
      run.add(message);
      this.curves.set(message.run, run);
      this.draw();
    } else if (message.type === "games") this.offered(message);
    else if (message.type === "replayed") this.replay.show(message);
  }

  private listed(runs: RunInfo[]): void {
    this.empty.hidden = runs.length > 0;
    if (this.isFirst && runs.length) {
      this.isFirst = false;
      const whole = runs.filter((run) => run.state !== "damaged");
      this.chosen = new Set(whole.slice(0, FEW).map((run) => run.name));
      this.open();
      return;
    }
    this.list.replaceChildren(...runs.map((run) => this.row(run)));
  }

  private row(run: RunInfo): HTMLElement {
    const box = el("input", {
      type: "checkbox",
      checked: this.chosen.has(run.name),
      disabled: run.state === "damaged",
      aria: { label: `Show ${run.name}` },
    });
    box.onchange = () => {
      if (box.checked) this.chosen.add(run.name);
      else this.chosen.delete(run.name);
      this.curves.clear();
      this.draw();
      this.open();
    };
    const show = button("Games", `Games of ${run.name}`, () =>
      this.send({ type: "list_games", run: run.name }),
    );
    return el(
      "tr",
      { title: run.problem ?? "" },
      el("td", {}, box),
      el("td", {}, run.name),
      el("td", {}, run.game.split(":").at(-1) ?? ""),
      el("td", { class: `state ${run.state}` }, run.state),
      el("td", { class: "number" }, String(run.step)),
      el("td", { class: "number" }, percent(run.progress)),
      el("td", { class: "number" }, run.best === null ? "–" : signed(run.best, 0)),
      el("td", {}, run.state === "damaged" ? null : show),
    );
  }

  private draw(): void {
    if (this.root.hidden) return;
    const runs = new Map([...this.curves].filter(([name]) => this.chosen.has(name)));
    this.charts.show(runs);
  }

  private offered(message: Games): void {
    const list = el(
      "select",
      { aria: { label: `Games of ${message.run}` } },
      ...message.games.map((game) =>
        el(
          "option",
          { value: String(game.number) },
          `step ${game.step}, ${game.plies} plies, ${game.returns.map((x) => signed(x, 0)).join(" ")}`,
        ),
      ),
    );
    const ask = () => this.send({ type: "replay", run: message.run, number: Number(list.value) });
    list.onchange = ask;
    this.games.replaceChildren(el("h3", {}, `Games of ${message.run}, newest first`), list);
    ask();
  }
}

/** A game, position by position, with what the search thought. */
class ReplayPane {
  readonly root = el("div", { class: "replay", hidden: true });
  private board: BoardView | null = null;
  private kind = "";
  private game: Replayed | null = null;
  private readonly place = el("div", { class: "boardplace" });
  private readonly about = el("div", { class: "thoughts" });
  private readonly slider = el("input", { type: "range", min: "0", aria: { label: "Ply" } });

  constructor() {
    this.slider.oninput = () => this.go(Number(this.slider.value));
    this.root.append(
      el(
        "div",
        { class: "controls" },
        button("‹", "Back", () => this.go(Number(this.slider.value) - 1)),
        this.slider,
        button("›", "Forward", () => this.go(Number(this.slider.value) + 1)),
      ),
      el("div", { class: "replayrow" }, this.place, this.about),
    );
  }

  show(game: Replayed): void {
    this.game = game;
    this.root.hidden = false;
    this.slider.max = String(game.plies.length - 1);
    this.go(0);
  }

  private go(ply: number): void {
    const at = this.game?.plies[ply];
    if (!at || !this.game) return;
    this.slider.value = String(ply);
    if (!this.board || this.kind !== at.board.kind) {
      this.kind = at.board.kind;
      this.board = boardView(this.kind as typeof at.board.kind, () => {});
      this.place.replaceChildren(this.board.root);
    }
    this.board.show({ board: at.board, actions: [], playable: false });
    const like = { board: at.board, seats: [] as string[] } as unknown as Position;
    const who = at.seat === null ? "" : `${capital(seatName(like, at.seat))} played`;
    const result = this.game.info.returns.map((x) => signed(x, 0)).join(" ");
    const rows = at.policy.map((edge) =>
      el(
        "tr",
        { class: edge.label === at.label ? "chosen" : "" },
        el("td", {}, edge.label === at.label ? `▶ ${edge.label}` : edge.label),
        el("td", { class: "number" }, percent(edge.P)),
      ),
    );
    const last = this.game.plies.length - 1;
    this.about.replaceChildren(
      el(
        "p",
        {},
        at.label === null ? `The end: ${result}` : `Ply ${ply + 1} of ${last}: ${who} ${at.label}`,
      ),
      el(
        "p",
        { class: "quiet" },
        at.values
          ? `The search's values: ${at.values.map((x) => signed(x)).join(" ")}`
          : at.label === null
            ? ""
            : "An opening move, drawn at random: not searched.",
      ),
      el("table", { class: "edges" }, el("tbody", {}, ...rows)),
    );
  }
}
