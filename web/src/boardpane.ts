// The left side: the board with its value bar, the moves of the game, the graph, opening a position.

import { actionWords, type BoardView, boardView } from "./boards/board";
import { Editor } from "./boards/editor";
import { button, el } from "./dom";
import { Graph } from "./graph";
import { MoveField } from "./movefield";
import type { Row } from "./moves";
import type { Looked, Position } from "./protocol";
import { type Colours, ValueBar } from "./valuebar";
import { capital } from "./words";

export interface BoardEvents {
  play(action: number): void;
  go(ply: number): void;
  open(game: string, text: string): void;
  sweep(): void;
}

const HINTS: Record<string, string> = {
  chess: "FEN, PGN or moves: e4 e5 Nf3",
  connect4: "columns from the left: 4453",
  tictactoe: "cells, row by row: 408",
  blob: "players=4 cards=5 seat=0, a random deal",
};

export class BoardPane {
  readonly root = el("section", { class: "boardpane", aria: { label: "Position" } });
  position: Position | null = null;
  private board: BoardView | null = null;
  private kind = "";
  private flipped = false;
  private looking = false;
  private marks: readonly Row[] = [];
  private readonly bar = new ValueBar();
  private readonly graph: Graph;
  private readonly typed = new MoveField((action) => this.events.play(action));
  private readonly place = el("div", { class: "boardplace" });
  private readonly edits = button("Edit", "Set up a position (e)", () => this.edit());
  private editor: Editor | null = null;
  private readonly status = el("p", { class: "status", aria: { live: "polite" } });
  private readonly plies = el("div", { class: "plies", aria: { label: "Moves of the game" } });
  private readonly games = el("select", { aria: { label: "Game" } });
  private readonly text = el("textarea", {
    rows: 1,
    spellcheck: false,
    aria: { label: "Position" },
  });

