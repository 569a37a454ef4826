// A search that has ended, to look at: board, table and tree, without a search to start.

import { BoardPane, rangeOf, seatName } from "./boardpane";
import { el } from "./dom";
import { LinePlayer } from "./lineplayer";
import { MoveTable } from "./moves";
import type { Looked, Message, Position, Request, Search } from "./protocol";
import { TreePane } from "./treepane";
import { speedOf, verdictOf } from "./verdict";

const nothing = () => {};

export class Stored {
  readonly root = el("main", { class: "analyse stored" });
  private readonly board: BoardPane;
  private readonly table: MoveTable;
  private readonly tree: TreePane;
  private readonly verdict = el("p", { class: "verdict" });
  private readonly speed = el("p", { class: "speed", aria: { label: "Speed" } });
  /** Positions that came with the search, or were asked for before. */
  private readonly known = new Map<string, Looked>();
  private chosen: string | null = null;
  private readonly line = new LinePlayer((path) => this.ask(path));

  constructor(private readonly send: (request: Request) => void) {
    this.board = new BoardPane({ play: nothing, go: nothing, open: nothing, sweep: nothing });
    this.table = new MoveTable({ play: nothing, preview: (line) => this.preview(line) });
    this.tree = new TreePane({
      look: (path) => {
        this.chosen = path.join();
        this.line.stay(path);
      },
      wanted: () => send({ type: "show", nodes: this.tree.nodes, opened: this.tree.opened }),
    });
    this.root.append(
      this.board.root,
      el("section", { class: "engine" }, this.verdict, this.speed, this.table.root),
      this.tree.root,
    );
  }

  hear(message: Message): void {
    if (message.type === "position") {
      this.board.show(message);
      this.tree.seats = message.seats.map((_, seat) => seatName(message, seat));
    } else if (message.type === "search" && this.board.position) {
      this.searched(message, this.board.position);
    } else if (message.type === "looked") {
      this.known.set(message.path.join(), message);
      if (this.line.wants(message.path)) this.show(message);
    }
  }

  private searched(search: Search, position: Position): void {
    this.table.apply(search.moves);
    const range = rangeOf(position, search.values);
    this.tree.apply(search, range);
    this.board.value(search.values, search.graph);
    this.board.mark(this.table.sorted);
    this.verdict.replaceChildren(...verdictOf(search, position, this.table.sorted[0]));
    this.speed.textContent = speedOf(search);
  }

  private preview(line: number[] | null): void {
    this.chosen = null;
    if (line) {
      this.line.play(line);
      return;
    }
    this.line.stop();
    this.board.look(null);
  }

  /** Show the position after some actions, and its node. */
  private ask(path: number[]): void {
    const known = this.known.get(path.join());
    if (known) this.show(known);
    else this.send({ type: "look", path, details: true });
  }

  private show(looked: Looked): void {
    const isChosen = looked.path.join() === this.chosen;
    if (isChosen) this.tree.show(looked);
    this.board.look(isChosen ? looked : { ...looked, details: null });
  }
}
