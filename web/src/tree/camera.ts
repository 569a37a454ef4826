// The visible part of the tree: zoom and offset, in pixels.

export const COLUMN = 128;
export const ROW = 30;

const LEAST = 0.02;
const MOST = 2.5;
const SMALL = 0.7; // text can still be read well

export class Camera {
  zoom = 1;
  x = 24;
  y = 24;

  /** From a column and a row to pixels. */
  px(column: number): number {
    return column * COLUMN * this.zoom + this.x;
  }

  py(row: number): number {
    return row * ROW * this.zoom + this.y;
  }

  column(px: number): number {
    return (px - this.x) / (COLUMN * this.zoom);
  }

  row(py: number): number {
    return (py - this.y) / (ROW * this.zoom);
  }

  pan(dx: number, dy: number): void {
    this.x += dx;
    this.y += dy;
  }

  /** Zoom by a factor; the point at (px, py) stays. */
  zoomAt(factor: number, px: number, py: number): void {
    const next = Math.min(MOST, Math.max(LEAST, this.zoom * factor));
    const by = next / this.zoom;
    this.x = px - (px - this.x) * by;
    this.y = py - (py - this.y) * by;
    this.zoom = next;
  }

  /** Show a whole tree. */
  fit(columns: number, rows: number, width: number, height: number): void {
    const across = (width - 32) / ((columns + 1) * COLUMN);
    const down = (height - 32) / (Math.max(1, rows) * ROW);
    this.zoom = Math.min(1, Math.max(LEAST, Math.min(across, down)));
    this.x = 16;
    this.y = 16 + (ROW * this.zoom) / 2;
  }

  /** Show a line of this depth from its beginning, a little smaller if that makes it fit. */
  line(depth: number, row: number, width: number): void {
    this.zoom = Math.min(1, Math.max(SMALL, (width - 32) / ((depth + 1) * COLUMN)));
    this.x = 20;
    this.y = 24 - row * ROW * this.zoom;
  }

  /** Move as little as needed to bring a point into view. */
  reveal(column: number, row: number, width: number, height: number): void {
    const [x, y] = [this.px(column), this.py(row)];
    const right = x + COLUMN * this.zoom;
    if (x < 16) this.x += 16 - x;
    else if (right > width - 16) this.x -= right - width + 16;
    if (y < 24) this.y += 24 - y;
    else if (y > height - 24) this.y -= y - height + 24;
  }
}
