// Play against Sylvan: any game, Blob with hidden hands too.

import { seatName } from "./boardpane";
import { type BoardView, boardView } from "./boards/board";
import { button, el } from "./dom";
import type { Hinted, Message, Position, Request, Reviewed, Table } from "./protocol";
import { capital, percent, signed } from "./words";

export class Play {
  readonly root = el("main", { class: "play", hidden: true });
  private table: Table | null = null;
  private board: BoardView | null = null;
  private kind = "";
  private wasOver = false;
  private readonly place = el("div", { class: "boardplace" });
  private readonly status = el("p", { class: "status", aria: { live: "polite" } });
  private readonly said = el("div", { class: "plies", aria: { label: "Moves so far" } });
  private readonly advice = el("div", { class: "advice", aria: { live: "polite" } });
  private readonly game = el("select", { id: "play-game" });
  private readonly level = el("input", {
    id: "play-level",
    type: "range",
    min: "1",
    max: "10",
    value: "5",
  });
  private readonly seat = el("select", { id: "play-seat" });
  private readonly teach = el("input", { id: "play-teach", type: "checkbox" });
  private readonly players = number("play-players", 6, 2, 8);
  private readonly cards = number("play-cards", 5, 1, 13);
  private readonly turn = button("Turn", "Turn the board (f)", () => this.board?.flip());
  private readonly form: HTMLFormElement;

  constructor(private readonly send: (request: Request) => void) {
    const shownLevel = el("output", {}, "5");
    this.level.oninput = () => {
      shownLevel.textContent = this.level.value;
    };
    this.game.onchange = () => this.offerSeats();
    this.players.onchange = () => this.offerSeats();
    const row = (label: string, input: HTMLElement, more?: HTMLElement, className = "") =>
      el(
        "div",
        { class: className },
        el("label", { htmlFor: input.id }, label),
        input,
        more ?? null,
      );
    this.form = el(
      "form",
      { class: "newgame", aria: { label: "New game" } },
      row("Game", this.game),
      row("Your seat", this.seat),
      row("Strength", this.level, shownLevel),
      row("Stop me at blunders", this.teach),
      row("Players", this.players, undefined, "blobonly"),
      row("Cards at first", this.cards, undefined, "blobonly"),
      el("button", { type: "submit", class: "main" }, "New game"),
    );
    this.form.onsubmit = (event) => {
      event.preventDefault();
      this.sit();
    };
    this.root.append(
      el("section", { class: "boardpane", aria: { label: "Table" } }, this.place, this.status),
      el(
        "section",
        { class: "engine", aria: { label: "Game" } },
        this.form,
        el(
          "div",
          { class: "runbar" },
          button("Hint", "What would you do? (h)", () => this.send({ type: "hint" })),
          button("Take back", "Take your last move back (z)", () =>
            this.send({ type: "take_back" }),
          ),
          button("Review", "Which of my moves were mistakes? (r)", () => this.review()),
          this.turn,
        ),
        this.advice,
        this.said,
      ),
    );
    document.addEventListener("keydown", (event) => this.key(event));
  }

  offer(games: readonly string[]): void {
    const names: Record<string, string> = {
      chess: "Chess",
      connect4: "Connect Four",
      tictactoe: "Tic-tac-toe",
      blob: "Blob",
    };
    const before = this.game.value;
    this.game.replaceChildren(
      ...[...games, "blob"].map((name) =>
        el("option", { value: name }, names[name] ?? name.split(":").at(-1) ?? name),
      ),
    );
    if (before) this.game.value = before;
    this.offerSeats();
  }

  hear(message: Message): void {
    if (message.type === "table") this.show(message);
    else if (message.type === "hinted") this.hinted(message);
    else if (message.type === "reviewed") this.reviewed(message);
  }

  private offerSeats(): void {
    const isBlob = this.game.value === "blob";
    this.form.classList.toggle("isblob", isBlob);
    const count = isBlob ? Number(this.players.value) : 2;
    const names: Record<string, string[]> = {
      chess: ["White", "Black"],
      connect4: ["Red, first", "Yellow, second"],
      tictactoe: ["Crosses, first", "Noughts, second"],
    };
    const chosen = this.seat.value;
    this.seat.replaceChildren(
      ...Array.from({ length: count }, (_, seat) =>
        el("option", { value: String(seat) }, names[this.game.value]?.[seat] ?? `seat ${seat}`),
      ),
    );
    if (Number(chosen) < count) this.seat.value = chosen;
    this.seat.value ||= "0";
  }

  private sit(): void {
    const isBlob = this.game.value === "blob";
    this.advice.replaceChildren();
    this.send({
      type: "sit",
      game: this.game.value,
      seat: Number(this.seat.value),
      level: Number(this.level.value),
      teach: this.teach.checked,
      ...(isBlob && { players: Number(this.players.value), cards: Number(this.cards.value) }),
    });
  }

