// The tree with its toolbar, and what is known of the chosen node.

import { spread } from "./colour";
import { button, el } from "./dom";
import type { Details, Looked, Search } from "./protocol";
import type { Phase } from "./slow";
import { TreeStore } from "./tree/store";
import { TreeView } from "./tree/view";
import { capital, count, percent, signed } from "./words";

export interface TreePaneEvents {
  /** Ask for the position and the details of a node. */
  look(path: number[]): void;
  /** The nodes that should be sent have changed. */
  wanted(): void;
}

const FIRST = 60;
const MOST = 5000;

export class TreePane {
  readonly root = el("section", { class: "treepane", aria: { label: "Search tree" } });
  readonly store = new TreeStore();
  readonly view: TreeView;
  nodes = FIRST;
  opened: number[][] = [];
  seats: readonly string[] = [];
  private isNew = true;
  private line: readonly number[] = [];
  private readonly follow = el("input", { type: "checkbox" });
  private readonly found = el("span", { class: "found", aria: { live: "polite" } });
  private readonly card = el("div", { class: "nodecard", hidden: true });

  constructor(private readonly events: TreePaneEvents) {
    this.view = new TreeView(this.store, {
      chosen: (node) => this.events.look(this.store.path(node)),
      opened: (node) => this.open(this.store.path(node)),
      touched: () => {
        this.follow.checked = false;
      },
    });
    const search = el("input", {
      type: "search",
      placeholder: "Find a move",
      aria: { label: "Find a move in the tree" },
    });
    search.oninput = () => {
      const found = this.view.search(search.value);
      this.found.textContent = search.value
        ? `${found} found of ${this.store.size} nodes shown`
        : "";
    };
    search.onkeydown = (event) => {
      event.stopPropagation();
      if (event.key === "Enter") this.view.next();
    };
    const size = el("input", {
      type: "range",
      min: "1.3",
      max: "3.7",
      step: "0.1",
      value: String(Math.log10(FIRST)),
      title: "How many nodes to show",
      aria: { label: "How many nodes to show" },
    });
    const shown = el("span", { class: "quiet" }, `${FIRST} nodes`);
    size.oninput = () => {
      this.nodes = Math.min(MOST, Math.round(10 ** Number(size.value)));
      shown.textContent = `${this.nodes} nodes`;
      this.events.wanted();
    };
    this.follow.onchange = () => this.reveal();
    this.root.append(
      el(
        "div",
        { class: "toolbar" },
        button("+", "Zoom in (+)", () => this.view.zoom(1.25)),
        button("−", "Zoom out (-)", () => this.view.zoom(0.8)),
        button("All", "Show the whole tree (0)", () => this.view.fit()),
        el("label", { title: "Follow the best line as it changes (b)" }, this.follow, " best line"),
        size,
        shown,
        search,
        this.found,
      ),
      el("div", { class: "treebody" }, this.view.root, this.card),
      el(
        "p",
        { class: "legend" },
        "A link is as wide as it is visited. Blue is better than the root's value and orange worse, for the side to move at the root; “!” and a dashed frame mark proven values; click “+n” to open.",
      ),
    );
  }

  clear(): void {
    this.store.clear();
    this.opened = [];
    this.isNew = true;
    this.card.hidden = true;
    this.view.selected = null;
    this.line = [];
    this.view.changed([]);
  }

  apply(search: Search, range: readonly [number, number]): void {
    const { nodes_new, nodes_changed, nodes_gone, pv } = search;
    if (!nodes_new.length && !nodes_changed.id.length && !nodes_gone.length) return;
    this.store.apply(nodes_new, nodes_changed, nodes_gone);
    this.line = pv;
    this.view.range = spread(this.store, range);
    this.view.changed(pv);
    if (this.isNew && this.store.size) {
      this.isNew = false;
      this.view.camera.zoom = 1;
      this.view.camera.x = 20;
      this.view.camera.y = 24;
    }
    this.reveal();
  }

