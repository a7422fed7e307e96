import { writeWait } from "./wait.js";

/** `<count-down seconds="42">` shows the time that is left, second by second. As a timer it is not read aloud each time. */
class CountDown extends HTMLElement {
  #timer;

  connectedCallback() {
    this.setAttribute("role", "timer");
    const endsAtMs = Date.now() + Number(this.getAttribute("seconds")) * 1_000;
    const show = () => {
      const left = Math.max(0, Math.ceil((endsAtMs - Date.now()) / 1_000));
      this.textContent = left > 0 ? writeWait(left) : "none: try again";
      if (left === 0) {
        clearInterval(this.#timer);
      }
    };
    this.#timer = setInterval(show, 1_000);
    show();
  }

  disconnectedCallback() {
    clearInterval(this.#timer);
  }
}

customElements.define("count-down", CountDown);
