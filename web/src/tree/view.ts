// The tree on a canvas: thousands of nodes, zoom and pan, keyboard; only what is in view is drawn.

import { colourOf } from "../colour";
import { el } from "../dom";
import type { Phase } from "../slow";
import { signed } from "../words";
import { Camera, COLUMN, ROW } from "./camera";
import type { Difference } from "./differences";
import { type Layout, layout, type Placed, within } from "./layout";
import type { TreeNode, TreeStore } from "./store";

const WIDTH = 96; // of a node's box, at zoom 1
const HEIGHT = 24;
const PAN = 80; // pixels that a key moves the tree
const TEXT_FROM = 0.45; // zoom from which text can be read

export interface TreeEvents {
  /** A node was chosen. */
  chosen(node: TreeNode): void;
  /** The children of a node are wanted. */
  opened(node: TreeNode): void;
  /** A person moved the tree or chose a node. */
  touched(): void;
}

/** The parts that slow motion lights up: the nodes of a path, the one at which the phase is, and the phase. */
export interface Lit {
  ids: ReadonlySet<number>;
  at: number;
  phase: Phase;
}

/** A sign beside the node at which a phase is. */
const SIGNS: Record<Phase, string> = {
  selection: "▶",
  expansion: "+",
  evaluation: "?",
  backup: "◀",
};

export class TreeView {
  readonly root: HTMLElement;
  readonly camera = new Camera();
  selected: number | null = null;
  range: readonly [number, number] = [-1, 1];
  lit: Lit | null = null;
  /** Nodes that differ from those of another search. */
  differs: ReadonlyMap<number, Difference> = new Map();
  private readonly canvas = el("canvas", {
    tabIndex: 0,
    aria: {
      role: "application",
      label:
        "Search tree. Arrow keys walk, with Shift they move the tree; Enter opens, plus and minus zoom, 0 shows all.",
    },
  });
  private readonly spoken = el("p", { class: "unseen", aria: { live: "polite" } });
  private readonly pen: CanvasRenderingContext2D;
  private placed: Layout = layout(null);
  private found: ReadonlySet<number> = new Set();
  private pv: ReadonlySet<number> = new Set();
  /** The last node of the best line. */
  private end: number | null = null;
  private pending = 0;
  private ink: Record<string, string> = {};
  private readonly fingers = new Map<number, { x: number; y: number }>();
  private dragged = 0;

  constructor(
    private readonly store: TreeStore,
    private readonly events: TreeEvents,
  ) {
    this.root = el("div", { class: "treecanvas" }, this.canvas, this.spoken);
    const pen = this.canvas.getContext("2d");
    if (!pen) throw new Error("this browser has no canvas");
    this.pen = pen;
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.root);
    window.addEventListener("resize", () => this.draw()); // also when the theme changes
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  /** The store has changed. */
  changed(pv: readonly number[]): void {
    this.placed = layout(this.store.root);
    const line = new Set<number>();
    this.end = null;
    for (let length = 0; length <= pv.length; length++) {
      const node = this.store.at(pv.slice(0, length));
      if (!node) break;
      line.add(node.id);
      this.end = node.id;
    }
    this.pv = line;
    this.draw();
  }

  fit(): void {
    this.events.touched();
    const { width, height } = this.root.getBoundingClientRect();
    this.camera.fit(this.placed.depth, this.placed.rows, width, height);
    this.draw();
  }

  /** Show the best line, its end in any case. */
  showLine(): void {
    const at = this.placed.byId.get(this.end ?? -1);
    const root = this.placed.root;
    if (!at || !root) return;
    const { width, height } = this.root.getBoundingClientRect();
    this.camera.line(at.x, root.y, width);
    this.camera.reveal(at.x, at.y, width, height);
    this.draw();
  }

  zoom(factor: number): void {
    this.events.touched();
    const { width, height } = this.root.getBoundingClientRect();
    this.camera.zoomAt(factor, width / 2, height / 2);
    this.draw();
  }

