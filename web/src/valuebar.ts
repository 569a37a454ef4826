// The bar beside the board: how good the position is for each seat.

import { el } from "./dom";
import { capital, signed } from "./words";

/** Origins of the seats' colours: white and black pieces, red and yellow discs, marks. */
export type Colours = "pieces" | "discs" | "marks";

export class ValueBar {
  readonly root = el("div", { class: "valuebar", aria: { role: "img", label: "no value yet" } });

  /** `values` per seat, null before a search; `flipped`: seat 0 is at the top. */
  show(
    values: readonly number[] | null,
    seats: readonly string[],
    range: readonly [number, number],
    flipped: boolean,
    colours: Colours,
  ): void {
    this.root.dataset.colours = colours;
    const [low, high] = range;
    const share = (value: number) => (high > low ? (value - low) / (high - low) : 0.5);
    const first = values?.[0] ?? null;
    const part = el("div", { class: "filled" });
    part.style.height = `${100 * (first === null ? 0.5 : share(first))}%`;
    const name = capital(seats[0] ?? "seat 0");
    const text = first === null ? "no value yet" : `${name}: ${signed(first)}`;
    this.root.title = text;
    this.root.setAttribute("aria-label", text);
    this.root.classList.toggle("flipped", flipped);
    this.root.classList.toggle("unknown", first === null);
    const label = el("span", {}, first === null ? "" : signed(first, 1));
    this.root.replaceChildren(part, label);
  }
}
