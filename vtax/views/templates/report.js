"use strict";
(() => {
  const plots = JSON.parse(document.getElementById("plots").textContent);
  const elements = Object.keys(plots).map((id) => document.getElementById(id));
  const config = { displayModeBar: false, responsive: true };
  for (const element of elements) {
    Plotly.newPlot(element, plots[element.id].data, plots[element.id].layout, config);
  }
  const details = [...document.querySelectorAll("details")];
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = details.filter((element) => !element.open);
    for (const element of closed) element.open = true;
    for (const element of elements) Plotly.Plots.resize(element);
  });
  window.addEventListener("afterprint", () => {
    for (const element of closed) element.open = false;
    for (const element of elements) Plotly.Plots.resize(element);
  });
})();
