/** `<code-block>` gives the code within it a button that copies it. */
class CodeBlock extends HTMLElement {
  connectedCallback() {
    // Browsers give the clipboard to encrypted pages, and to those of the same machine.
    if (navigator.clipboard === undefined || this.querySelector("button") !== null) {
      return;
    }
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", () => void copy(this.querySelector("code").textContent, button));
    this.prepend(button);
  }
}

async function copy(text, button) {
  await navigator.clipboard.writeText(text);
  button.textContent = "Copied";
  setTimeout(() => {
    button.textContent = "Copy";
  }, shownMs);
}

/** How long the button says that it has copied. */
const shownMs = 2_000;

customElements.define("code-block", CodeBlock);
