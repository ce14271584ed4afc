"use strict";
// Draws one figure after the other, so that the page answers meanwhile; all of them before it is printed.
(() => {
  const plots = JSON.parse(document.getElementById("plots").textContent);
  const elements = Object.keys(plots).map((id) => document.getElementById(id));
  const waiting = [...elements];
  const config = { displayModeBar: false, responsive: true };
  const draw = (element) => {
    Plotly.newPlot(element, plots[element.id].data, plots[element.id].layout, config);
    element.dispatchEvent(new CustomEvent("drawn", { bubbles: true }));
  };
  const next = () => {
    if (waiting.length === 0) return;
    draw(waiting.shift());
    setTimeout(next);
  };
  next();

  const PAGE_PX = 660;
  let closed = [];
  window.addEventListener("beforeprint", () => {
    while (waiting.length) draw(waiting.shift());
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
