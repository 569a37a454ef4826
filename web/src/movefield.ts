// A field to type a move: its name, or in chess its squares.

import { el } from "./dom";
import type { ActionInfo, Position } from "./protocol";

let fields = 0;

export class MoveField {
  readonly root = el("form", { class: "movefield", hidden: true });
  private actions: readonly ActionInfo[] = [];
  private squares: Record<string, number> = {};
  private readonly list = el("datalist", { id: `moves-${fields++}` });
  private readonly text = el("input", {
    type: "text",
    size: 9,
    placeholder: "Nf3 or g1f3",
    spellcheck: false,
    autocomplete: "off",
    title: "Type a move and press Enter (m)",
    aria: { label: "Type a move" },
  });
  private readonly answer = el("span", { class: "quiet", aria: { live: "polite" } });

  constructor(play: (action: number) => void) {
    this.text.setAttribute("list", this.list.id);
    this.text.oninput = () => {
      this.answer.textContent = "";
    };
    this.root.onsubmit = (event) => {
      event.preventDefault();
      const typed = this.text.value.trim();
      if (!typed) return;
      const action = findMove(typed, this.actions, this.squares);
      if (action === null) {
        this.answer.textContent = `No move “${typed}” here.`;
        return;
      }
      this.text.value = "";
      play(action);
    };
    const enter = el("button", { type: "submit" }, "Move");
    this.root.append(this.text, this.list, enter, this.answer);
  }

  /** Take the moves of a position; other boards than that of chess have buttons for them. */
  offer(board: Position["board"], actions: readonly ActionInfo[]): void {
    this.root.hidden = board.kind !== "chess" || !actions.length;
    if (this.root.hidden) return;
    this.actions = actions;
    this.squares = board.kind === "chess" ? board.moves : {};
    this.answer.textContent = "";
    this.list.replaceChildren(...actions.map(({ label }) => el("option", { value: label })));
  }

  focus(): void {
    this.text.focus();
  }
}

/** The action that a person means; null if there is none, or several. */
export function findMove(
  typed: string,
  actions: readonly ActionInfo[],
  squares: Readonly<Record<string, number>> = {},
): number | null {
  const wanted = plain(typed);
  const exact = actions.find(({ label }) => plain(label) === wanted);
  if (exact) return exact.action;
  const moved = squares[wanted.toLowerCase()];
  if (moved !== undefined) return moved;
  const alike = actions.filter(({ label }) => plain(label).toLowerCase() === wanted.toLowerCase());
  return alike.length === 1 ? (alike[0]?.action ?? null) : null;
}

/** A move without what people leave out: captures, checks, signs of promotion, hyphens. */
function plain(text: string): string {
  return text
    .replace(/0/g, "O")
    .replace(/^o-?o(-?o)?/, (castling) => castling.toUpperCase())
    .replace(/[-x+#=!?\s]/g, "");
}
