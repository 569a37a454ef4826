// Analyse a position: the search as it runs, on the board, in the table and in the tree.

import { type Place, readPlace, writePlace } from "./address";
import { BoardPane, rangeOf, seatName } from "./boardpane";
import { Compare } from "./compare";
import { button, el, isForPage } from "./dom";
import { LinePlayer } from "./lineplayer";
import { MoveTable } from "./moves";
import type { Hello, Message, Position, Request, Search, Simulation } from "./protocol";
import { type Settings, SettingsPanel } from "./settings";
import { type Phase, SlowMotion } from "./slow";
import { TreePane } from "./treepane";
import { speedOf, verdictOf } from "./verdict";

const SWEEP = 200;
/** Bytes of a position or a game in a file. */
const LARGEST = 200_000;
/** Bytes of an analysis: a message to the server has 3 MiB of it in base 64. */
const LARGEST_ANALYSIS = 2_250_000;

export class Analyse {
  readonly root = el("main", { class: "analyse" });
  private readonly board: BoardPane;
  private readonly table: MoveTable;
  private readonly tree: TreePane;
  private readonly compare: Compare;
  private readonly slow: SlowMotion;
  private readonly panel: SettingsPanel;
  private hello: Hello | null = null;
  private search: Search | null = null;
  /** Messages that wait until slow motion has shown its simulation. */
  private held: Search[] = [];
  private settings: Settings = {};
  private wasRunning = false;
  /** Whether a line is shown because a row was tapped: it stays. */
  private touched = false;
  private readonly line = new LinePlayer((path) => this.send({ type: "look", path }));
  private readonly evaluator = el("select", { aria: { label: "Network" } });
  private readonly speed = el("p", { class: "speed", aria: { label: "Speed" } });
  private readonly verdict = el("p", { class: "verdict" });
  private readonly start = button(
    "Start",
    "Search until stopped (space)",
    () => this.toggle(),
    "main",
  );
  private readonly watch = button("Slow", "Watch each simulation (s)", () => this.toggleSlow());
  private readonly versus = button(
    "Compare",
    "Search with another network or other settings beside this one (d)",
    () => this.toggleCompare(),
  );
  private readonly settingsBox: HTMLDetailsElement;

  constructor(
    private readonly send: (request: Request) => void,
    private readonly tell: (sentence: string) => void,
  ) {
    this.board = new BoardPane({
      play: (action) => this.play(action),
      go: (ply) => send({ type: "goto", ply }),
      open: (game, text) => this.open(game, text),
      sweep: () => send({ type: "sweep", simulations: SWEEP }),
    });
    this.table = new MoveTable({
      play: (action) => this.play(action),
      preview: (line, touched) => this.preview(line, touched),
    });
    this.tree = new TreePane({
      look: (path) => send({ type: "look", path, details: true }),
      wanted: () => this.want(),
    });
    this.compare = new Compare(
      this.tree,
      (action) => this.play(action),
      (looked) => this.board.look(looked),
    );
    this.slow = new SlowMotion((seat) => seatName(this.board.position, seat), {
      light: (path, phase) => this.light(path, phase),
      done: () => this.shown(),
    });
    this.panel = new SettingsPanel((settings) => this.configure(settings));
    this.settingsBox = el(
      "details",
      { class: "settingsbox" },
      el("summary", { title: "Settings of the search" }, "Settings"),
      this.panel.root,
    );
    this.evaluator.onchange = () => this.configure(this.settings);
    this.board.root.append(this.settingsBox); // there is room below the board
    this.root.append(this.board.root, this.enginePane(), this.tree.root);
    this.listen();
  }

  private enginePane(): HTMLElement {
    const pace = el("input", {
      type: "range",
      min: "80",
      max: "1500",
      value: "600",
      title: "Pause between steps of slow motion",
      aria: { label: "Pause between steps of slow motion" },
    });
    pace.oninput = () => {
      this.slow.pause = Number(pace.value);
    };
    return el(
      "section",
      { class: "engine", aria: { label: "Search" } },
      el(
        "div",
        { class: "runbar" },
        this.start,
        button("+1", "One simulation (1)", () => this.run(1)),
        button("+100", "A hundred simulations (2)", () => this.run(100)),
        this.watch,
        pace,
        button("Clear", "Drop the tree and start anew (c)", () => this.both({ type: "restart" })),
        this.versus,
        button("Save", "Save the analysis to a file", () => this.send({ type: "save" })),
        button("Load", "Open an analysis, a PGN or a FEN from a file", () => this.pick()),
      ),
      this.verdict,
      el("div", { class: "speedline" }, this.evaluator, this.speed),
      this.slow.root,
      this.table.root,
      this.compare.root,
    );
  }

