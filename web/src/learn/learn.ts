// Watch runs learn: their list, their curves as they grow, their games move by move.

import { button, el, isForPage } from "../dom";
import type { Games, Message, Request, RunInfo } from "../protocol";
import { percent, signed } from "../words";
import { Charts } from "./charts";
import { OpinionPane } from "./opinion";
import { RunPoints } from "./points";
import { ReplayPane } from "./replay";
import { StartForm } from "./start";

const FEW = 3;

const NONE_YET =
  "No network has been trained here yet. Start a run below, for example Connect Four for 20 minutes: its curves grow while you look.";
const NONE_HERE =
  "There are no runs here yet. Train one where the server was started, with sylvan train connect4 --run runs/first: it appears here.";

export class Learn {
  readonly root = el("main", { class: "learn", hidden: true });
  private chosen = new Set<string>();
  private known = new Set<string>();
  private curves = new Map<string, RunPoints>();
  private isFirst = true;
  private readonly list = el("tbody");
  private readonly empty = el("p", { hidden: true });
  private readonly charts = new Charts();
  private readonly games = el("div", { class: "gamelist" });
  private readonly limits = el("ul", { class: "limits quiet" });
  private readonly replay: ReplayPane;
  private readonly opinion: OpinionPane;
  private readonly start: StartForm;

  /** `keys` are those of the page, or in a notebook those of its cell. */
  constructor(
    private readonly send: (request: Request) => void,
    keys: EventTarget = document,
  ) {
    this.replay = new ReplayPane(send);
    this.opinion = new OpinionPane(send);
    this.start = new StartForm(send);
    const heads = ["", "run", "game", "state", "step", "done", "best", ""].map((name) =>
      el("th", {}, name),
    );
    this.root.append(
      el(
        "section",
        { class: "runs", aria: { label: "Runs" } },
        el("table", {}, el("thead", {}, el("tr", {}, ...heads)), this.list),
        this.empty,
        this.limits,
        this.start.root,
        this.games,
        this.replay.root,
        this.opinion.root,
      ),
      el("section", { aria: { label: "Curves" } }, this.charts.root),
    );
    window.addEventListener("resize", () => this.draw()); // also when the theme changes
    keys.addEventListener("keydown", (event) => this.key(event as KeyboardEvent));
    let width = 0;
    new ResizeObserver(() => {
      if (width !== this.charts.root.clientWidth) this.draw();
      width = this.charts.root.clientWidth;
    }).observe(this.charts.root);
  }

  /** The page is shown: ask for the runs, and follow those chosen. */
  open(): void {
    this.send({ type: "follow", runs: [...this.chosen] });
    this.opinion.ask();
  }

  /** The page is hidden: the server need not look at files. */
  close(): void {
    this.send({ type: "follow", runs: [], show: false });
  }

  hear(message: Message): void {
    if (message.type === "runs") {
      this.start.offer(message.trainable, !message.runs.length);
      this.listed(message.runs, message.trainable.length > 0);
    }
    if (message.type === "curves") {
      const run = this.curves.get(message.run) ?? new RunPoints();
      run.add(message);
      this.curves.set(message.run, run);
      this.draw();
    } else if (message.type === "games") this.offered(message);
    else if (message.type === "replayed") {
      if (message.is_film) this.games.replaceChildren(el("h3", {}, `Film of ${message.run}`));
      this.replay.show(message);
    } else if (message.type === "foreseen") this.replay.foreseen(message);
    else if (message.type === "opinions") this.opinion.show(message);
  }

  private listed(runs: RunInfo[], trains: boolean): void {
    this.empty.hidden = runs.length > 0;
    this.empty.textContent = trains ? NONE_YET : NONE_HERE;
    if (this.isFirst && runs.length) {
      this.isFirst = false;
      const whole = runs.filter((run) => run.state !== "damaged");
      this.chosen = new Set(whole.slice(0, FEW).map((run) => run.name));
      this.open();
      return;
    }
    for (const run of runs) if (run.state === "running") this.wake(run.name);
    this.list.replaceChildren(...runs.map((run) => this.row(run, trains)));
    const limited = runs.filter((run) => run.limit && this.chosen.has(run.name));
    this.limits.replaceChildren(
      ...limited.map((run) => el("li", {}, `In ${run.name}, ${run.limit}.`)),
    );
  }

  /** A run that has just begun is shown by itself. */
  private wake(name: string): void {
    if (this.chosen.has(name) || this.known.has(name)) return;
    this.chosen.add(name);
    this.known.add(name);
    this.open();
  }

  private row(run: RunInfo, trains: boolean): HTMLElement {
    this.known.add(run.name);
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
      el(
        "td",
        { class: "runbuttons" },
        ...(run.state === "damaged" ? [] : this.buttons(run, trains)),
      ),
    );
  }

  private buttons(run: RunInfo, trains: boolean): HTMLElement[] {
    const { name } = run;
    const ask = (label: string, title: string, request: Request) =>
      button(label, `${title} ${name}`, () => this.send(request));
    const found = [ask("Games", "Games of", { type: "list_games", run: name })];
    if (run.is_environment) found.push(ask("Film", "An episode of", { type: "film", run: name }));
    else {
      found.push(
        button("Opinion", `What the networks of ${name} thought of a position`, () =>
          this.opinion.open(name),
        ),
      );
    }
    if (run.is_own) found.push(ask("Pause", "Pause", { type: "pause_run", run: name }));
    else if (trains && (run.state === "stopped" || run.state === "new")) {
      found.push(ask("Resume", "Resume", { type: "resume_run", run: name }));
    }
    return found;
  }

  private key(event: KeyboardEvent): void {
    if (!this.root.hidden && isForPage(event)) this.replay.key(event.key);
  }

  private draw(): void {
    if (this.root.hidden) return;
    this.opinion.draw();
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
    const heading = el("h3", {}, `Games of ${message.run}, newest first`);
    this.games.replaceChildren(heading, list, ...this.pages(message));
    if (message.games.length) ask();
  }

  /** Buttons for newer and older games, where there are some. */
  private pages({ run, page, is_last }: Games): HTMLElement[] {
    const turn = (text: string, to: number) =>
      button(text, `${text} of ${run}`, () => this.send({ type: "list_games", run, page: to }));
    const newer = page > 0 ? [turn("Newer games", page - 1)] : [];
    return is_last ? newer : [...newer, turn("Older games", page + 1)];
  }
}
