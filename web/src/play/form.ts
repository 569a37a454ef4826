// The form for a new game: which game, who has which seat, how strong, the clock.

import { el } from "../dom";
import type { GameOffer, Request, SeatChoice } from "../protocol";
import { capital } from "../words";

const TITLES: Record<string, string> = {
  chess: "Chess",
  connect4: "Connect Four",
  tictactoe: "Tic-tac-toe",
  blob: "Blob",
};
const SEATS: Record<string, string[]> = {
  connect4: ["Red, first", "Yellow, second"],
  tictactoe: ["Crosses, first", "Noughts, second"],
};
const LEVELS = Array.from({ length: 10 }, (_, at) => at + 1);

export class GameForm {
  readonly root: HTMLFormElement;
  private offers: GameOffer[] = [];
  private readonly game = el("select", { id: "play-game" });
  private readonly seats = el("div", { class: "seatchoices" });
  private readonly level = el("input", {
    id: "play-level",
    type: "range",
    min: "1",
    max: "10",
    value: "5",
  });
  private readonly teach = el("input", { id: "play-teach", type: "checkbox" });
  private readonly players = number("play-players", 6, 3, 8);
  private readonly cards = number("play-cards", 5, 1, 13);
  private readonly minutes = number("play-minutes", 0, 0, 600);
  private readonly increment = number("play-increment", 0, 0, 600);

  constructor(sit: (request: Request) => void) {
    const shownLevel = el("output", {}, "5");
    this.level.oninput = () => {
      shownLevel.textContent = this.level.value;
    };
    this.game.onchange = () => this.offerSeats();
    this.players.onchange = () => this.offerSeats();
    this.root = el(
      "form",
      { class: "newgame", aria: { label: "New game" } },
      row("Game", this.game),
      row("Players", this.players, "blobonly"),
      row("Cards at first", this.cards, "blobonly"),
      this.seats,
      row("Strength", this.level, "", shownLevel),
      row("Minutes each", this.minutes, "", el("span", { class: "quiet" }, "0: no clock")),
      row("Seconds per move added", this.increment),
      row("Stop me at blunders", this.teach),
      el("button", { type: "submit", class: "main" }, "New game"),
    );
    this.root.onsubmit = (event) => {
      event.preventDefault();
      sit(this.request());
    };
  }

  offer(offers: GameOffer[]): void {
    const before = this.game.value;
    this.offers = offers;
    this.game.replaceChildren(
      ...offers.map(({ game }) =>
        el("option", { value: game }, TITLES[game] ?? game.split(":").at(-1) ?? game),
      ),
    );
    if (before) this.game.value = before;
    this.offerSeats();
  }

  private get offered(): GameOffer | undefined {
    return this.offers.find((offer) => offer.game === this.game.value);
  }

  private offerSeats(): void {
    const { offered } = this;
    const isBlob = this.game.value === "blob";
    this.root.classList.toggle("isblob", isBlob);
    if (!offered) return;
    const count = isBlob ? clamp(Number(this.players.value), 3, 8) : offered.seats.length;
    this.seats.replaceChildren(
      ...Array.from({ length: count }, (_, seat) => {
        const name = SEATS[offered.game]?.[seat] ?? capital(offered.seats[seat] ?? `seat ${seat}`);
        return row(name, this.seat(seat, offered));
      }),
    );
  }

  /** The player of a seat: a person here or elsewhere, or a player of ours. */
  private seat(seat: number, offered: GameOffer): HTMLElement {
    const choices: [string, string][] = [
      ["you", "a person here"],
      ["guest", "a person elsewhere"],
      ["player", "Sylvan"],
      ...offered.networks.map((name): [string, string] => [`network ${name}`, `network ${name}`]),
      ...LEVELS.map((level): [string, string] => [`level ${level}`, `Sylvan, strength ${level}`]),
    ];
    const select = el(
      "select",
      { id: `play-seat-${seat}`, class: "who" },
      ...choices.map(([value, text]) => el("option", { value }, text)),
    );
    select.value = seat === 0 ? "you" : "player";
    return select;
  }

  private request(): Request {
    const isBlob = this.game.value === "blob";
    const level = Number(this.level.value);
    const minutes = Number(this.minutes.value);
    const chosen = [...this.seats.querySelectorAll<HTMLSelectElement>("select")];
    return {
      type: "sit",
      game: this.game.value,
      seats: chosen.map((select) => choice(select.value, level)),
      teach: this.teach.checked,
      ...(minutes > 0 && { clock: { minutes, increment: Number(this.increment.value) } }),
      ...(isBlob && { cards: Number(this.cards.value) }),
    };
  }
}

export function choice(value: string, level: number): SeatChoice {
  if (value === "you" || value === "guest") return { who: value };
  if (value.startsWith("level ")) return { who: "player", level: Number(value.slice(6)) };
  const network = value.startsWith("network ") ? value.slice(8) : null;
  return { who: "player", level, ...(network !== null && { network }) };
}

function row(label: string, input: HTMLElement, className = "", more?: HTMLElement): HTMLElement {
  return el(
    "div",
    { class: className },
    el("label", { htmlFor: input.id }, label),
    input,
    more ?? null,
  );
}

function number(id: string, value: number, min: number, max: number): HTMLInputElement {
  return el("input", {
    id,
    type: "number",
    value: String(value),
    min: String(min),
    max: String(max),
    step: id === "play-minutes" ? "any" : "1",
  });
}

function clamp(x: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, x || low));
}
