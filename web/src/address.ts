// The open view, in the part of the address after #: a reload or a shared link opens it again.

export interface Place {
  game: string;
  start: string;
  moves: number[];
  ply: number | null;
}

export function readPlace(hash: string): Place | null {
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  const game = words.get("game");
  if (!game) return null;
  const ply = Number(words.get("ply") ?? Number.NaN);
  return {
    game,
    start: words.get("start") ?? "",
    moves: (words.get("moves") ?? "").split("-").filter(Boolean).map(Number).filter(isAction),
    ply: isAction(ply) ? ply : null,
  };
}

export function writePlace(place: Place): string {
  const words = new URLSearchParams({ game: place.game });
  if (place.start) words.set("start", place.start);
  if (place.moves.length) words.set("moves", place.moves.join("-"));
  if (place.ply !== null && place.ply !== place.moves.length) words.set("ply", String(place.ply));
  return `#${words}`;
}

function isAction(x: number): boolean {
  return Number.isInteger(x) && x >= 0 && x < 2 ** 32;
}
