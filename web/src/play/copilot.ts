// The copilot: a person notes what happens at a real table of Blob, and gets advice.

import { type BoardView, boardView } from "../boards/board";
import { button, el } from "../dom";
import type { Message, Notes, Request } from "../protocol";
import { options } from "./lookback";

type What = Extract<Request, { type: "note" }>["what"];

const RANKS = ["A", "K", "Q", "J", "10", "9", "8", "7", "6", "5", "4", "3", "2"];
const SUITS = ["♠", "♥", "♣", "♦"];
const TRUMPS = ["rotation", "turned_up", "none", "spades", "hearts", "clubs", "diamonds"];
const KEPT = "copilot";

export class Copilot {
  readonly root = el("div", { class: "copilot" });
  private notes: Notes | null = null;
  private held: string[] = [];
  private readonly board: BoardView = boardView("blob", () => {});
  private readonly prompt = el("h2", { class: "prompt", aria: { live: "polite" } });
  private readonly picker = el("div", { class: "picker" });
  private readonly advice = el("div", { class: "advice", aria: { live: "polite" } });
  private readonly entries = el("ol", { class: "entries", aria: { label: "Noted in this round" } });
  private readonly text = el("input", { type: "text", id: "note-text", size: 16 });
  private readonly fold = el("details", { class: "newgamefold" });
  private readonly seat = number("copilot-seat", 0, 0, 7);
  private readonly players = number("copilot-players", 4, 3, 8);
  private readonly cards = number("copilot-cards", 5, 1, 13);
  private readonly trump = el(
    "select",
    { id: "copilot-trump" },
    ...TRUMPS.map((name) => el("option", { value: name }, name.replace("_", " "))),
  );

  constructor(
    private readonly send: (request: Request) => void,
    leave: () => void,
  ) {
    const row = (label: string, input: HTMLElement) =>
      el("div", {}, el("label", { htmlFor: input.id }, label), input);
    const form = el(
      "form",
      { class: "newgame", aria: { label: "New table" } },
      row("Players", this.players),
      row("Your seat, from 0", this.seat),
      row("Cards at first", this.cards),
      row("Trump", this.trump),
      el("button", { type: "submit", class: "main" }, "New table"),
    );
    this.fold.append(el("summary", {}, "New table"), form);
    form.onsubmit = (event) => {
      event.preventDefault();
      this.begin();
    };
    const typed = el(
      "form",
      { class: "typed" },
      el("label", { htmlFor: "note-text" }, "or type it"),
      this.text,
      el("button", { type: "submit" }, "Note"),
      button("Undo", "Take the last entry back", () => this.note("undo")),
    );
    typed.onsubmit = (event) => {
      event.preventDefault();
      this.typed();
    };
    this.root.append(
      el(
        "section",
        { class: "boardpane", aria: { label: "The real table" } },
        this.prompt,
        this.picker,
        typed,
        this.advice,
      ),
      el(
        "section",
        { class: "engine", aria: { label: "Notes" } },
        this.fold,
        this.board.root,
        this.entries,
        this.more(),
        button("Back to Play", "Play here instead", leave),
      ),
    );
  }

  /** Show the table, or the one of last time. */
  open(): void {
    if (this.notes) return;
    const saved = localStorage.getItem(KEPT);
    if (saved) this.send({ type: "advise", saved });
    else this.begin();
  }

  hear(message: Message): void {
    if (message.type === "notes") this.show(message);
  }

  private begin(): void {
    this.held = [];
    this.send({
      type: "advise",
      seat: Number(this.seat.value),
      players: Number(this.players.value),
      cards: Number(this.cards.value),
      trump: this.trump.value,
    });
  }

  private note(what: What, text = ""): void {
    this.send({ type: "note", what, text });
  }

  /** Typed text answers the prompt; at the start of a round it is the hand. */
  private typed(): void {
    const { wanted } = this.notes ?? {};
    const what = wanted === "hand" || wanted === "turned_up" ? wanted : "entry";
    if (this.text.value.trim()) this.note(what, this.text.value.trim());
    this.text.value = "";
  }

