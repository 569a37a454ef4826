// The page's help: what to try, what the columns mean, the keys.

import { button, el } from "./dom";

type Rows = readonly (readonly [string, string])[];

const TRY: Rows = [
  [
    "Analyse",
    "Press Start, or space. The arrows are the moves that the search visits most. Slow shows one simulation after the other; click a node of the tree to see its position.",
  ],
  [
    "Play",
    "Choose a game and who has each seat, for example Blob against five opponents. Hint says what to do, Review marks mistakes.",
  ],
  [
    "Learn",
    "New run trains a network by self-play. Its curves grow while you look, and Games replays what it played.",
  ],
];

const WORDS: Rows = [
  ["N", "Visits: how many simulations took a move."],
  [
    "Q",
    "Mean value of these simulations for the side to move, from −1 (loss) to +1 (win) in most games.",
  ],
  ["P", "Prior: how likely the network thought the move before searching."],
  [
    "U",
    "Exploration: large for moves with a high P and few visits. The search takes the largest Q + U.",
  ],
  ["Share", "How likely the move is chosen, at the temperature of the settings."],
  ["Pawns", "Chess: Q in pawns, as chess programs write it; #3 is a mate in three moves."],
  ["W D L", "Chess: wins, draws and losses expected, in percent."],
  ["✓ and !", "The value is proven: no more searching can change it."],
];

/** The keys of each view, as `docs/browser.md` lists them. */
export const KEYS: Readonly<Record<string, Rows>> = {
  Analyse: [
    ["space", "start, stop"],
    ["1, 2", "one simulation, a hundred"],
    ["s", "slow motion"],
    ["c", "drop the tree"],
    ["d", "compare with a second search"],
    ["b", "follow the best line in the tree"],
    ["m", "type a chess move"],
    ["← → Home End", "back, forward, to the start, to the end"],
    ["f", "turn the board"],
    ["e", "set up a chess position"],
    ["Escape", "from a line back to the position"],
  ],
  Play: [
    ["m", "type a chess move"],
    ["h", "hint"],
    ["z", "take back"],
    ["r", "review"],
    ["o", "offer a draw, or agree to one"],
    ["f", "turn the board"],
    ["t", "advice at a real table of Blob"],
  ],
  Learn: [
    ["← →", "back, forward in a game or a film"],
    ["p", "play, pause"],
    ["m", "the model's predictions"],
  ],
  "The tree, in focus": [
    ["arrows", "walk; with Shift, move the tree"],
    ["Enter", "show all children of a node"],
    ["+, -, 0", "zoom, show all"],
  ],
  Everywhere: [
    ["A, P, L", "Analyse, Play, Learn"],
    ["?", "this help"],
  ],
};

export class Help {
  readonly root: HTMLDialogElement = el("dialog", { class: "help", aria: { label: "Help" } });

  constructor() {
    const close = button("×", "Close (Escape)", () => this.root.close());
    this.root.append(
      el("div", { class: "cardhead" }, el("h2", {}, "What to try"), close),
      list(TRY),
      el("h2", {}, "What the columns mean"),
      list(WORDS),
      el("h2", {}, "Keys"),
      el(
        "div",
        { class: "keys" },
        ...Object.entries(KEYS).map(([view, rows]) =>
          el("section", {}, el("h3", {}, view), list(rows)),
        ),
      ),
    );
    // A click beside the dialog closes it.
    this.root.onclick = (event) => event.target === this.root && this.root.close();
  }

  open(): void {
    if (!this.root.open) this.root.showModal();
  }
}

function list(rows: Rows): HTMLElement {
  return el("dl", {}, ...rows.flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, text)]));
}
