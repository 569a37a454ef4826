// The value for seat 0 over the game; a click goes there.

import { el, svg } from "./dom";
import { signed } from "./words";

const HEIGHT = 60;

export class Graph {
  readonly root = el("div", { class: "graph" });

  constructor(private readonly go: (ply: number) => void) {}

  show(
    values: readonly (number | null)[],
    ply: number,
    range: readonly [number, number],
    labels: readonly string[],
  ): void {
    this.root.hidden = values.length < 2;
    if (this.root.hidden) return;
    const width = Math.max(values.length - 1, 8);
    const [low, high] = range;
    const y = (value: number) => HEIGHT * (1 - (value - low) / (high - low || 1));
    const known = values.flatMap((value, at) => (value === null ? [] : [[at, y(value)] as const]));
    const drawing = svg("svg", {
      viewBox: `-0.5 -4 ${width + 1} ${HEIGHT + 8}`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": "Value over the game",
    });
    drawing.append(
      svg("path", { class: "zero", d: `M-0.5 ${y((low + high) / 2)}H${width + 1}` }),
      svg("path", { class: "here", d: `M${ply} -4V${HEIGHT + 4}` }),
    );
    if (known.length) {
      const line = known.map(([x, at], i) => `${i ? "L" : "M"}${x} ${at.toFixed(1)}`).join("");
      drawing.append(svg("path", { class: "values", d: line }));
    }
    for (const [x, at] of known.length === 1 ? known : []) {
      drawing.append(svg("path", { class: "values", d: `M${x - 0.2} ${at}h0.4` }));
    }
    const text = el("p", { class: "graphtext" });
    drawing.addEventListener("pointermove", (event) => {
      const at = this.plyAt(event, drawing, width, values.length);
      text.textContent = `${labels[at - 1] ?? "start"} ${signed(values[at] ?? null)}`;
    });
    drawing.addEventListener("pointerleave", () => {
      text.textContent = "";
    });
    drawing.addEventListener("click", (event) =>
      this.go(this.plyAt(event, drawing, width, values.length)),
    );
    this.root.replaceChildren(drawing, text);
  }

  private plyAt(event: MouseEvent, drawing: Element, width: number, count: number): number {
    const box = drawing.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * (width + 1) - 0.5;
    return Math.min(count - 1, Math.max(0, Math.round(x)));
  }
}
