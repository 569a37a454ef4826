// A search in one line: best move, value, size and speed.

import { seatName } from "./boardpane";
import { actionWords } from "./boards/board";
import { el } from "./dom";
import { type Row, wdlBar } from "./moves";
import type { Position, Search } from "./protocol";
import { bytes, count, minus, signed } from "./words";

/** The best move, its value and what ended the search. */
export function verdictOf(
  search: Search,
  position: Position,
  best: Row | undefined,
): (Node | string)[] {
  if (search.value === null) return [search.ended ?? "Press Start, or space, to search."];
  const who = seatName(position, search.seat ?? 0);
  const move = best ? actionWords(position.board, [best.label]) : "";
  const proven = search.proven ? " (proven)" : "";
  const parts: (Node | string)[] = [
    el("strong", {}, move),
    ` ${worth(search, best)}${proven} for ${who}`,
  ];
  if (search.wdl) parts.push(wdlBar(search.wdl));
  if (search.values && search.values.length > 2) {
    parts.push(` · Q by seat ${search.values.map((value) => signed(value)).join(" ")}`);
  }
  if (search.ended) parts.push(` · ${search.ended}`);
  return parts;
}

/** The value in words: `Q +0.110 (+0.44 pawns)`, `mate in 3`. */
export function worth(search: Search, best: Row | undefined): string {
  const q = `Q ${signed(search.value, 3)}`;
  const mate = best?.score?.match(/^#(-?)(\d+)$/);
  if (mate) return mate[1] ? `mated in ${mate[2]}` : `mate in ${mate[2]}`;
  return best?.score ? `${q} (${minus(best.score)} pawns)` : q;
}

/** The network, how many simulations, how fast, how large the tree is. */
export function speedOf(search: Search): string {
  const parts = search.evaluator === "default" ? [] : [search.evaluator];
  if (search.simulations) {
    parts.push(
      `${count(search.simulations)} simulations`,
      `${count(Math.round(search.per_second))}/s`,
      `depth ${search.depth}`,
      `${count(search.nodes)} nodes, ${bytes(search.bytes)}`,
    );
  }
  return parts.join(" · ");
}
