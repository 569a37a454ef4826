// Values as colours: orange for low, blue for high, as in Sylvan's pictures of trees. Both differ in
// lightness from the middle for those who see no colours, and every value is written as well.

const STOPS: readonly [number, number, number][] = [
  [0xe0, 0x7b, 0x2e],
  [0xf4, 0xbc, 0x85],
  [0xee, 0xec, 0xe7],
  [0xa6, 0xcf, 0xec],
  [0x4a, 0x9a, 0xd8],
];

/** The colour of a value between `low` and `high`. */
export function colourOf(value: number | null, low: number, high: number): string {
  if (value === null || high <= low) return "#d7dbe0";
  const offset = Math.min(1, Math.max(-1, (2 * (value - low)) / (high - low) - 1));
  const stretched = Math.sign(offset) * Math.abs(offset) ** 0.6;
  const place = ((stretched + 1) / 2) * (STOPS.length - 1);
  const below = Math.min(Math.floor(place), STOPS.length - 2);
  const [a, b] = [STOPS[below], STOPS[below + 1]];
  if (!a || !b) return "#d7dbe0";
  const mixed = a.map((x, i) => Math.round(x + ((b[i] ?? x) - x) * (place - below)));
  return `rgb(${mixed.join(",")})`;
}

/** The least range of colours, as a share of the game's range: smaller differences are noise. */
const LEAST = 0.1;

/** The range of colours of a tree: around the root's value, as wide as nine of ten nodes need. */
export function spread(
  tree: { root: { value: number | null } | null; values: number[] },
  [low, high]: readonly [number, number],
): readonly [number, number] {
  const middle = tree.root?.value ?? (low + high) / 2;
  const away = tree.values.map((value) => Math.abs(value - middle)).sort((a, b) => a - b);
  const reach = away[Math.floor(0.9 * away.length)] ?? 0;
  const most = Math.max(reach, (LEAST * (high - low)) / 2);
  return [middle - most, middle + most];
}