  /** Of the messages that wait, show the node after a path: a new one without figures at first. */
  grow(held: readonly Search[], path: readonly number[], withFigures: boolean): void {
    const known = this.store.at(path);
    const parent = path.length ? this.store.at(path.slice(0, -1)) : null;
    for (const { nodes_new, nodes_changed } of held) {
      const at = known ? nodes_changed.id.indexOf(known.id) : -1;
      if (at >= 0 && withFigures) this.store.take(nodes_changed, at);
      const row = nodes_new.find((row) =>
        path.length ? row.parent === parent?.id && row.action === path.at(-1) : row.parent === null,
      );
      if (!row || (path.length && !parent)) continue;
      if (withFigures) this.store.apply([row], null, []);
      else if (!known) this.store.apply([{ ...row, N: 0, Q: null, value: null }], null, []);
    }
    this.view.changed(this.line);
  }

  /** Light up a path, for slow motion; null: nothing. */
  light(path: readonly number[] | null, phase: Phase = "selection"): void {
    const ids = new Set<number>();
    let at: number | null = null;
    for (let length = 0; path && length <= path.length; length++) {
      const node = this.store.at(path.slice(0, length));
      if (!node) break;
      ids.add(node.id);
      at = node.id;
    }
    const isOne = phase === "expansion" || phase === "evaluation";
    this.view.lit = at === null ? null : { ids: isOne ? new Set([at]) : ids, at, phase };
    if (at !== null) this.view.choose(at, false);
    this.view.draw();
  }

  /** Follow the best line, or leave it alone. */
  toggleFollow(): void {
    this.follow.checked = !this.follow.checked;
    this.reveal();
  }

  /** Bring the best line into view, if that is wanted. */
  private reveal(): void {
    if (this.follow.checked && !this.view.lit) this.view.showLine();
  }

  open(path: number[]): void {
    const key = path.join();
    if (!this.opened.some((known) => known.join() === key)) this.opened.push(path);
    if (this.opened.length > 200) this.opened.shift();
    this.events.wanted();
  }

  /** Show what is known of a node. */
  show(looked: Looked): void {
    const node = this.store.at(looked.path);
    if (!looked.details) return;
    this.card.hidden = false;
    const title = looked.labels.length ? looked.labels.join(" ") : "The root";
    this.card.replaceChildren(
      el(
        "div",
        { class: "cardhead" },
        el("h3", {}, title),
        button("×", "Close", () => {
          this.card.hidden = true;
        }),
      ),
      el("p", {}, `${count(looked.details.N)} visits${node?.proven ? ", proven" : ""}`),
      el("p", {}, this.valuesOf("search", looked.details.values)),
      ...(looked.details.raw_values
        ? [el("p", {}, this.valuesOf("network alone", looked.details.raw_values))]
        : []),
      opinions(looked.details),
    );
  }

  private valuesOf(who: string, values: readonly number[] | null): string {
    if (!values) return `${capital(who)}: no value`;
    const [first = 0, second = 0] = values;
    if (values.length === 2 && Math.abs(first + second) < 1e-6) {
      return `${capital(who)}: ${signed(first, 3)} for ${this.seats[0] ?? "seat 0"}`;
    }
    const shown = values.map((v, seat) => `${this.seats[seat] ?? `seat ${seat}`} ${signed(v, 3)}`);
    return `${capital(who)}: ${shown.join(", ")}`;
  }
}

/** The edges of a node beside the priors of the network alone. */
function opinions(details: Details): HTMLElement {
  const raw = new Map(details.raw_priors.map((edge) => [edge.action, edge.P]));
  const rows = details.edges.map((edge) =>
    el(
      "tr",
      {},
      el("td", {}, edge.label),
      el("td", { class: "number" }, String(edge.N)),
      el("td", { class: "number" }, signed(edge.Q, 3)),
      el("td", { class: "number" }, percent(edge.P)),
      raw.size > 0 && el("td", { class: "number" }, percent(raw.get(edge.action) ?? null)),
    ),
  );
  const heads = ["Move", "N", "Q", "P", ...(raw.size ? ["network"] : [])].map((name) =>
    el("th", { class: name === "Move" ? "" : "number" }, name),
  );
  return el(
    "table",
    { class: "edges" },
    el("thead", {}, el("tr", {}, ...heads)),
    el("tbody", {}, ...rows),
  );
}
