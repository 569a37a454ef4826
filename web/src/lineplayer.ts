// Plays a line on the board, move by move.

const PAUSE = 450; // between two moves, in ms

export class LinePlayer {
  private timer = 0;
  private path: number[] | null = null;

  /** `show` shows the position after some actions. */
  constructor(private readonly show: (path: number[]) => void) {}

  /** Begin with the first move, or show the end at once where motion is not wanted. */
  play(line: readonly number[]): void {
    this.stop();
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const step = (length: number) => {
      this.path = line.slice(0, length);
      this.show(this.path);
      if (length < line.length) this.timer = window.setTimeout(() => step(length + 1), PAUSE);
    };
    step(still ? line.length : 1);
  }

  /** Stay at one position. */
  stay(path: number[]): void {
    this.stop();
    this.path = path;
    this.show(path);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.path = null;
  }

  /** Whether the position after these actions is the one to show now. */
  wants(path: readonly number[]): boolean {
    return this.path !== null && this.path.join() === path.join();
  }
}