  private show(notes: Notes): void {
    const isNew = notes.wanted !== this.notes?.wanted || notes.prompt !== this.notes?.prompt;
    this.notes = notes;
    localStorage.setItem(KEPT, notes.saved);
    if (isNew) this.held = [];
    // Nothing is noted yet: perhaps the table is another.
    this.fold.open = notes.wanted === "hand" && this.isFirstRound && !notes.entries.length;
    this.prompt.textContent = notes.prompt;
    this.board.show({ board: notes.board, actions: [], playable: false });
    this.entries.replaceChildren(
      ...notes.entries.map((entry) =>
        el("li", {}, `${entry.seat === notes.you ? "you" : `seat ${entry.seat}`}: ${entry.label}`),
      ),
    );
    this.showPicker(notes);
    this.showAdvice(notes);
  }

  private get isFirstRound(): boolean {
    return this.notes?.board.kind === "blob" && this.notes.board.round === 1;
  }

  private showAdvice(notes: Notes): void {
    const isMine = notes.board.kind === "blob" && notes.board.to_play === notes.you;
    const waits = isMine && notes.wanted !== "hand" && notes.actions.length > 0;
    if (notes.advice) {
      this.advice.replaceChildren(el("h3", {}, "Advice"), options(notes.advice));
    } else {
      this.advice.replaceChildren(waits ? el("p", { class: "quiet" }, "Thinking…") : "");
    }
  }

  /** The cards or bids to choose from. */
  private showPicker(notes: Notes): void {
    const { wanted } = notes;
    if (wanted === "next") {
      this.picker.replaceChildren(button("Next round", "", () => this.note("next"), "main"));
    } else if (wanted === "bid") {
      this.picker.replaceChildren(
        ...notes.actions.map((info) =>
          button(info.label, "", () => this.note("entry", info.label)),
        ),
      );
    } else if (wanted === "nothing") this.picker.replaceChildren();
    else this.picker.replaceChildren(this.deck(notes));
  }

  private deck(notes: Notes): HTMLElement {
    const possible = new Set(notes.actions.map((info) => info.label));
    const isHand = notes.wanted === "hand";
    const most = notes.board.kind === "blob" ? notes.board.cards : 0;
    const rows = SUITS.map((suit) =>
      el(
        "div",
        { class: "suit", aria: { label: suit } },
        ...RANKS.map((rank) => {
          const name = `${rank}${suit}`;
          const card = el(
            "button",
            {
              type: "button",
              class: `card${"♥♦".includes(suit) ? " red" : ""}`,
              disabled: notes.wanted === "card" && !possible.has(name),
              aria: { label: name, pressed: String(this.held.includes(name)) },
              onclick: () => this.pick(name, isHand, most),
            },
            el("span", {}, rank),
            el("span", { class: "suit" }, suit),
          );
          return card;
        }),
      ),
    );
    return el("div", { class: "deck" }, ...rows);
  }

  private pick(name: string, isHand: boolean, most: number): void {
    if (!isHand) {
      this.note(this.notes?.wanted === "turned_up" ? "turned_up" : "entry", name);
      return;
    }
    this.held = this.held.includes(name)
      ? this.held.filter((each) => each !== name)
      : [...this.held, name];
    if (this.held.length === most) {
      this.note("hand", this.held.join(" "));
      return;
    }
    for (const card of this.picker.querySelectorAll(".card")) {
      const label = card.getAttribute("aria-label") ?? "";
      card.setAttribute("aria-pressed", String(this.held.includes(label)));
    }
  }

  /** Rare commands: correct, points, trump, another round. */
  private more(): HTMLElement {
    const field = (label: string, what: What, hint: string) => {
      const input = el("input", { type: "text", placeholder: hint, size: 12, id: `note-${what}` });
      const form = el(
        "form",
        {},
        el("label", { htmlFor: input.id }, label),
        input,
        el("button", { type: "submit" }, "Set"),
      );
      form.onsubmit = (event) => {
        event.preventDefault();
        this.note(what, input.value.trim());
        input.value = "";
      };
      return form;
    };
    return el(
      "details",
      { class: "morenotes" },
      el("summary", {}, "Correct an entry, trump, points, round"),
      field("Entry and new value", "correct", "3 7h"),
      field("My hand", "hand", "AS 10H 7D"),
      field("Trump of this round", "trump", "hearts"),
      field("Points before it", "points", "10 0 21"),
      field("Go to round", "round", "4"),
    );
  }
}

function number(id: string, value: number, min: number, max: number): HTMLInputElement {
  return el("input", {
    id,
    type: "number",
    value: String(value),
    min: String(min),
    max: String(max),
  });
}
