// The form that starts a run, if the server may train.

import { el } from "../dom";
import type { Request } from "../protocol";

export class StartForm {
  readonly root = el("details", { class: "startrun", hidden: true });
  private readonly name = el("input", {
    type: "text",
    id: "run-name",
    size: 12,
    required: true,
    pattern: "[A-Za-z0-9][A-Za-z0-9_\\-]*",
    maxLength: 40,
  });
  private readonly game = el("select", { id: "run-game" });
  private readonly minutes = el("input", {
    type: "number",
    id: "run-minutes",
    value: "20",
    min: "0.1",
    max: "10000",
    step: "any",
  });
  private wasOffered = false;
  private readonly rules = el("input", { type: "checkbox", id: "run-learn-rules" });

  constructor(send: (request: Request) => void) {
    const row = (label: string, input: HTMLElement) =>
      el("div", {}, el("label", { htmlFor: input.id }, label), input);
    const form = el(
      "form",
      { class: "newgame", aria: { label: "New run" } },
      row("Name", this.name),
      row("Game", this.game),
      row("Minutes", this.minutes),
      row("Learn the rules too", this.rules),
      el("button", { type: "submit", class: "main" }, "Start"),
    );
    form.onsubmit = (event) => {
      event.preventDefault();
      this.root.open = false;
      send({
        type: "start_run",
        name: this.name.value,
        game: this.game.value,
        minutes: Number(this.minutes.value),
        learn_rules: this.rules.checked,
      });
    };
    this.root.append(el("summary", {}, "New run"), form);
  }

  /** Take the games that may be trained; `isFirst`: there is no run yet. */
  offer(games: readonly string[], isFirst: boolean): void {
    this.root.hidden = games.length === 0;
    if (isFirst && !this.wasOffered) {
      this.root.open = true;
      this.name.value = "first";
    }
    this.wasOffered = true;
    if (this.game.options.length === games.length) return;
    this.game.replaceChildren(
      ...games.map((game) =>
        el(
          "option",
          { value: game },
          game.includes(".py:") ? (game.split(":").at(-1) ?? "") : game,
        ),
      ),
    );
    if (games.includes("connect4")) this.game.value = "connect4";
  }
}
