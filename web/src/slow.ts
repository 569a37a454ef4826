// Slow motion: one simulation in four phases, as the textbooks draw it.

import { actionWords } from "./boards/board";
import { el } from "./dom";
import type { Considered, Simulation } from "./protocol";
import { capital, percent, signed } from "./words";

export type Phase = "selection" | "expansion" | "evaluation" | "backup";
const PHASES: Phase[] = ["selection", "expansion", "evaluation", "backup"];

const HELP: Record<Phase, string> = {
  selection:
    "From the root down, take the edge with the greatest Q + U: U is large for likely, little visited moves. A Q in brackets stands for moves without visits (first-play urgency).",
  expansion: "The position at the end of the path becomes a new node of the tree.",
  evaluation:
    "The network, or a rule, says how good the new position is and which moves look likely.",
  backup:
    "From the new node back to the root, the value is added to every node of the path: each visit count grows by one.",
};

export interface SlowEvents {
  /** Light up a path; in the backup its end is the node that the value is added to now. */
  light(path: number[], phase: Phase): void;
  /** The simulation has been shown. */
  done(): void;
}

export class SlowMotion {
  readonly root = el("div", { class: "slow", hidden: true });
  running = false;
  pause = 600;
  private timer = 0;

  constructor(
    private readonly seatName: (seat: number) => string,
    private readonly events: SlowEvents,
  ) {}

  get busy(): boolean {
    return this.timer !== 0;
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = 0;
    this.running = false;
  }

  hide(): void {
    this.stop();
    this.root.hidden = true;
  }

  /** Show a simulation, phase by phase; a phase of selection per step of the path. */
  show(simulation: Simulation): void {
    clearTimeout(this.timer);
    this.root.hidden = false;
    const frames = framesOf(simulation.steps.length);
    const play = (at: number) => {
      const frame = frames[at];
      if (!frame) {
        this.timer = 0;
        this.events.done();
        return;
      }
      const [phase, length] = frame;
      this.draw(simulation, phase, length);
      this.events.light(simulation.path.slice(0, length), phase);
      this.timer = window.setTimeout(() => play(at + 1), this.pause);
    };
    play(0);
  }

  private draw(simulation: Simulation, phase: Phase, length: number): void {
    const steps = PHASES.map((name) =>
      el(
        "li",
        { class: name === phase ? "now" : "", aria: name === phase ? { current: "step" } : {} },
        capital(name),
      ),
    );
    const path = simulation.steps.slice(0, length).map((step) => step.label);
    this.root.replaceChildren(
      el("h3", {}, `Simulation ${simulation.number}`),
      el("ol", { class: "phases" }, ...steps),
      el("p", { class: "about" }, HELP[phase]),
      el("p", { class: "path" }, path.length ? actionWords(simulation.board, path, " → ") : "root"),
      this.body(simulation, phase, length),
    );
  }

  private body(simulation: Simulation, phase: Phase, length: number): HTMLElement {
    if (phase === "selection") {
      const step = simulation.steps[length - 1];
      return step
        ? table(step.edges, step.action)
        : el("p", {}, "The tree is empty: its root comes first.");
    }
    if (phase === "expansion") {
      const text = {
        expanded: "A new node.",
        terminal: "The game is over here: no node is added below.",
        known: "This node was known: its value is exact or was found before.",
      }[simulation.kind];
      return el("p", {}, text);
    }
    if (phase === "evaluation") {
      const values = simulation.values.map((value, seat) => {
        return `${capital(this.seatName(seat))} ${signed(value, 3)}`;
      });
      const box = el("div", {}, el("p", { class: "values" }, values.join(" · ")));
      if (simulation.priors.length) box.append(table(simulation.priors, null));
      return box;
    }
    // The value has reached the nodes from the end of the path up to the one at `length`.
    const row = (name: string, at: number, visits: number, q: string, after: string) => {
      const isNow = at === length;
      const arrow = (from: string, to: string) => (at < length ? from : `${from} → ${to}`);
      return el(
        "tr",
        { class: isNow ? "chosen" : "" },
        el("td", {}, isNow ? `▶ ${name}` : name),
        el("td", { class: "number" }, `N ${arrow(String(visits), String(visits + 1))}`),
        el("td", { class: "number" }, q && `Q ${arrow(q, after)}`),
      );
    };
    const rows = simulation.steps.map((step, at) => {
      const before = step.edges.find((edge) => edge.action === step.action);
      const q = signed(before?.Q ?? null, 3);
      return row(step.label, at + 1, before?.N ?? 0, q, signed(step.Q_after, 3));
    });
    rows.unshift(row("root", 0, simulation.number - 1, "", ""));
    return el("table", { class: "edges" }, el("tbody", {}, ...rows));
  }
}

/** The frames in order: a phase, and how much of the path. */
export function framesOf(steps: number): [Phase, number][] {
  const down = Array.from({ length: Math.max(1, steps) }, (_, at): [Phase, number] => [
    "selection",
    Math.min(at + 1, steps),
  ]);
  const up = Array.from({ length: steps + 1 }, (_, at): [Phase, number] => ["backup", steps - at]);
  return [...down, ["expansion", steps], ["evaluation", steps], ...up];
}

function table(edges: readonly Considered[], chosen: number | null): HTMLElement {
  const hasU = edges.some((edge) => edge.U !== null);
  const names = hasU ? ["", "N", "P", "Q", "U", "Q + U"] : ["", "N", "P", "Q"];
  const rows = edges.map((edge) => {
    const guess = edge.urgency === null ? signed(null) : `(${signed(edge.urgency, 3)})`;
    const cells = [String(edge.N), percent(edge.P), edge.Q === null ? guess : signed(edge.Q, 3)];
    if (hasU) {
      const q = edge.Q ?? edge.urgency;
      const sum = q === null || edge.U === null ? null : q + edge.U;
      cells.push(signed(edge.U, 3), signed(sum, 3));
    }
    const isChosen = edge.action === chosen;
    return el(
      "tr",
      { class: isChosen ? "chosen" : "" },
      el("td", {}, isChosen ? `▶ ${edge.label}` : edge.label),
      ...cells.map((text) => el("td", { class: "number" }, text)),
    );
  });
  const head = el("tr", {}, ...names.map((name) => el("th", { class: "number" }, name)));
  return el("table", { class: "edges" }, el("thead", {}, head), el("tbody", {}, ...rows));
}
