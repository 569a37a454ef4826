// Play: people at this page and at others, and players of ours, in any game.

import { type BoardView, boardView } from "../boards/board";
import { button, el, isForPage } from "../dom";
import { MoveField } from "../movefield";
import type { Message, Request, Reviewed, Table } from "../protocol";
import { Copilot } from "./copilot";
import { GameForm } from "./form";
import { keepToken, tokenOf } from "./keys";
import { options, review } from "./lookback";
import { nameOf, SeatList } from "./seats";

export class Play {
  readonly root = el("main", { class: "play", hidden: true });
  private table: Table | null = null;
  private board: BoardView | null = null;
  private kind = "";
  private wasOver = false;
  private readonly place = el("div", { class: "boardplace" });
  private readonly curtain = el("div", { class: "curtain", hidden: true });
  private readonly status = el("p", { class: "status", aria: { live: "polite" } });
  private readonly said = el("div", { class: "plies", aria: { label: "Moves so far" } });
  private readonly typed = new MoveField((action) => this.act(action));
  private readonly advice = el("div", { class: "advice", aria: { live: "polite" } });
  private readonly asked = el("p", { class: "asked", hidden: true });
  private readonly seats = new SeatList();
  private readonly turn = button("Turn", "Turn the board (f)", () => this.board?.flip());
  private readonly draw = button("Offer draw", "Offer a draw (o)", () =>
    this.send({ type: "offer_draw" }),
  );
  private readonly form: GameForm;
  private readonly fold = el("details", { class: "newgamefold", open: true });
  private readonly copilot: Copilot;

  /** `analyse` opens a game in the other view, if there is one; `keys` are those of the page, or in a
   * notebook of the cell, where the address and the storage are not ours. */
  constructor(
    private readonly send: (request: Request) => void,
    private readonly analyse: ((request: Request) => void) | null,
    private readonly keys: EventTarget = document,
  ) {
    this.form = new GameForm((request) => {
      this.advice.replaceChildren();
      this.send(request);
    });
    this.fold.append(el("summary", {}, "New game"), this.form.root);
    this.copilot = new Copilot(send, () => this.switchTo(false));
    const game = el(
      "div",
      { class: "game empty" },
      el(
        "section",
        { class: "boardpane", aria: { label: "Table" } },
        this.status,
        this.place,
        this.curtain,
        this.typed.root,
      ),
      el(
        "section",
        { class: "engine", aria: { label: "Game" } },
        this.fold,
        this.seats.root,
        el(
          "div",
          { class: "runbar" },
          button("Hint", "What would you do? (h)", () => this.send({ type: "hint" })),
          button("Take back", "Take your last move back (z)", () =>
            this.send({ type: "take_back" }),
          ),
          button("Review", "Which moves were mistakes? (r)", () => this.review()),
          this.draw,
          this.turn,
          button("At a real table", "Advice while you play Blob elsewhere (t)", () =>
            this.switchTo(true),
          ),
        ),
        this.asked,
        this.advice,
        this.said,
      ),
    );
    this.copilot.root.hidden = true;
    this.root.append(game, this.copilot.root);
    this.seats.root.hidden = true;
    this.said.hidden = true;
    this.draw.hidden = true;
    this.status.textContent = "Choose a game and who plays.";
    keys.addEventListener("keydown", (event) => this.key(event as KeyboardEvent));
  }

  /** The server is there: ask for its games, and come back to the table in the address. */
  open(): boolean {
    this.send({ type: "list_offers" });
    if (this.keys !== document) return false;
    const code = new URLSearchParams(location.search).get("table");
    if (code) this.send({ type: "join", code, token: tokenOf(code) });
    return code !== null;
  }

  hear(message: Message): void {
    if (message.type === "table") this.show(message);
    else if (message.type === "offers") this.form.offer(message.games);
    else if (message.type === "hinted") {
      this.advice.dataset.ply = this.here;
      this.advice.replaceChildren(el("h3", {}, "Hint"), options(message.options));
    } else if (message.type === "reviewing") this.lookBack(message.left);
    else if (message.type === "reviewed") this.reviewed(message);
    else this.copilot.hear(message);
  }

  private switchTo(copilot: boolean): void {
    this.copilot.root.hidden = !copilot;
    (this.root.firstElementChild as HTMLElement).hidden = copilot;
    if (copilot) this.copilot.open();
  }

  /** Where advice belongs to: it goes away with the next move. */
  private get here(): string {
    return `${this.table?.code} ${this.table?.said.length} ${this.table?.to_play}`;
  }