  // --- what the server says ----------------------------------------------------------------------

  hear(message: Message): void {
    if (message.type === "hello") this.welcome(message);
    else if (message.type === "position") this.position(message);
    else if (message.type === "search") this.searched(message);
    else if (message.type === "simulation") this.simulated(message);
    else if (message.type === "saved") download(message.name, message.data);
    else if (message.type === "looked") {
      if (message.details) this.tree.show(message);
      const wanted = message.details || this.line.wants(message.path);
      if (wanted) this.board.look(message, this.touched);
    }
  }

  private welcome(hello: Hello): void {
    const again = this.board.position;
    this.hello = hello;
    this.board.offer(hello.games);
    this.panel.offer(hello.settings);
    const names = hello.evaluators.map((name) =>
      el("option", { value: name }, name === "default" ? "default network" : name),
    );
    this.evaluator.replaceChildren(...names);
    this.want();
    if (again) {
      // The server is new, or the connection was lost: go on where we were.
      this.send({ type: "configure", evaluator: again.evaluator, settings: this.settings });
      this.openPlace(placeOf(again));
      if (this.wasRunning) this.send({ type: "run" });
    } else {
      this.openPlace(
        readPlace(location.hash) ?? { game: hello.start, start: "", moves: [], ply: null },
      );
    }
  }

  private openPlace(place: Place): void {
    this.send({
      type: "open",
      game: place.game,
      text: place.start,
      moves: place.moves,
      ply: place.ply,
    });
  }

  private position(position: Position): void {
    this.slow.hide();
    this.held = [];
    this.board.show(position);
    this.tree.seats = position.seats.map((_, seat) => seatName(position, seat));
    this.settings = position.settings;
    this.panel.show(position.settings);
    this.evaluator.value = position.evaluator;
    this.compare.follow(position);
    history.replaceState(null, "", writePlace(placeOf(position)));
  }

  private searched(message: Search): void {
    if (this.slow.busy) {
      this.held.push(message);
      return;
    }
    this.apply(message);
  }

  private apply(message: Search): void {
    const { position } = this.board;
    if (!position) return;
    this.search = message;
    this.wasRunning = message.running;
    if (message.fresh) {
      this.table.offer(position.actions);
      this.tree.clear();
    }
    this.table.apply(message.moves);
    const range = rangeOf(position, message.values);
    this.tree.apply(message, range);
    this.board.value(message.values, message.graph);
    if (message.moves.length) this.board.mark(this.table.sorted);
    this.start.textContent = message.running ? "Stop" : "Start";
    this.start.classList.toggle("running", message.running);
    document.body.dataset.running = String(message.running);
    this.speed.textContent = speedOf(message);
    this.verdict.replaceChildren(...verdictOf(message, position, this.table.sorted[0]));
    this.compare.update(this.table.sorted);
  }

  // --- slow motion -------------------------------------------------------------------------------

  private simulated(simulation: Simulation): void {
    this.slow.show(simulation);
  }

  private light(path: number[], phase: Phase): void {
    if (phase !== "selection") this.tree.grow(this.held, path, phase === "backup");
    this.tree.light(path, phase);
  }

  /** A simulation has been shown: the next one, if slow motion runs. */
  private shown(): void {
    this.tree.light(null);
    for (const message of this.held.splice(0)) this.apply(message);
    if (this.slow.running && !this.search?.proven) this.send({ type: "slow" });
    else this.stopSlow();
  }

  private toggleSlow(): void {
    if (this.slow.running) {
      this.stopSlow();
      return;
    }
    this.slow.running = true;
    this.watch.textContent = "Pause";
    this.send({ type: "slow" });
  }

