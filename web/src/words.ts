// Numbers as text.

export const MISSING = "–";

export function count(n: number): string {
  if (n < 10_000) return n.toLocaleString("en");
  if (n < 1e6) return `${(n / 1e3).toFixed(n < 1e5 ? 1 : 0)}k`;
  return `${(n / 1e6).toFixed(n < 1e7 ? 2 : 1)}M`;
}

export function signed(x: number | null, digits = 2): string {
  if (x === null) return MISSING;
  const text = Math.abs(x).toFixed(digits);
  if (Number(text) === 0) return text;
  return (x < 0 ? "−" : "+") + text;
}

export function percent(x: number | null): string {
  if (x === null) return MISSING;
  if (x > 0 && x < 0.001) return "<0.1%";
  return `${(100 * x).toFixed(x < 0.1 ? 1 : 0)}%`;
}

export function bytes(n: number): string {
  return n < 1e6 ? `${Math.ceil(n / 1e3)} kB` : `${(n / 1e6).toFixed(n < 1e7 ? 1 : 0)} MB`;
}

/** The first letter in upper case. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A number from the server with a minus sign as long as the plus sign. */
export function minus(text: string): string {
  return text.replaceAll("-", "−");
}

/** The names of ticks, with as many digits as tell them apart. */
export function ticks(at: readonly number[]): string[] {
  const step = Math.abs((at[1] ?? 0) - (at[0] ?? 0));
  const digits = step > 0 ? Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) : 3;
  return at.map((x) => Number(x.toFixed(Math.min(digits + 1, 9))).toString());
}
