// The page: one connection, one view.

import { Analyse } from "./analyse";
import { Connection, type State } from "./connection";
import { button, el } from "./dom";

const notice = el("p", { class: "notice", hidden: true, aria: { role: "alert" } });
const link = el("p", { class: "link", aria: { live: "polite" } });
let hiding = 0;

function tell(sentence: string): void {
  notice.textContent = sentence;
  notice.hidden = false;
  clearTimeout(hiding);
  hiding = window.setTimeout(() => {
    notice.hidden = true;
  }, 8000);
}

const LINK: Record<State, string> = {
  connecting: "connecting…",
  open: "",
  lost: "The server does not answer: trying again…",
  refused: "",
};

const analyse: Analyse = new Analyse((request) => connection.send(request));
const connection = new Connection(
  (message) => {
    if (message.type === "problem") tell(message.sentence);
    else analyse.hear(message);
  },
  (state) => {
    link.textContent = LINK[state];
    document.body.dataset.link = state;
  },
);

const THEMES = ["auto", "light", "dark"] as const;
const theme = button("", "Light or dark", () => {
  const now = THEMES.indexOf(document.documentElement.dataset.theme as "auto");
  setTheme(THEMES[(now + 1) % THEMES.length] ?? "auto");
});

function setTheme(name: string): void {
  document.documentElement.dataset.theme = name;
  theme.textContent = { auto: "◐", light: "☀", dark: "☾" }[name] ?? "◐";
  localStorage.setItem("theme", name);
  window.dispatchEvent(new Event("resize"));
}

setTheme(localStorage.getItem("theme") ?? "auto");
document.body.append(
  el(
    "header",
    {},
    el("img", { src: "icon.svg", alt: "", width: 26, height: 26 }),
    el("h1", {}, "Sylvan"),
    link,
    theme,
  ),
  notice,
  analyse.root,
);
