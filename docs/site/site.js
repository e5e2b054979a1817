// What may scroll sideways can be reached with the keyboard, and landmarks that the theme makes have names of their own.
function name() {
  for (const scrolled of document.querySelectorAll("pre > code, .md-typeset__scrollwrap")) {
    if (!scrolled.hasAttribute("tabindex")) scrolled.tabIndex = 0;  // the theme takes it away where there is no mouse
  }
  document.querySelectorAll("nav.md-code__nav").forEach((buttons, i) => buttons.setAttribute("aria-label", `Code ${i + 1}`));
  for (const inner of document.querySelectorAll("nav nav[aria-label]:not(.md-code__nav)")) {
    inner.setAttribute("role", "none");  // a list within the table of contents
    inner.removeAttribute("aria-label");
  }
}
new MutationObserver(name).observe(document.body, { childList: true, subtree: true, attributeFilter: ["tabindex"] });
name();
