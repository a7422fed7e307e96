import { createMemory } from "../memory.js";
import { setText } from "../text.js";
import { writeWait } from "../wait.js";
import { Api } from "./api.js";
import { checkKey } from "./key-check.js";
import { describeWindows } from "./limits.js";

const memory = createMemory("sessionStorage");
const bar = document.querySelector(".key-bar");
const toggle = bar.querySelector(".key-toggle");
const form = bar.querySelector("form");
const input = form.querySelector("input");
const submit = form.querySelector("button");
const plan = bar.querySelector(".plan");
const note = bar.querySelector("#key-note");
const accepted = bar.querySelector(".accepted");
const forget = bar.querySelector(".forget");
const server = bar.querySelector("select");

/** The button that needed a key; undefined for none. */
let asker;

/** The reader's key in the page header. It is checked, kept for this tab only, and shown with its remaining requests. */
export function connectKeyBar(baseUrl) {
  const api = new Api(baseUrl);
  connectForm(api);
  connectForget(api);
  connectServers(api);
  connectPanel();
  api.addEventListener("change", () => show(api));
  // Windows and bans end without another answer.
  setInterval(() => show(api), 1_000);

  const known = memory.recall(nameOfKey(api));
  if (known !== undefined) {
    void useKey(api, known, false);
  }
  return api;
}

/** A key belongs to one server, and is never sent to another: a reload selects the first server again. */
function nameOfKey({ baseUrl }) {
  return `api-key ${baseUrl}`;
}

function connectForm(api) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const key = input.value.trim();
    return key === "" ? ask("Enter your API key first.") : void useKey(api, key, true);
  });
  input.addEventListener("input", () => {
    input.removeAttribute("aria-invalid");
    say("");
  });
}

function connectForget(api) {
  forget.addEventListener("click", () => {
    memory.forget(nameOfKey(api));
    api.forget();
    setText(accepted, "");
    say("The key is forgotten.");
    input.focus();
  });
}

function connectServers(api) {
  server?.addEventListener("change", () => {
    memory.forget(nameOfKey(api));
    api.useServer(server.value);
  });
}

/**
 * Uses a key once the service has accepted it, unless the reader has selected another server meanwhile. `isEntered` says
 * that the reader has just entered it, and waits for what comes of it.
 */
async function useKey(api, key, isEntered) {
  const asked = api.baseUrl;
  const { fault, isFinal, ...checked } = await showCheck(checkKey(key, asked));
  if (api.baseUrl !== asked) {
    return;
  }
  // A button that is disabled loses the focus to the page.
  const isWaiting = isEntered && (form.contains(document.activeElement) || document.activeElement === document.body);
  if (fault === undefined) {
    accept(api, checked, isWaiting);
    return;
  }
  if (isFinal) {
    memory.forget(nameOfKey(api));
  }
  refuse(fault);
  if (isWaiting) {
    input.focus();
  }
}

/** Says that a key is being checked, until the check has ended. */
async function showCheck(check) {
  submit.disabled = true;
  say("Checking the key …");
  try {
    return await check;
  } finally {
    submit.disabled = false;
    say("");
  }
}

function accept(api, checked, isWaiting) {
  memory.remember(nameOfKey(api), checked.key);
  input.value = "";
  open(false);
  api.use(checked);
  setText(accepted, `The key is in use: plan ${planName(api)}.`);
  if (isWaiting) {
    leaveForm();
  }
}

/** Asks the reader for a key that a button needs. Opens the bar, which is closed on a phone. */
export function askForKey(text, button) {
  asker = button;
  open(true);
  ask(text);
}

/** The form is hidden while a key is in use, so the focus moves to what the reader needs next. */
function leaveForm() {
  const next = asker ?? (toggle.checkVisibility() ? toggle : forget);
  asker = undefined;
  next.focus();
}

function ask(text) {
  refuse(text);
  input.focus();
}

function refuse(text) {
  input.setAttribute("aria-invalid", "true");
  say(text);
}

function say(text) {
  setText(note, text);
}

function show(api) {
  const isKnown = api.key !== undefined;
  form.hidden = isKnown;
  plan.hidden = !isKnown;
  if (!isKnown) {
    setText(toggle, "API key");
    return;
  }
  const name = planName(api);
  const left = describeWindows(api.windows ?? [], Date.now());
  const pause = api.pausedSeconds;
  setText(plan.querySelector(".name"), name);
  setText(plan.querySelector(".left"), pause > 0 ? `wait ${writeWait(pause)}` : left.join(" · "));
  setText(toggle, pause > 0 ? `${name} · wait` : `${name} · ${(left[0] ?? "").split(" ")[0]} left`);
}

function planName({ plan: name }) {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

function connectPanel() {
  toggle.addEventListener("click", () => open(toggle.getAttribute("aria-expanded") === "false"));
  bar.addEventListener("keydown", ({ key }) => {
    if (key === "Escape" && toggle.getAttribute("aria-expanded") === "true") {
      open(false);
      toggle.focus();
    }
  });
  document.querySelector("main").addEventListener("click", ({ target }) => target.closest("button, a") ?? open(false));
}

function open(isOpen) {
  toggle.setAttribute("aria-expanded", String(isOpen));
  bar.classList.toggle("open", isOpen);
}