  private show(table: Table): void {
    const isNew = table.game !== this.table?.game || table.board.kind !== this.kind;
    const isOtherSeat = table.seat !== this.table?.seat;
    this.table = table;
    if (isNew || isOtherSeat || !this.board) {
      this.kind = table.board.kind;
      this.board = boardView(table.board.kind, (action) => this.act(action));
      this.place.replaceChildren(this.board.root);
      if (table.seat === 1 && table.board.kind === "chess") this.board.flip();
    }
    this.turn.hidden = table.board.kind !== "chess";
    const mine = table.actions.length > 0;
    this.board.show({ board: table.board, actions: table.actions, playable: mine });
    this.status.textContent = statusOf(table, mine);
    const names = (seat: number | null) => (seat === table.seat ? "you" : seat === null ? "" : "");
    this.said.replaceChildren(
      ...table.said.map((ply) =>
        el(
          "span",
          { class: ply.seat === table.seat ? "mine" : "", title: names(ply.seat) },
          table.board.kind === "blob" ? `${ply.seat}: ${ply.label}` : ply.label,
        ),
      ),
    );
    this.said.hidden = table.said.length === 0;
    this.said.scrollTop = this.said.scrollHeight;
    const isOver = table.over !== null;
    if (mine && !isOver && this.advice.dataset.ply !== String(table.said.length)) {
      this.advice.replaceChildren();
    }
    if (isOver && !this.wasOver) this.review();
    this.wasOver = isOver;
  }

  private act(action: number): void {
    const { table, board } = this;
    this.send({ type: "act", action });
    // Until the answer comes nothing more can be played; the chess board has moved its piece itself.
    if (table && this.kind !== "chess") {
      board?.show({ board: table.board, actions: [], playable: false });
    }
  }

  private review(): void {
    this.advice.replaceChildren(el("p", { class: "quiet" }, "Looking back…"));
    this.advice.dataset.ply = String(this.table?.said.length);
    this.send({ type: "review" });
  }

  private hinted(hinted: Hinted): void {
    const isBlob = hinted.options[0]?.made !== null;
    this.advice.dataset.ply = String(this.table?.said.length);
    const names = isBlob ? ["", "points", "makes the bid"] : ["", "expected result"];
    const rows = hinted.options.map((option) => [
      option.label,
      isBlob ? option.value.toFixed(1) : signed(option.value),
      ...(option.made === null ? [] : [percent(option.made)]),
    ]);
    this.advice.replaceChildren(el("h3", {}, "Hint"), table(names, rows));
  }

  private reviewed(reviewed: Reviewed): void {
    const isBlob = this.table?.game === "blob";
    const bad = reviewed.decisions.filter((decision) => decision.mark);
    const sentence = !reviewed.decisions.length
      ? "You had no choice so far."
      : bad.length
        ? `${bad.length} of ${reviewed.decisions.length} decisions could be better.`
        : `No mistakes in ${reviewed.decisions.length} decisions.`;
    const rows = bad.map((decision) => [
      `${isBlob ? "" : `${decision.ply + 1}. `}${decision.label} ${decision.mark}`,
      decision.best,
      isBlob ? decision.loss.toFixed(1) : percent(decision.loss),
    ]);
    const names = ["you played", "better", isBlob ? "points lost" : "lost"];
    this.advice.replaceChildren(
      el("h3", {}, "Review"),
      el("p", {}, sentence),
      ...(rows.length ? [table(names, rows)] : []),
    );
  }

  private key(event: KeyboardEvent): void {
    const at = event.target as HTMLElement;
    if (this.root.hidden || event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(INPUT|SELECT)$/.test(at.tagName)) return;
    const keys: Record<string, () => void> = {
      h: () => this.send({ type: "hint" }),
      z: () => this.send({ type: "take_back" }),
      r: () => this.review(),
      f: () => this.board?.flip(),
    };
    keys[event.key]?.();
  }
}

function statusOf(table: Table, mine: boolean): string {
  if (table.over) return table.over;
  if (mine) return "Your turn";
  if (table.to_play === null) return "";
  const named = table.board.kind === "blob" ? table.names[table.to_play] : seatOf(table);
  return `${capital(named ?? "")} is thinking…`;
}

function seatOf(table: Table): string {
  const like = { board: table.board, seats: table.names } as Position;
  return seatName(like, table.to_play ?? 0);
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

function table(names: readonly string[], rows: readonly string[][]): HTMLElement {
  const cell = (tag: "td" | "th", text: string, at: number) =>
    el(tag, { class: at && !/[a-z]/i.test(text.slice(0, 1)) ? "number" : "" }, text);
  return el(
    "table",
    { class: "edges" },
    el("thead", {}, el("tr", {}, ...names.map((name, at) => cell("th", name, at)))),
    el(
      "tbody",
      {},
      ...rows.map((row) => el("tr", {}, ...row.map((text, at) => cell("td", text, at)))),
    ),
  );
}
