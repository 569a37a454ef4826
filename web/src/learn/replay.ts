// A game of a run, position by position: what the search thought, and what the model foresees.

import { seatName } from "../boardpane";
import { type BoardView, boardView } from "../boards/board";
import { button, el } from "../dom";
import type { Foreseen, Position, Replayed, Request } from "../protocol";
import { capital, percent, signed } from "../words";
import { foresight } from "./foresight";

/** Milliseconds between two pictures of a film. */
const PACE = 60;

export class ReplayPane {
  readonly root = el("div", { class: "replay", hidden: true });
  private board: BoardView | null = null;
  private kind = "";
  private game: Replayed | null = null;
  private playing = 0;
  private readonly place = el("div", { class: "boardplace" });
  private readonly about = el("div", { class: "thoughts" });
  private readonly ahead = el("div", { class: "ahead", aria: { live: "polite" } });
  private readonly slider = el("input", { type: "range", min: "0", aria: { label: "Ply" } });
  private readonly play = button("▶", "Play, pause (p)", () => this.toggle());
  private readonly foresee = button("What the model foresees", "From here on (m)", () =>
    this.askAhead(),
  );

  constructor(private readonly send: (request: Request) => void) {
    this.slider.oninput = () => {
      this.stop();
      this.go(this.ply);
    };
    this.root.append(
      el(
        "div",
        { class: "controls" },
        button("‹", "Back (←)", () => this.step(-1)),
        this.slider,
        button("›", "Forward (→)", () => this.step(1)),
        this.play,
      ),
      el("div", { class: "replayrow" }, this.place, this.about),
      this.foresee,
      this.ahead,
    );
  }

  show(game: Replayed): void {
    this.stop();
    this.game = game;
    this.root.hidden = false;
    this.slider.max = String(game.plies.length - 1);
    this.foresee.hidden = !game.is_learned;
    this.go(0);
    if (game.is_film) this.toggle();
  }

  foreseen(message: Foreseen): void {
    if (message.run !== this.game?.run || message.ply !== this.ply) return;
    this.ahead.replaceChildren(...foresight(message));
  }

  key(key: string): void {
    if (key === "ArrowLeft") this.step(-1);
    else if (key === "ArrowRight") this.step(1);
    else if (key === "p") this.toggle();
    else if (key === "m" && this.game?.is_learned) this.askAhead();
  }

  private get ply(): number {
    return Number(this.slider.value);
  }

  private step(by: number): void {
    this.stop();
    this.go(this.ply + by);
  }

  private toggle(): void {
    if (this.playing) {
      this.stop();
      return;
    }
    const last = (this.game?.plies.length ?? 1) - 1;
    if (this.ply >= last) this.go(0);
    const pace = this.game?.is_film ? PACE : 10 * PACE;
    this.play.textContent = "❚❚";
    this.playing = window.setInterval(() => {
      if (this.ply >= last || this.root.offsetParent === null) this.stop();
      else this.go(this.ply + 1);
    }, pace);
  }

  private stop(): void {
    clearInterval(this.playing);
    this.playing = 0;
    this.play.textContent = "▶";
  }

  private askAhead(): void {
    if (!this.game) return;
    this.stop();
    const { run, info, is_film } = this.game;
    this.send({ type: "foresee", run, number: is_film ? null : info.number, ply: this.ply });
  }

  private go(ply: number): void {
    const at = this.game?.plies[ply];
    if (!at || !this.game) return;
    this.slider.value = String(ply);
    this.ahead.replaceChildren();
    if (!this.board || this.kind !== at.board.kind) {
      this.kind = at.board.kind;
      this.board = boardView(this.kind as typeof at.board.kind, () => {});
      this.place.replaceChildren(this.board.root);
    }
    this.board.show({ board: at.board, actions: [], playable: false });
    const like = { board: at.board, seats: [] as string[] } as unknown as Position;
    const isAlone = this.game.info.returns.length === 1;
    const seat = isAlone || at.seat === null ? "Action" : capital(seatName(like, at.seat));
    const who = isAlone ? "action" : `${seat} played`;
    const result = this.game.info.returns.map((x) => signed(x, 0)).join(" ");
    const paid = at.reward ? `, which paid ${signed(at.reward)}` : "";
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
        at.label === null
          ? `The end: ${result}`
          : `Ply ${ply + 1} of ${last}: ${who} ${at.label}${paid}`,
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
