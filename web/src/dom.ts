// Make elements: `el("button", { class: "quiet", onclick: stop }, "Stop")`.

type Child = Node | string | null | undefined | false;
type Props<T> = { [K in keyof T]?: T[K] } & {
  class?: string;
  data?: Record<string, string>;
  aria?: Record<string, string>;
};

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props<HTMLElementTagNameMap[K]> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  const { class: className, data, aria, ...rest } = props;
  if (className) made.className = className;
  for (const [key, value] of Object.entries(data ?? {})) made.dataset[key] = value;
  for (const [key, value] of Object.entries(aria ?? {})) {
    made.setAttribute(key === "role" ? key : `aria-${key}`, value);
  }
  Object.assign(made, rest);
  fill(made, ...children);
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | number> = {},
  ...children: Node[]
): SVGElementTagNameMap[K] {
  const made = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}

/** Append what is not empty. */
export function fill(parent: Element, ...children: Child[]): void {
  for (const child of children) if (child) parent.append(child);
}

/** Whether a pressed key is meant for the page: not for a field, a dialog or the browser. */
export function isForPage(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const at = event.target as HTMLElement;
  return !/^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName) && !at.closest("dialog");
}

export function button(label: string, title: string, onclick: () => void, className = "") {
  return el("button", { type: "button", class: className, title, onclick }, label);
}
