// A learned model's predictions from a position beside the true course: a table, a row per step.

import { el } from "../dom";
import type { Foreseen } from "../protocol";
import { MISSING, percent, signed } from "../words";

export function foresight(message: Foreseen): HTMLElement[] {
  const pays = message.steps.some((step) => step.real_reward || Math.abs(step.reward ?? 0) > 0.005);
  const figures = ["value", "was", ...(pays ? ["reward", "was"] : [])];
  const heads = [
    ...["step", "action"].map((name) => [name, false] as const),
    ...figures.map((name) => [name, true] as const),
    ...["next", "was"].map((name) => [name, false] as const),
  ];
  const rows = message.steps.map((step, ahead) => {
    const likely = step.policy[0];
    const cells: [string, boolean][] = [
      [ahead === 0 ? "now" : `+${ahead}`, false],
      [step.label ?? "", false],
      [signed(step.value), true],
      [signed(step.real_value), true],
    ];
    if (pays) cells.push([signed(step.reward), true], [signed(step.real_reward), true]);
    const right = likely && likely.label === step.real ? " ✓" : "";
    cells.push([likely ? `${likely.label} ${percent(likely.P)}${right}` : MISSING, false]);
    cells.push([step.real ?? "the end", false]);
    return el(
      "tr",
      {},
      ...cells.map(([text, isNumber]) => el("td", { class: isNumber ? "number" : "" }, text)),
    );
  });
  return [
    el("h3", {}, "What the model foresees, and what happened"),
    el(
      "p",
      { class: "quiet" },
      "It sees this position and then only the actions: neither the rules nor what they lead to.",
    ),
    el(
      "div",
      { class: "scrolled" },
      el(
        "table",
        { class: "edges" },
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            ...heads.map(([name, isNumber]) => el("th", { class: isNumber ? "number" : "" }, name)),
          ),
        ),
        el("tbody", {}, ...rows),
      ),
    ),
  ];
}
