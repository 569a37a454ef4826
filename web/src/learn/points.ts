// The points of a run's curves.

import type { Curves } from "../protocol";

/** The points of one run, put together from its messages. */
export class RunPoints {
  steps: number[] = [];
  figures = new Map<string, (number | null)[]>();

  add(message: Curves): void {
    if (message.fresh) {
      this.steps = [];
      this.figures.clear();
    }
    const before = this.steps.length;
    this.steps.push(...message.steps);
    for (const name of new Set([...this.figures.keys(), ...Object.keys(message.figures)])) {
      const known = this.figures.get(name) ?? new Array<null>(before).fill(null);
      const added = message.figures[name] ?? new Array<null>(message.steps.length).fill(null);
      this.figures.set(name, [...known, ...added]);
    }
  }
}