  /** Mark the nodes whose label contains some text, and show the first. Returns how many. */
  search(text: string): number {
    const wanted = text.trim().toLowerCase();
    const ids = new Set<number>();
    if (wanted) {
      for (const { node } of this.placed.byId.values()) {
        if (node.label.toLowerCase().includes(wanted)) ids.add(node.id);
      }
    }
    this.found = ids;
    const first = [...ids][0];
    if (first !== undefined) this.choose(first);
    this.draw();
    return ids.size;
  }

  /** Go to the next node that the search has found. */
  next(): void {
    const ids = [...this.found];
    const at = ids.indexOf(this.selected ?? -1);
    const id = ids[(at + 1) % ids.length];
    if (id !== undefined) this.choose(id);
  }

  /** Choose a node and bring it into view. */
  choose(id: number, tell = true): void {
    const at = this.placed.byId.get(id);
    if (!at) return;
    this.selected = id;
    const { width, height } = this.root.getBoundingClientRect();
    this.camera.reveal(at.x, at.y, width, height);
    const { node } = at;
    this.spoken.textContent = `${node.label || "root"}, ${node.N} visits, value ${signed(node.value)}`;
    if (tell) {
      this.events.touched();
      this.events.chosen(node);
    }
    this.draw();
  }

  draw(): void {
    this.pending ||= requestAnimationFrame(() => {
      this.pending = 0;
      const began = performance.now();
      this.paint();
      this.root.dataset.frame = (performance.now() - began).toFixed(2);
      this.root.dataset.nodes = String(this.placed.byId.size);
      const { lit } = this;
      this.root.dataset.phase = lit ? `${lit.phase} ${lit.ids.size}` : "";
    });
  }

  // --- painting ----------------------------------------------------------------------------------

