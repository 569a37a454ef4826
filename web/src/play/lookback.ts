// The review of a game: which decisions were mistakes, and what the search thought of each.

import { button, el } from "../dom";
import type { Judged, Option } from "../protocol";
import { percent, signed } from "../words";

/** Options with their values, best first. */
export function options(list: readonly Option[]): HTMLElement {
  const isBlob = list[0]?.made !== null;
  const names = isBlob ? ["", "points", "makes the bid"] : ["", "expected result"];
  const rows = list.map((option) => [
    option.label,
    isBlob ? option.value.toFixed(1) : signed(option.value),
    ...(option.made === null ? [] : [percent(option.made)]),
  ]);
  return table(names, rows);
}

/** The whole review; `analyse` opens a ply of the game in Analyse. */
export function review(
  decisions: readonly Judged[],
  isBlob: boolean,
  analyse: ((ply: number) => void) | null,
): HTMLElement[] {
  const bad = decisions.filter((decision) => decision.mark);
  const sentence = !decisions.length
    ? "There was no choice so far."
    : bad.length
      ? `${bad.length} of ${decisions.length} decisions could be better.`
      : `No mistakes in ${decisions.length} decisions.`;
  return [
    el("h3", {}, "Review"),
    el("p", {}, sentence),
    ...(isBlob ? decisions.map(lookBack) : bad.length ? [mistakes(bad, analyse)] : []),
  ];
}

function mistakes(bad: readonly Judged[], analyse: ((ply: number) => void) | null): HTMLElement {
  const rows = bad.map((decision) => [
    `${decision.ply + 1}. ${decision.label} ${decision.mark}`,
    decision.best,
    percent(decision.loss),
  ]);
  const found = table(["played", "better", "lost"], rows);
  if (!analyse) return found;
  for (const [at, row] of [...found.querySelectorAll("tbody tr")].entries()) {
    const ply = bad[at]?.ply ?? 0;
    row.append(
      el(
        "td",
        {},
        button("Why?", "Analyse this position", () => analyse(ply)),
      ),
    );
  }
  return found;
}

/** A decision in Blob: opens to what the search thought. */
function lookBack(decision: Judged): HTMLElement {
  const lost = decision.mark ? ` ${decision.mark} better: ${decision.best}` : "";
  const cost = decision.mark ? ` (${decision.loss.toFixed(1)} points)` : "";
  return el(
    "details",
    { class: decision.mark ? "decision bad" : "decision" },
    el("summary", {}, `${decision.label}${lost}${cost}`),
    options(decision.options),
  );
}

export function table(names: readonly string[], rows: readonly string[][]): HTMLElement {
  const cell = (tag: "td" | "th", text: string, at: number) =>
    el(tag, { class: at && !/[a-z]/i.test(text.slice(0, 1)) ? "number" : "" }, text);
  return el(
    "table",
    { class: "edges" },
    el("thead", {}, el("tr", {}, ...names.map((name, at) => cell("th", name, at)))),
    el(
      "tbody",
      {},
      ...rows.map((row) => el("tr", {}, ...row.map((text, at) => cell("td", text, at)))),
    ),
  );
}
