import { createMemory } from "./memory.js";

const memory = createMemory("sessionStorage");
const form = document.querySelector("form.key");
const input = form.querySelector("input");
const forget = form.querySelector("button.forget");
const note = form.querySelector("[role=status]");

/** Has the key that the reader enters sent with what is tried. It is kept for this tab alone. */
export function connectKeyForm(ui) {
  const [scheme] = ui.specSelectors.specJson().getIn(["components", "securitySchemes"]).keySeq();

  function use(key) {
    ui.preauthorizeApiKey(scheme, key);
    memory.remember("api-key", key);
    forget.hidden = false;
    note.textContent = `In use: the key that ends in ${key.slice(-4)}. It stays in this tab, and is forgotten when the tab is closed.`;
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const key = input.value.trim();
    if (key !== "") {
      use(key);
    }
  });
  forget.addEventListener("click", () => {
    ui.authActions.logout([scheme]);
    memory.forget("api-key");
    forget.hidden = true;
    input.value = "";
    note.textContent = "The key is forgotten.";
  });

  const known = memory.recall("api-key");
  if (known !== undefined) {
    input.value = known;
    use(known);
  }
}
