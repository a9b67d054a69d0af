// <copy-button for="id">: a button that copies the text of another element.

class CopyButton extends HTMLElement {
  connectedCallback() {
    const button = this.querySelector("button");
    const label = button?.textContent;
    button?.addEventListener("click", async () => {
      const text = document.getElementById(this.getAttribute("for"))?.textContent ?? "";
      try {
        await navigator.clipboard.writeText(text.trim());
        button.textContent = "Copied";
      } catch {
        button.textContent = "Not allowed";
      }
      setTimeout(() => (button.textContent = label), 2000);
    });
  }
}

customElements.define("copy-button", CopyButton);
