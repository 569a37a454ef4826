// What a search says in a line: its best move and value, how far it went and how fast.

import { seatName } from "./boardpane";
import { el } from "./dom";
import { wdlBar } from "./moves";
import type { MoveRow, Position, Search } from "./protocol";
import { bytes, count, signed } from "./words";

/** The best move, its value and what ended the search. */
export function verdictOf(
  search: Search,
  position: Position,
  best: MoveRow | undefined,
): (Node | string)[] {
  if (search.value === null) return [search.ended ?? "Press Start, or space, to search."];
  const who = seatName(position, search.seat ?? 0);
  const value = best?.score ?? signed(search.value, 3);
  const parts: (Node | string)[] = [
    el("strong", {}, best?.label ?? ""),
    ` ${value}${search.proven ? " (proven)" : ""} for ${who}`,
  ];
  if (search.wdl) parts.push(wdlBar(search.wdl));
  if (search.values && search.values.length > 2) {
    parts.push(` · by seat ${search.values.map((value) => signed(value)).join(" ")}`);
  }
  if (search.ended) parts.push(` · ${search.ended}`);
  return parts;
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
