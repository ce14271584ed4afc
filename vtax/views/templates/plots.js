"use strict";
// Draws what is in view first, then one figure after the other, so that the page answers meanwhile; all before it is printed.
(() => {
  const plots = JSON.parse(document.getElementById("plots").textContent);
  const elements = Object.keys(plots).map((id) => document.getElementById(id));
  const waiting = new Set(elements);
  const config = { displayModeBar: false, responsive: true };
  const draw = (element) => {
    if (!waiting.delete(element)) return;
    Plotly.newPlot(element, plots[element.id].data, plots[element.id].layout, config);
    element.dispatchEvent(new CustomEvent("drawn", { bubbles: true }));
  };
  const next = () => {
    const [first] = waiting;
    if (!first) return seen.disconnect();
    draw(first);
    setTimeout(next);
  };
  let begun = false;
  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) draw(target);
    if (!begun) setTimeout(next);
    begun = true;
  });
  // Read to its end the page stands at its anchor.
  document.addEventListener("DOMContentLoaded", () => {
    for (const element of elements) seen.observe(element);
  });

  const PAGE_PX = 660;
  let closed = [];
  window.addEventListener("beforeprint", () => {
    for (const element of [...waiting]) draw(element);
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const element of closed) element.open = true;
    for (const element of elements) {
      const alone = element.closest(".panels").children.length === 1;
      Plotly.relayout(element, { autosize: false, width: alone ? PAGE_PX : PAGE_PX / 2 - 10 });
    }
  });
  window.addEventListener("afterprint", () => {
    for (const element of closed) element.open = false;
    for (const element of elements) Plotly.relayout(element, { autosize: true, width: null });
  });
})();
