// The panel of the search's settings; names, defaults and help come from the server.

import { button, el } from "./dom";
import type { SettingInfo } from "./protocol";

type Value = boolean | number | string | null;
export type Settings = Record<string, Value>;

export class SettingsPanel {
  readonly root = el("div", { class: "settings" });
  private infos: SettingInfo[] = [];
  private given: Settings = {};

  /** `name` tells the inputs of several panels apart. */
  constructor(
    private readonly changed: (settings: Settings) => void,
    private readonly name = "setting",
  ) {}

  offer(infos: SettingInfo[]): void {
    this.infos = infos;
    this.draw();
  }

  show(given: Settings): void {
    if (JSON.stringify(given) === JSON.stringify(this.given)) return;
    this.given = { ...given };
    this.draw();
  }

  private draw(): void {
    const rows = this.infos.map((info) => this.row(info));
    const reset = button("Defaults", "Use the default settings", () => {
      this.given = {};
      this.draw();
      this.changed({});
    });
    // Settings of an analysis from a file may have no field here.
    const shown = new Set(this.infos.map((info) => info.name));
    const others = Object.entries(this.given).filter(([name]) => !shown.has(name));
    const list = others.map(([name, value]) => `${name} = ${value}`).join(", ");
    const more = el("p", { class: "others" }, `And from the file: ${list}`);
    this.root.replaceChildren(...rows, ...(list ? [more] : []), reset);
  }

  private row(info: SettingInfo): HTMLElement {
    const given = this.given[info.name];
    const value = given === undefined ? info.default : given;
    const isChanged = given !== undefined && given !== info.default;
    const id = `${this.name}-${info.name}`;
    return el(
      "div",
      { class: isChanged ? "setting changed" : "setting" },
      el("label", { htmlFor: id }, info.name),
      this.input(info, value, id),
      el("small", {}, info.help),
    );
  }

  private input(info: SettingInfo, value: Value, id: string): HTMLElement {
    if (info.kind === "switch") {
      const box = el("input", { id, type: "checkbox", checked: value === true });
      box.onchange = () => this.set(info, box.checked);
      return box;
    }
    if (info.kind === "choice" && info.name !== "fpu") {
      const list = el(
        "select",
        { id },
        ...info.choices.map((name) =>
          el("option", { value: name, selected: name === value }, name),
        ),
      );
      list.onchange = () => this.set(info, list.value);
      return list;
    }
    const text = el("input", {
      id,
      type: "text",
      inputMode: info.kind === "choice" ? "text" : "decimal",
      value: typeof value === "number" ? String(Number(value.toPrecision(6))) : String(value ?? ""),
      placeholder: info.optional ? "none" : "",
      autocomplete: "off",
    });
    text.onchange = () => this.set(info, read(text.value, info));
    return text;
  }

  private set(info: SettingInfo, value: Value): void {
    const next = { ...this.given };
    if (value === info.default) delete next[info.name];
    else next[info.name] = value;
    this.given = next;
    this.draw();
    document.getElementById(`${this.name}-${info.name}`)?.focus();
    this.changed(next);
  }
}

/** The typed value: a number where it is one. */
export function read(text: string, info: SettingInfo): Value {
  const word = text.trim();
  if (word === "") return info.optional ? null : info.default;
  const number = Number(word.replace(",", "."));
  return Number.isNaN(number) ? word : number;
}
