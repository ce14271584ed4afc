"use strict";
// The theme, and which platforms figures and tables show.
(() => {
  const root = document.documentElement;
  const theme = document.getElementById("theme");
  const isDark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const label = () => (theme.textContent = isDark() ? "Light" : "Dark");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    label();
  });
  label();

  const filter = document.querySelector(".filter");
  if (!filter) return;
  const escaped = (text) => {
    const element = document.createElement("i");
    element.textContent = text;
    return element.innerHTML.replaceAll('"', "&quot;").replaceAll("'", "&#x27;");
  };
  const parts = [...document.querySelectorAll("main > section [data-platform]")];
  const plots = () => [...document.querySelectorAll("#figures .plot")].filter((element) => element.data);
  const hide = (platform, hidden) => {
    for (const part of parts) if (part.dataset.platform === platform) part.hidden = hidden;
    for (const plot of plots()) {
      const traces = plot.data.flatMap((trace, place) => (trace.name === escaped(platform) ? [place] : []));
      if (traces.length) Plotly.restyle(plot, { visible: !hidden }, traces);
    }
  };
  filter.hidden = false;
  filter.addEventListener("change", (event) => hide(event.target.value, !event.target.checked));
  document.addEventListener("drawn", () => {
    for (const box of filter.querySelectorAll("input:not(:checked)")) hide(box.value, true);
  });
})();
