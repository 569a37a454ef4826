// A run's networks on one position, step by step of the training.

import { type BoardView, boardView } from "../boards/board";
import { el } from "../dom";
import type { Opinions, Request } from "../protocol";
import { Charts } from "./charts";
import { RunPoints } from "./points";

/** Moves whose share is drawn. */
const MOVES = 6;

export class OpinionPane {
  readonly root = el("div", { class: "opinion", hidden: true });
  private run = "";
  private last: Opinions | null = null;
  private board: BoardView | null = null;
  private readonly title = el("h3");
  private readonly text = el("input", {
    type: "text",
    id: "opinion-text",
    size: 30,
    placeholder: "moves or a FEN; empty: the start",
  });
  private readonly place = el("div", { class: "boardplace" });
  private readonly kept = el("p", { class: "quiet" });
  private readonly charts = new Charts();

  constructor(private readonly send: (request: Request) => void) {
    const form = el(
      "form",
      { class: "typed" },
      el("label", { htmlFor: this.text.id }, "Position"),
      this.text,
      el("button", { type: "submit" }, "Ask"),
    );
    form.onsubmit = (event) => {
      event.preventDefault();
      this.ask();
    };
    this.root.append(this.title, form, this.kept, this.place, this.charts.root);
  }

  open(run: string): void {
    this.run = run;
    this.root.hidden = false;
    this.title.textContent = `What the networks of ${run} thought of a position`;
    this.ask();
    this.text.focus();
  }

  /** Ask again after the connection was lost, or another view was open. */
  ask(): void {
    if (!this.root.hidden) {
      this.send({ type: "ask_opinion", run: this.run, text: this.text.value.trim() });
    }
  }

  show(message: Opinions): void {
    this.last = message;
    this.board = boardView(message.board.kind, () => {});
    this.place.replaceChildren(this.board.root);
    this.board.show({ board: message.board, actions: [], playable: false });
    const steps = message.steps.map((opinion) => opinion.step);
    this.kept.textContent = `The run keeps networks of the steps ${steps.join(", ")}.`;
    this.draw();
  }

  draw(): void {
    if (!this.last || this.root.hidden) return;
    const isMove = (name: string) => name !== "value";
    this.charts.show(new Map([[this.last.run, points(this.last)]]), [
      {
        title: "Value",
        hint: "for the seat to move, without a search",
        figures: (known) => known.filter((name) => !isMove(name)),
        fromZero: true,
      },
      {
        title: "Policy",
        hint: "the moves that the newest network likes most",
        figures: (known) => known.filter(isMove),
        fromZero: true,
      },
    ]);
  }
}

/** The opinions as curves: the value, and the share of each move. */
export function points(message: Opinions): RunPoints {
  const newest = message.steps.at(-1)?.policy ?? [];
  const figures: Record<string, (number | null)[]> = {
    value: message.steps.map((opinion) => opinion.value),
  };
  for (const { label, action } of newest.slice(0, MOVES)) {
    figures[`move ${label}`] = message.steps.map(
      (opinion) => opinion.policy.find((edge) => edge.action === action)?.P ?? null,
    );
  }
  const made = new RunPoints();
  const steps = message.steps.map((opinion) => opinion.step);
  made.add({ type: "curves", run: message.run, fresh: true, steps, figures });
  return made;
}