  private show(table: Table): void {
    const isNew = table.code !== this.table?.code || table.board.kind !== this.kind;
    if (table.code !== this.table?.code || table.token !== this.table.token) {
      if (this.keys === document) {
        keepToken(table.code, table.token);
        history.replaceState(null, "", `?table=${table.code}${location.hash}`);
      }
      this.fold.open = false;
    }
    this.table = table;
    this.root.firstElementChild?.classList.remove("empty");
    if (isNew || !this.board) {
      this.kind = table.board.kind;
      this.board = boardView(table.board.kind, (action) => this.act(action));
      this.place.replaceChildren(this.board.root);
      if (table.seat === 1 && table.board.kind === "chess") this.board.flip();
    }
    this.turn.hidden = table.board.kind !== "chess";
    this.draw.hidden = !table.can_draw || !table.seats.some((info) => info.who === "you");
    const mine = table.actions.length > 0;
    this.board.show({ board: table.board, actions: table.actions, playable: mine });
    this.typed.offer(table.board, table.actions);
    this.seats.root.hidden = false;
    this.seats.show(table);
    this.status.textContent = statusOf(table, mine);
    this.showCurtain(table);
    this.showAsked(table);
    this.said.replaceChildren(
      ...table.said.map((ply) =>
        el(
          "span",
          { class: ply.seat === table.seat ? "mine" : "" },
          table.board.kind === "blob" ? `${ply.seat}: ${ply.label}` : ply.label,
        ),
      ),
    );
    this.said.hidden = table.said.length === 0;
    this.said.scrollTop = this.said.scrollHeight;
    const isOver = table.over !== null;
    if (!isOver && this.advice.dataset.ply !== this.here) this.advice.replaceChildren();
    if (isOver && !this.wasOver) this.review();
    this.wasOver = isOver;
  }

  /** Several people share this page: hide the hand until the next one is there. */
  private showCurtain(table: Table): void {
    const { curtain } = table;
    this.curtain.hidden = curtain === null;
    if (curtain === null) return;
    const name = nameOf(table, curtain);
    const reveal = button(
      `I am ${name.toLowerCase()}`,
      "Show my hand",
      () => this.send({ type: "reveal", seat: curtain }),
      "main",
    );
    this.curtain.replaceChildren(el("p", {}, `Pass the screen to ${name.toLowerCase()}.`), reveal);
    reveal.focus();
  }

  private showAsked(table: Table): void {
    const { asked, draw_offered: offered } = table;
    const seatOf = (name: string) => table.seats.findIndex((info) => info.name === name);
    const named = (names: string[]) =>
      names.map((name) => nameOf(table, seatOf(name))).join(" and ");
    this.asked.hidden = asked.length + offered.length === 0;
    this.asked.replaceChildren();
    if (asked.length) {
      this.asked.append(
        `${named(asked)} would like to take a move back. `,
        button("Agree", "Let the move be taken back (z)", () => this.send({ type: "take_back" })),
      );
    }
    if (!offered.length) return;
    const isOwn = offered.some((name) => table.seats[seatOf(name)]?.who === "you");
    this.asked.append(`${named(offered)} offers a draw. `);
    if (isOwn) return;
    this.asked.append(
      button("Agree", "Agree to the draw; a move declines it (o)", () =>
        this.send({ type: "offer_draw" }),
      ),
    );
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
    this.lookBack(null);
    this.send({ type: "review" });
  }

  /** A review is under way; `left` decisions are still to be judged. */
  private lookBack(left: number | null): void {
    const more = left === null ? "" : ` ${left} to go`;
    const stop = button("Stop", "Show what was found so far", () =>
      this.send({ type: "stop_review" }),
    );
    const said = this.advice.querySelector(".lookingback span");
    if (said) said.textContent = `Looking back…${more}`;
    else {
      const line = el("p", { class: "quiet lookingback" }, el("span", {}, `Looking back…${more}`));
      line.append(" ", stop);
      this.advice.replaceChildren(line);
    }
    this.advice.dataset.ply = this.here;
  }

  private reviewed(message: Reviewed): void {
    const { table } = this;
    if (!table) return;
    const isBlob = table.board.kind === "blob";
    const moves = table.said.map((ply) => ply.action);
    const { analyse } = this;
    const open = (ply: number) => analyse?.({ type: "open", game: table.game, moves, ply });
    const opens = analyse !== null && !isBlob;
    this.advice.replaceChildren(...review(message.decisions, isBlob, opens ? open : null));
    if (isBlob) return;
    const spans = [...this.said.children];
    for (const { ply, mark, best } of message.decisions) {
      const span = spans[ply] as HTMLElement | undefined;
      if (!span || !mark) continue;
      span.textContent = `${table.said[ply]?.label} ${mark}`;
      span.classList.add("mistake");
      span.title = `better: ${best}`;
    }
  }

  private key(event: KeyboardEvent): void {
    if (this.root.hidden || !this.copilot.root.hidden || !isForPage(event)) return;
    const keys: Record<string, () => void> = {
      h: () => this.send({ type: "hint" }),
      z: () => this.send({ type: "take_back" }),
      r: () => this.review(),
      o: () => this.draw.hidden || this.draw.click(),
      m: () => this.typed.focus(),
      f: () => this.board?.flip(),
      t: () => this.switchTo(true),
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault(); // a field that gets the focus must not get the letter
    act();
  }
}

function statusOf(table: Table, mine: boolean): string {
  if (table.over) return table.over;
  if (table.seats.some((info) => info.who === "free")) return "Waiting for others to join.";
  const { to_play: turn } = table;
  if (turn === null) return "";
  const own = table.seats.filter((info) => info.who === "you").length;
  const name = nameOf(table, turn);
  if (mine) return own > 1 ? `${name}: your turn` : "Your turn";
  const info = table.seats[turn];
  if (table.curtain !== null) return "";
  return info?.who === "player" ? `${name} is thinking…` : `Waiting for ${name.toLowerCase()}.`;
}
