// The parts of the page in a notebook: an anywidget. Its model carries the messages that a page
// exchanges with the server; `messages` are those to begin with, so that a notebook which is only
// read, without Python, shows them too. Everything stands in a shadow root, where the styles of the
// page and those of the notebook cannot disturb each other.

import { el } from "./dom";
import { Learn } from "./learn/learn";
import { Play } from "./play/play";
import type { Message, Request } from "./protocol";
import { Stored } from "./stored";

/** The styles of the page, for a shadow root (`build.mjs`). */
declare const STYLES: string;

/** The arguments from anywidget. */
export interface Model {
  get(name: "part"): "result" | "runs" | "game";
  get(name: "messages"): Message[];
  send(request: Request): void;
  on(event: "msg:custom", heard: (message: Message) => void): void;
  off(event: "msg:custom", heard: (message: Message) => void): void;
}

interface Part {
  root: HTMLElement;
  hear(message: Message): void;
}

export function render({ model, el: host }: { model: Model; el: HTMLElement }): () => void {
  const shadow = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLES);
  shadow.adoptedStyleSheets = [sheet];
  host.dataset.theme = themeOf(document.body);
  const notice = el("p", { class: "notice", hidden: true, aria: { role: "alert" } });
  const part = made(model, shadow);
  part.root.hidden = false;
  shadow.append(el("div", { class: "widget" }, notice, part.root));
  const heard = (message: Message) => {
    notice.hidden = message.type !== "problem";
    if (message.type === "problem") notice.textContent = message.sentence;
    else part.hear(message);
  };
  model.on("msg:custom", heard);
  for (const message of model.get("messages")) heard(message);
  if (part instanceof Learn || part instanceof Play) part.open();
  return () => {
    if (part instanceof Learn) part.close();
    model.off("msg:custom", heard);
  };
}

function made(model: Model, keys: EventTarget): Part {
  const send = (request: Request) => model.send(request);
  const name = model.get("part");
  if (name === "runs") return new Learn(send, keys);
  return name === "game" ? new Play(send, null, keys) : new Stored(send);
}

/** Light or dark, as the notebook is; `auto`: as the system. */
function themeOf(body: HTMLElement): "light" | "dark" | "auto" {
  const light = body.dataset.jpThemeLight ?? body.dataset.vscodeThemeKind;
  if (light === undefined) return "auto";
  return light === "false" || light.includes("dark") ? "dark" : "light";
}

export default { render };
