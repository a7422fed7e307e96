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
const note = bar.querySelector("[role=status]");
const server = bar.querySelector("select");

/** The reader's key in the page header. It is checked, kept for this tab only, and shown with its remaining requests. */
export function connectKeyBar(baseUrl) {
  const api = new Api(baseUrl);
  // A key belongs to one server, and is never sent to another: a reload selects the first server again.
  const nameOfKey = () => `api-key ${api.baseUrl}`;
  const use = async (key) => {
    const asked = api.baseUrl;
    submit.disabled = true;
    say("Checking the key …");
    const { fault, isFinal, ...checked } = await checkKey(key, asked);
    submit.disabled = false;
    if (api.baseUrl !== asked) {
      return;
    }
    if (fault === undefined) {
      memory.remember(nameOfKey(), key);
      input.value = "";
      say("");
      open(false);
      api.use(checked);
    } else {
      if (isFinal) {
        memory.forget(nameOfKey());
      }
      refuse(fault);
    }
  };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const key = input.value.trim();
    return key === "" ? refuse("Enter your API key first.") : void use(key);
  });
  input.addEventListener("input", () => {
    input.removeAttribute("aria-invalid");
    say("");
  });
  bar.querySelector(".forget").addEventListener("click", () => {
    memory.forget(nameOfKey());
    api.forget();
    say("The key is forgotten.");
    input.focus();
  });
  server?.addEventListener("change", () => {
    memory.forget(nameOfKey());
    api.useServer(server.value);
  });
  connectPanel();
  api.addEventListener("change", () => show(api));
  // Windows and bans end without another answer.
  setInterval(() => show(api), 1_000);

  const known = memory.recall(nameOfKey());
  if (known !== undefined) {
    void use(known);
  }
  return api;
}

/** Asks the reader for a key. Opens the bar, which is closed on a phone. */
export function askForKey(text) {
  open(true);
  refuse(text);
}

function refuse(text) {
  input.setAttribute("aria-invalid", "true");
  say(text);
  input.focus();
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
  const name = api.plan.charAt(0).toUpperCase() + api.plan.slice(1);
  const left = describeWindows(api.windows ?? [], Date.now());
  const pause = api.pausedSeconds;
  setText(plan.querySelector(".name"), name);
  setText(plan.querySelector(".left"), pause > 0 ? `wait ${writeWait(pause)}` : left.join(" · "));
  setText(toggle, pause > 0 ? `${name} · wait` : `${name} · ${(left[0] ?? "").split(" ")[0]} left`);
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