  private paint(): void {
    const { width, height } = this.root.getBoundingClientRect();
    const dots = window.devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * dots)) this.canvas.width = width * dots;
    if (this.canvas.height !== Math.round(height * dots)) this.canvas.height = height * dots;
    const style = getComputedStyle(this.root);
    for (const name of ["ink", "faint", "line", "accent", "surface", "alert"]) {
      this.ink[name] = style.getPropertyValue(`--${name}`).trim();
    }
    const { pen, camera } = this;
    pen.setTransform(dots, 0, 0, dots, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = `${13 * camera.zoom}px system-ui, sans-serif`;
    pen.textBaseline = "middle";
    const shown = [
      ...within(
        this.placed.root,
        camera.column(0) - 1,
        camera.column(width),
        camera.row(0) - 1,
        camera.row(height) + 1,
      ),
    ];
    for (const at of shown) this.link(at);
    const top = camera.row(-ROW);
    const bottom = camera.row(height + ROW);
    for (const at of shown) if (at.y >= top && at.y <= bottom) this.box(at);
  }

  private link(at: Placed): void {
    const { parent, node } = at;
    if (!parent) return;
    const { pen, camera } = this;
    const x0 = camera.px(parent.x) + WIDTH * camera.zoom;
    const [y0, x1, y1] = [camera.py(parent.y), camera.px(at.x), camera.py(at.y)];
    const share = node.N / Math.max(1, parent.node.N);
    const lit = this.lit?.ids.has(node.id);
    pen.strokeStyle = lit
      ? this.colour("alert")
      : this.pv.has(node.id)
        ? this.colour("accent")
        : this.colour("line");
    pen.lineWidth = Math.max(0.5, (1 + 9 * Math.sqrt(share)) * camera.zoom) + (lit ? 2 : 0);
    const middle = (x0 + x1) / 2;
    pen.beginPath();
    pen.moveTo(x0, y0);
    pen.bezierCurveTo(middle, y0, middle, y1, x1, y1);
    pen.stroke();
  }

  private box(at: Placed): void {
    const { pen, camera } = this;
    const { node } = at;
    const z = camera.zoom;
    const [x, y] = [camera.px(at.x), camera.py(at.y) - (HEIGHT / 2) * z];
    const [w, h] = [WIDTH * z, HEIGHT * z];
    pen.fillStyle = colourOf(node.value, this.range[0], this.range[1]);
    pen.beginPath();
    pen.roundRect(x, y, w, h, 5 * z);
    pen.fill();
    const lit = this.lit?.ids.has(node.id);
    if (node.proven) this.frame(x, y, w, h, this.colour("ink"), 1.6, [4 * z, 2 * z]);
    if (this.pv.has(node.id)) this.frame(x, y, w, h, this.colour("accent"), 2);
    if (this.found.has(node.id)) this.frame(x, y, w, h, this.colour("alert"), 2.4);
    if (lit) {
      const isDashed = this.lit?.phase === "expansion";
      this.frame(x - 3, y - 3, w + 6, h + 6, this.colour("alert"), 3, isDashed ? [6, 4] : []);
    }
    if (node.id === this.selected) this.frame(x - 2, y - 2, w + 4, h + 4, this.colour("ink"), 2);
    const differs = this.differs.get(node.id);
    if (differs) this.frame(x - 1, y - 1, w + 2, h + 2, this.colour("alert"), 2, [2, 2]);
    if (z < TEXT_FROM) return;
    const phase = this.lit?.at === node.id ? this.lit.phase : null;
    if (phase) this.sign(SIGNS[phase], x, y + h / 2, true);
    else if (differs) this.sign({ more: "▲", less: "▼", only: "◆" }[differs], x, y + h / 2);
    pen.fillStyle = "#15191e";
    const value = node.value === null ? "" : signed(node.value) + (node.proven ? "!" : "");
    pen.textAlign = "left";
    pen.fillText(this.cut(node.label || "root", 40 * z), x + 6 * z, y + h / 2);
    pen.textAlign = "right";
    pen.fillText(value, x + w - 5 * z, y + h / 2);
    pen.textAlign = "left";
    if (node.unsent > 0) {
      // Above the links, which lead to the right and down.
      pen.fillStyle = this.colour("faint");
      pen.font = `${11 * z}px system-ui, sans-serif`;
      pen.fillText(`+${node.unsent}`, x + w + 4 * z, y + (node.children.length ? 0 : h / 2));
      pen.font = `${13 * z}px system-ui, sans-serif`;
    }
  }

  /** A sign in a disc on the left edge of a node. */
  private sign(text: string, x: number, y: number, isStrong = false): void {
    const { pen } = this;
    const z = this.camera.zoom;
    pen.fillStyle = this.colour(isStrong ? "alert" : "surface");
    pen.beginPath();
    pen.arc(x - 9 * z, y, (isStrong ? 10 : 8.5) * z, 0, 2 * Math.PI);
    pen.fill();
    pen.fillStyle = this.colour(isStrong ? "surface" : "alert");
    pen.textAlign = "center";
    pen.fillText(text, x - 9 * z, y);
  }

  private colour(name: string): string {
    return this.ink[name] ?? "#888";
  }

  private frame(
    x: number,
    y: number,
    w: number,
    h: number,
    colour: string,
    width: number,
    dash: number[] = [],
  ): void {
    const { pen } = this;
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.setLineDash(dash);
    pen.beginPath();
    pen.roundRect(x, y, w, h, 5 * this.camera.zoom);
    pen.stroke();
    pen.setLineDash([]);
  }

  private cut(text: string, width: number): string {
    if (this.pen.measureText(text).width <= width) return text;
    let end = text.length - 1;
    while (end > 1 && this.pen.measureText(`${text.slice(0, end)}…`).width > width) end--;
    return `${text.slice(0, end)}…`;
  }

  // --- hands -------------------------------------------------------------------------------------

  private listen(): void {
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.fingers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
      this.dragged = 0;
    });
    canvas.addEventListener("pointermove", (event) => this.moved(event));
    const lifted = (event: PointerEvent) => {
      this.fingers.delete(event.pointerId);
      if (this.dragged < 5 && event.type === "pointerup") this.clicked(event);
    };
    canvas.addEventListener("pointerup", lifted);
    canvas.addEventListener("pointercancel", lifted);
    canvas.addEventListener("dblclick", (event) => {
      const node = this.under(event)?.node;
      if (node) this.events.opened(node);
    });
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        this.events.touched();
        const step = event.deltaMode === 1 ? 16 : 1;
        this.camera.zoomAt(Math.exp(-0.0015 * step * event.deltaY), event.offsetX, event.offsetY);
        this.draw();
      },
      { passive: false },
    );
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  private moved(event: PointerEvent): void {
    const last = this.fingers.get(event.pointerId);
    if (!last) {
      this.canvas.style.cursor = this.under(event) ? "pointer" : "grab";
      return;
    }
    const now = { x: event.offsetX, y: event.offsetY };
    const [dx, dy] = [now.x - last.x, now.y - last.y];
    const other = [...this.fingers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const before = Math.hypot(last.x - other.x, last.y - other.y);
      const after = Math.hypot(now.x - other.x, now.y - other.y);
      this.camera.zoomAt(after / Math.max(1, before), other.x, other.y);
    } else this.camera.pan(dx, dy);
    this.fingers.set(event.pointerId, now);
    this.dragged += Math.abs(dx) + Math.abs(dy);
    if (this.dragged >= 5) this.events.touched();
    this.draw();
  }

  private under(event: MouseEvent): Placed | null {
    const [column, row] = [this.camera.column(event.offsetX), this.camera.row(event.offsetY)];
    for (const at of within(this.placed.root, column - 1, column, row - 1, row + 1)) {
      const inside = column >= at.x && column <= at.x + (WIDTH + 26) / COLUMN;
      if (inside && Math.abs(row - at.y) <= HEIGHT / 2 / ROW) return at;
    }
    return null;
  }

  private clicked(event: MouseEvent): void {
    const at = this.under(event);
    if (!at) return;
    // A click on "+12" opens; on the box it chooses.
    const beyond = this.camera.column(event.offsetX) > at.x + WIDTH / COLUMN;
    if (beyond && at.node.unsent > 0) this.events.opened(at.node);
    else this.choose(at.node.id);
  }

  private key(event: KeyboardEvent): void {
    const at = this.placed.byId.get(this.selected ?? -1) ?? this.placed.root;
    const beside = (by: number) => {
      const all = at?.parent?.children ?? [];
      return at ? all[all.indexOf(at) + by] : undefined;
    };
    const go: Record<string, () => void> = {
      ArrowLeft: () => at?.parent && this.choose(at.parent.node.id),
      ArrowRight: () => at?.children[0] && this.choose(at.children[0].node.id),
      ArrowUp: () => this.chooseIf(beside(-1)),
      ArrowDown: () => this.chooseIf(beside(1)),
      Enter: () => at && this.events.opened(at.node),
      "+": () => this.zoom(1.25),
      "-": () => this.zoom(0.8),
      "0": () => this.fit(),
    };
    const act = (event.shiftKey && this.panBy(event.key)) || go[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  /** Shift and an arrow move the whole tree. */
  private panBy(key: string): (() => void) | undefined {
    const by: Record<string, [number, number]> = {
      ArrowLeft: [PAN, 0],
      ArrowRight: [-PAN, 0],
      ArrowUp: [0, PAN],
      ArrowDown: [0, -PAN],
    };
    const move = by[key];
    return (
      move &&
      (() => {
        this.events.touched();
        this.camera.pan(...move);
        this.draw();
      })
    );
  }

  private chooseIf(at: Placed | undefined): void {
    if (at) this.choose(at.node.id);
  }
}
