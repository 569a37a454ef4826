// The players at the table, and the clocks.

import { seatName } from "../boardpane";
import { button, el } from "../dom";
import type { Position, SeatInfo, Table } from "../protocol";
import { capital } from "../words";

export class SeatList {
  readonly root = el("div", { class: "seatlist", aria: { label: "Seats" } });
  private readonly list = el("ul");
  private readonly invitation = el("p", { class: "invite" });
  private clocks: HTMLElement[] = [];
  private table: Table | null = null;
  private since = 0;

  constructor() {
    this.root.append(this.list, this.invitation);
    setInterval(() => this.tick(), 200);
  }

  show(table: Table): void {
    this.table = table;
    this.since = performance.now();
    const others = table.seats.filter((info) => info.who !== "you");
    // In Blob the table itself lists the seats.
    if (table.board.kind === "blob" && others.every(isPlain)) {
      const names = [...new Set(others.map((info) => info.player))].join(", ");
      this.list.replaceChildren(el("li", {}, `${others.length} opponents: ${names}`));
      this.clocks = [];
      this.invite(table);
      return;
    }
    this.clocks = table.seats.map(() => el("span", { class: "clock" }));
    this.list.replaceChildren(
      ...table.seats.map((info, seat) => {
        const turn = table.to_play === seat;
        return el(
          "li",
          { class: turn ? "turn" : "" },
          el("span", { class: "marker" }, turn ? "▶" : ""),
          el("span", {}, nameOf(table, seat)),
          el("span", { class: "quiet" }, whoIs(info)),
          info.clock === null ? null : (this.clocks[seat] ?? null),
        );
      }),
    );
    this.tick();
    this.invite(table);
  }

  private tick(): void {
    const { table } = this;
    if (!table) return;
    for (const [seat, info] of table.seats.entries()) {
      const clock = this.clocks[seat];
      if (!clock || info.clock === null) continue;
      const runs = table.ticking && table.to_play === seat;
      const left = info.clock - (runs ? (performance.now() - this.since) / 1000 : 0);
      clock.textContent = clockText(left);
      clock.classList.toggle("low", left < 20);
    }
  }

  private invite(table: Table): void {
    const free = table.seats.filter((info) => info.who === "free").length;
    this.invitation.hidden = free === 0;
    if (!free) return;
    const link = `${location.origin}/?table=${table.code}`;
    const field = el("input", { type: "text", readOnly: true, value: link, size: 34 });
    field.setAttribute("aria-label", "Link to this table");
    field.onfocus = () => field.select();
    this.invitation.replaceChildren(
      `${free === 1 ? "A seat is" : `${free} seats are`} free: whoever opens this link takes it. `,
      field,
      button("Copy", "Copy the link", () => {
        field.select();
        void navigator.clipboard?.writeText(link);
      }),
    );
  }
}

export function nameOf(table: Table, seat: number): string {
  const like = { board: table.board, seats: table.seats.map((info) => info.name) };
  return capital(seatName(like as unknown as Position, seat));
}

/** Whether nothing but the name is to be said: a player of ours, without a clock. */
function isPlain(info: SeatInfo): boolean {
  return info.who === "player" && info.clock === null;
}

function whoIs(info: SeatInfo): string {
  if (info.who === "player") return info.player;
  if (info.who === "free") return "free";
  return `${info.who === "you" ? "you" : "a person"}${info.away ? ", away" : ""}`;
}

/** Seconds as a clock shows them: `1:05`, and below ten seconds with tenths. */
export function clockText(seconds: number): string {
  const left = Math.max(0, seconds);
  if (left < 10) return `0:0${(Math.floor(left * 10) / 10).toFixed(1)}`;
  const whole = Math.floor(left);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
