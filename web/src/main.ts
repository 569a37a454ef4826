// The page: one connection, one view.

import { Analyse } from "./analyse";
import { Connection, type State } from "./connection";
import { button, el, isForPage } from "./dom";
import { Help } from "./help";
import { Learn } from "./learn/learn";
import { Play } from "./play/play";

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
  refused: "The server has as many pages as it can. Close another one, then:",
};

const analyse: Analyse = new Analyse((request) => connection.send(request), tell);
const play: Play = new Play(
  (request) => connection.send(request),
  (request) => {
    connection.send(request);
    show(analyse.root);
  },
);
const learn: Learn = new Learn((request) => connection.send(request));
let isFirst = true;
const connection = new Connection(
  (message) => {
    if (message.type === "problem") tell(message.sentence);
    else {
      if (message.type === "hello") {
        if (play.open() && isFirst) show(play.root);
        if (!learn.root.hidden) learn.open();
        isFirst = false;
      }
      analyse.hear(message);
      play.hear(message);
      learn.hear(message);
    }
  },
  (state) => {
    link.replaceChildren(LINK[state]);
    if (state === "refused") {
      const again = button("Try again", "Connect again", () => connection.retry());
      link.append(" ", again);
    }
    document.body.dataset.link = state;
  },
);

const VIEWS = { Analyse: analyse.root, Play: play.root, Learn: learn.root };
const tabs = Object.entries(VIEWS).map(([name, root]) =>
  button(name, `${name} (${name.charAt(0)})`, () => show(root)),
);

function show(chosen: HTMLElement): void {
  if (chosen === learn.root) learn.open();
  else if (!learn.root.hidden) learn.close();
  Object.values(VIEWS).forEach((root, at) => {
    root.hidden = root !== chosen;
    tabs[at]?.setAttribute("aria-pressed", String(root === chosen));
  });
  window.dispatchEvent(new Event("resize"));
}

document.addEventListener("keydown", (event) => {
  if (!isForPage(event)) return;
  if (event.key === "?") help.open();
  const name = Object.keys(VIEWS).find((each) => each.charAt(0) === event.key);
  if (name) show(VIEWS[name as keyof typeof VIEWS]);
});

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

// A file that is dropped beside the board would replace the page.
document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", (event) => {
  event.preventDefault();
  const file = event.dataTransfer?.files[0];
  if (!file) return;
  show(analyse.root);
  analyse.drop(file);
});

setTheme(localStorage.getItem("theme") ?? "auto");
const help = new Help();
document.body.append(
  el(
    "header",
    {},
    el("img", { src: "icon.svg", alt: "", width: 26, height: 26 }),
    el("h1", {}, "Sylvan"),
    el("nav", { aria: { label: "Views" } }, ...tabs),
    link,
    button("?", "Help (?)", () => help.open()),
    theme,
  ),
  notice,
  analyse.root,
  play.root,
  learn.root,
  help.root,
);
show(analyse.root);
