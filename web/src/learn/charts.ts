// The curves of runs: one chart per group of figures, a line per run and figure, drawn by uPlot.

import uPlot from "uplot";
import { el } from "../dom";
import { ticks } from "../words";
import type { RunPoints } from "./points";

export interface Chart {
  title: string;
  /** How a healthy curve looks. */
  hint: string;
  figures: (known: readonly string[]) => string[];
  /** Whether the scale begins at zero: otherwise noise around a constant would look like a trend. */
  fromZero?: boolean;
}

const some = (...names: string[]) => {
  return (known: readonly string[]) => names.filter((name) => known.includes(name));
};

const CHARTS: Chart[] = [
  { title: "Rating", hint: "rises, then levels off", figures: some("rating.elo", "rating.return") },
  {
    title: "Policy loss",
    hint: "falls towards the entropy of its targets, below which it cannot go",
    figures: some("loss.policy", "loss.target_entropy"),
  },
  { title: "Value loss", hint: "falls, slower than the policy", figures: some("loss.value") },
  {
    title: "Mistakes",
    hint: "share of solved positions played wrong: falls towards zero",
    figures: (known) => known.filter((name) => name.startsWith("rating.mistakes.")),
  },
  {
    title: "Entropy of the policy (nats)",
    hint: "falls slowly; near zero early means too little exploration",
    figures: some("selfplay.entropy"),
  },
  {
    title: "Length of a game (plies)",
    hint: "changes as play gets better",
    figures: some("selfplay.length"),
  },
  {
    title: "Rewards foreseen",
    hint: "mean error of a learned model, by steps ahead: falls, for near steps first",
    figures: (known) => known.filter((name) => name.startsWith("model.reward.")),
  },
  {
    title: "Values foreseen",
    hint: "mean error by steps ahead: 0 is the error without the model",
    figures: (known) => known.filter((name) => name.startsWith("model.value.")),
  },
  {
    title: "Legal moves foreseen",
    hint: "share of the policy on legal moves, by steps ahead: rises towards one",
    figures: (known) => known.filter((name) => name.startsWith("model.legal.")),
  },
  {
    title: "Simulations per second",
    hint: "speed of self-play",
    figures: some("per_second.simulations"),
  },
  {
    title: "What takes the time",
    hint: "share of a step; the network should take most of it",
    figures: (known) => known.filter((name) => name.startsWith("share.")),
  },
];

/** Readable on light and on dark. */
const COLOURS = [
  "#3b82d6",
  "#d97706",
  "#2f9e62",
  "#a855c7",
  "#dc4a4a",
  "#1494ad",
  "#7d8592",
  "#b27a18",
];
const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3]];

/** A curve of fewer points has a dot at each. */
const DOTTED = 40;

/** Distances of ticks: steps are whole. */
const STEPS = [1, 2, 5]
  .flatMap((x) => [0, 1, 2, 3, 4, 5].map((n) => x * 10 ** n))
  .sort((a, b) => a - b);

/** A chart that is drawn. */
interface Drawn {
  box: HTMLElement;
  plot: uPlot;
  /** The fixed parts of a chart: its lines, its size, its colours. */
  kind: string;
}

export class Charts {
  readonly root = el("div", { class: "charts" });
  private drawn = new Map<string, Drawn>();

  /** Draw the curves of some runs, by name; charts that only have more points keep their place. */
  show(runs: ReadonlyMap<string, RunPoints>, charts: readonly Chart[] = CHARTS): void {
    const known = [...new Set([...runs.values()].flatMap((run) => [...run.figures.keys()]))];
    const before = this.drawn;
    this.drawn = new Map();
    for (const chart of charts) {
      const names = runs.size ? chart.figures(known) : [];
      const made = names.length ? this.draw(chart, names, runs, before.get(chart.title)) : null;
      if (!made) continue;
      this.drawn.set(chart.title, made);
      if (this.root.children[this.drawn.size - 1] !== made.box) {
        this.root.insertBefore(made.box, this.root.children[this.drawn.size - 1] ?? null);
      }
    }
    for (const [title, old] of before) {
      if (this.drawn.get(title) === old) continue;
      old.plot.destroy();
      old.box.remove();
    }
  }

  private draw(
    chart: Chart,
    names: string[],
    runs: ReadonlyMap<string, RunPoints>,
    before: Drawn | undefined,
  ): Drawn | null {
    const series: uPlot.Series[] = [{ label: "step" }];
    const tables: uPlot.AlignedData[] = [];
    [...runs].forEach(([run, curves], at) => {
      for (const [line, name] of names.entries()) {
        const values = curves.figures.get(name);
        if (!values) continue;
        const many = runs.size > 1;
        tables.push([curves.steps, values]);
        series.push({
          label: label(name, names.length > 1, run, many),
          stroke: COLOURS[(many ? at : line) % COLOURS.length] ?? "#888",
          dash: DASHES[(many ? line : at + line) % DASHES.length] ?? [],
          width: 2,
          spanGaps: true,
          value: (_, value) => (value === null ? "–" : Number(value.toPrecision(4)).toString()),
          points: { show: curves.steps.length < DOTTED, size: 5 },
        });
      }
    });
    if (!tables.length) return null;
    const last = Math.max(...[...runs.values()].map((curves) => curves.steps.at(-1) ?? 0));
    const dots = [...runs.values()].map((curves) => curves.steps.length < DOTTED);
    const style = getComputedStyle(this.root);
    const ink = style.getPropertyValue("--faint").trim();
    const grid = { stroke: style.getPropertyValue("--soft").trim(), width: 1 };
    const axis = { stroke: ink, grid, ticks: grid, font: "12px system-ui" };
    const across = { ...axis, incrs: STEPS };
    const short = (_: uPlot, at: number[]) => ticks(at);
    const kind = JSON.stringify([
      series.map((each) => each.label),
      dots,
      ink,
      this.root.clientWidth,
    ]);
    if (before?.kind === kind) {
      before.plot.setData(uPlot.join(tables));
      before.box.dataset.last = String(last);
      return before;
    }
    const box = el(
      "figure",
      { class: tables.length > 1 ? "chart" : "chart single", data: { last: String(last) } },
      el("figcaption", {}, el("strong", {}, chart.title), ` ${chart.hint}`),
    );
    this.root.append(box); // its width is that of its column
    const width = Math.max(240, box.clientWidth - 16);
    const options: uPlot.Options = {
      width,
      height: 190,
      series,
      scales: { x: { time: false }, y: chart.fromZero ? { range: upFromZero } : {} },
      axes: [across, { ...axis, size: 62, values: short }],
      legend: { live: true },
      cursor: { drag: { x: true, y: false } },
    };
    return { box, kind, plot: new uPlot(options, uPlot.join(tables), box) };
  }
}

function upFromZero(_: uPlot, low: number, high: number): [number, number] {
  return [Math.min(0, 1.1 * low), Math.max(0, 1.1 * high) || (low < 0 ? 0 : 1)];
}

function label(name: string, manyNames: boolean, run: string, manyRuns: boolean): string {
  const short = name.replace(
    /^(rating\.mistakes\.states|rating\.mistakes|model\.[a-z]+|share|loss|selfplay|per_second|rating)\.|^move /,
    "",
  );
  const words = short.replaceAll("_", " ");
  if (!manyRuns) return words;
  return manyNames ? `${run}: ${words}` : run;
}