  private stopSlow(): void {
    this.slow.stop();
    this.watch.textContent = "Slow";
    this.tree.light(null);
    for (const message of this.held.splice(0)) this.apply(message);
  }

  // --- what a person does ------------------------------------------------------------------------

  private play(action: number): void {
    this.line.stop();
    this.stopSlow();
    this.send({ type: "move", action });
  }

  open(game: string, text: string): void {
    this.stopSlow();
    this.send({ type: "open", game, text });
  }

  private run(simulations: number): void {
    this.stopSlow();
    this.slow.hide();
    this.both({ type: "run", simulations });
  }

  private toggle(): void {
    this.stopSlow();
    this.slow.hide();
    this.both(this.search?.running ? { type: "stop" } : { type: "run" });
  }

  /** To both searches, if there are two. */
  private both(request: Request): void {
    this.send(request);
    this.compare.send(request);
  }

  private toggleCompare(): void {
    const { position } = this.board;
    if (this.compare.isOpen) {
      this.compare.close();
      this.compare.tree.root.remove();
    } else if (position) {
      this.compare.open(position, this.search?.running ?? false);
      this.root.append(this.compare.tree.root);
    }
    this.root.classList.toggle("comparing", this.compare.isOpen);
    this.versus.setAttribute("aria-pressed", String(this.compare.isOpen));
    window.dispatchEvent(new Event("resize"));
  }

  private configure(settings: Settings): void {
    this.settings = settings;
    this.send({ type: "configure", evaluator: this.evaluator.value, settings });
  }

  private preview(line: number[] | null, touched = false): void {
    this.touched = touched;
    if (line) {
      this.line.play(line);
      return;
    }
    this.line.stop();
    this.board.look(null);
  }

  private want(): void {
    this.send({ type: "show", nodes: this.tree.nodes, opened: this.tree.opened });
  }

  private listen(): void {
    const keys: Record<string, () => void> = {
      " ": () => this.toggle(),
      "1": () => this.run(1),
      "2": () => this.run(100),
      s: () => this.toggleSlow(),
      c: () => this.both({ type: "restart" }),
      d: () => this.toggleCompare(),
      b: () => this.tree.toggleFollow(),
      m: () => this.board.type(),
      f: () => this.board.flip(),
      e: () => this.board.edit(),
      ArrowLeft: () => this.board.step(-1),
      ArrowRight: () => this.board.step(1),
      Escape: () => this.preview(null),
      Home: () => this.board.step(-Infinity),
      End: () => this.board.step(Infinity),
    };
    document.addEventListener("keydown", (event) => {
      const at = event.target as HTMLElement;
      if (this.root.hidden || !isForPage(event)) return;
      if (event.key === " " && at.tagName.match(/BUTTON|SUMMARY/)) return;
      const act = keys[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    });
  }

  /** Open a file: a saved analysis, or a position as text. */
  drop(file: File): void {
    void this.read(file, this.board.position?.game ?? this.hello?.start ?? "chess");
  }

  private async read(file: File, game: string): Promise<void> {
    if (file.name.endsWith(".sylvan") && file.size > LARGEST_ANALYSIS) {
      this.tell(`${file.name} is too large: save it with fewer nodes, to at most 2.2 MB.`);
    } else if (file.name.endsWith(".sylvan")) {
      this.stopSlow();
      const data = toBase64(new Uint8Array(await file.arrayBuffer()));
      this.send({ type: "load", name: file.name.slice(0, 200), data });
    } else if (file.size < LARGEST) this.open(game, await file.text());
    else this.tell(`${file.name} is too large: open a PGN of one game, up to 200 kB.`);
  }

  private pick(): void {
    const input = el("input", { type: "file", accept: ".sylvan,.pgn,.fen,.txt" });
    input.onchange = () => {
      const file = input.files?.[0];
      if (file) this.drop(file);
    };
    input.click();
  }
}

function placeOf(position: Position): Place {
  return {
    game: position.game,
    start: position.start,
    moves: position.plies.map((ply) => ply.action),
    ply: position.ply,
  };
}

function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) {
    text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  }
  return btoa(text);
}

function download(name: string, data: string): void {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  const url = URL.createObjectURL(new Blob([bytes]));
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