  constructor(private readonly events: BoardEvents) {
    this.graph = new Graph((ply) => this.events.go(ply));
    this.games.onchange = () => this.events.open(this.games.value, "");
    this.text.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter" && !event.shiftKey) {
        event.preventDefault();
        this.opened();
      }
    });
    // A pasted position is opened at once.
    this.text.addEventListener("paste", () => setTimeout(() => this.opened()));
    const controls = el(
      "div",
      { class: "controls" },
      button("«", "To the start (Home)", () => this.step(-Infinity)),
      button("‹", "Back (←)", () => this.step(-1)),
      button("›", "Forward (→)", () => this.step(1)),
      button("»", "To the end (End)", () => this.step(Infinity)),
      button("⇅", "Turn the board (f)", () => this.flip()),
      this.edits,
      button("Graph", "Search every position of the game for its value", () => this.events.sweep()),
    );
    this.root.append(
      el(
        "div",
        { class: "opener" },
        this.games,
        this.text,
        button("Open", "Open", () => this.opened()),
      ),
      el("div", { class: "boardrow" }, this.bar.root, this.place),
      this.status,
      controls,
      this.typed.root,
      this.plies,
      this.graph.root,
    );
  }

  offer(games: readonly string[]): void {
    this.games.replaceChildren(...games.map((name) => el("option", { value: name }, short(name))));
  }

  show(position: Position): void {
    const isOther = position.game !== this.position?.game;
    this.position = position;
    if (isOther || this.kind !== position.board.kind) {
      this.kind = position.board.kind;
      this.board = boardView(position.board.kind, (action) => this.events.play(action));
      this.flipped = false;
      this.place.replaceChildren(this.board.root);
    }
    this.looking = false;
    this.place.classList.remove("looking");
    this.closeEditor();
    this.edits.hidden = position.board.kind !== "chess";
    this.marks = [];
    this.board?.show({ board: position.board, actions: position.actions, playable: true });
    this.board?.mark([]);
    this.typed.offer(position.board, position.actions);
    this.status.textContent = statusOf(position);
    this.games.value = position.game;
    this.text.placeholder = HINTS[position.game] ?? "actions, with spaces between them";
    this.drawPlies(position);
  }

  mark(moves: readonly Row[]): void {
    this.marks = moves;
    if (!this.looking) this.board?.mark(moves);
  }

  /** Show the position after a line; null: the position itself. `stays`: until a button is pressed. */
  look(looked: Looked | null, stays = false): void {
    const { position } = this;
    if (this.editor) return;
    if (!position || (!looked && !this.looking)) return;
    this.looking = looked !== null;
    this.place.classList.toggle("looking", this.looking);
    this.board?.show({
      board: looked?.board ?? position.board,
      actions: looked ? [] : position.actions,
      playable: looked === null,
    });
    this.board?.mark(looked ? [] : this.marks);
    const line = actionWords(position.board, looked?.labels ?? []);
    const back = button("Back", "Back to the position (Escape)", () => this.look(null));
    this.status.replaceChildren(line ? `After ${line}` : statusOf(position));
    if (looked?.details || (looked && stays)) this.status.append(back);
  }

  value(values: readonly number[] | null, graph: readonly (number | null)[]): void {
    const { position } = this;
    if (!position) return;
    const range = rangeOf(position, values);
    const names = position.seats.map((_, seat) => seatName(position, seat));
    this.bar.show(values, names, range, this.flipped, coloursOf(position));
    const labels = position.plies.map((ply) => ply.label);
    this.graph.show(graph, position.ply, rangeOf(position, graph), labels);
  }

  step(by: number): void {
    const { position } = this;
    if (!position) return;
    const ply = Math.min(position.plies.length, Math.max(0, position.ply + by));
    if (ply !== position.ply) this.events.go(ply);
  }

  /** Type a move. */
  type(): void {
    this.typed.focus();
  }

  flip(): void {
    this.flipped = !this.flipped;
    this.board?.flip();
    this.bar.root.classList.toggle("flipped", this.flipped);
  }

  /** Set up a position, in chess. */
  edit(): void {
    const board = this.position?.board;
    if (this.editor || board?.kind !== "chess") {
      this.closeEditor();
      return;
    }
    this.editor = new Editor(board.fen, {
      done: (fen) => this.events.open(this.games.value, fen),
      cancel: () => this.closeEditor(),
    });
    this.place.replaceChildren(this.editor.root);
    this.edits.setAttribute("aria-pressed", "true");
  }

  private closeEditor(): void {
    if (!this.editor) return;
    this.editor = null;
    this.edits.setAttribute("aria-pressed", "false");
    if (this.board) this.place.replaceChildren(this.board.root);
  }

  private opened(): void {
    this.events.open(this.games.value, this.text.value);
    this.text.value = "";
    this.text.blur();
  }

  private drawPlies(position: Position): void {
    const isChess = position.board.kind === "chess";
    const parts: HTMLElement[] = [];
    position.plies.forEach((ply, at) => {
      if (isChess && (ply.seat === 0 || at === 0)) {
        const number = Math.floor((at + (position.plies[0]?.seat ?? 0)) / 2) + 1;
        parts.push(el("span", { class: "number" }, `${number}.${ply.seat === 0 ? "" : ".."}`));
      }
      const here = at + 1 === position.ply;
      const move = button(ply.label, "Go there", () => this.events.go(at + 1), here ? "here" : "");
      if (here) move.setAttribute("aria-current", "true");
      parts.push(move);
    });
    this.plies.replaceChildren(...parts);
    this.plies.hidden = parts.length === 0;
    const here = this.plies.querySelector<HTMLElement>(".here");
    if (here) this.plies.scrollTop = here.offsetTop - this.plies.offsetTop - 40;
  }
}

function short(name: string): string {
  const known: Record<string, string> = {
    chess: "Chess",
    connect4: "Connect Four",
    tictactoe: "Tic-tac-toe",
    blob: "Blob",
  };
  return known[name] ?? name.split(":").at(-1) ?? name;
}

function statusOf(position: Position): string {
  if (position.over) return position.over;
  if (position.seat === null) return "Chance moves: choose an outcome.";
  return `${capital(seatName(position, position.seat))} to move`;
}

/** The colours of the first two seats: those of their pieces. */
function coloursOf({ board }: Position): Colours {
  if (board.kind !== "grid") return "pieces";
  return board.drop ? "discs" : "marks";
}

/** Names of a seat for people; the stones of a grid have names of their own. */
export function seatName(position: Position | null, seat: number): string {
  const { board, seats } = position ?? {};
  if (board?.kind === "grid") {
    return (board.drop ? ["Red", "Yellow"] : ["Crosses", "Noughts"])[seat] ?? `seat ${seat}`;
  }
  return seats?.[seat] ?? `seat ${seat}`;
}

/** The range of values: the game's, or where it has none that of the values seen. */
export function rangeOf(
  position: Position,
  values: readonly (number | null)[] | null,
): readonly [number, number] {
  const [low, high] = position.value_range ?? [];
  if (low !== undefined && high !== undefined) return [low, high];
  const seen = (values ?? []).filter((value) => value !== null);
  return [Math.min(-1, ...seen), Math.max(1, ...seen)];
}
