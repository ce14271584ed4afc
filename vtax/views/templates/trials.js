"use strict";
// The trials behind a point or a row: verdicts, values in their order, distribution.
(() => {
  const { verdicts, metrics, cells } = JSON.parse(document.getElementById("trials").textContent);
  const dialog = document.getElementById("trials-dialog");
  const INVALID = verdicts.length - 1, BINS = 24;
  const WIDTH = 640, HEIGHT = 200, LEFT = 64, RIGHT = 500, TOP = 10, BOTTOM = 176;

  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const draw = (tag, attributes = {}, ...children) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const number = (value) => (value === null ? "–" : value.toLocaleString("en", { maximumSignificantDigits: 5 }));
  const median = (sorted) => (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;

  // Values from left to right as they were measured; at the right how many of the usable ones lie where.
  const chart = (values, verdict, unit) => {
    const known = values.filter((value) => value !== null);
    const svg = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" });
    if (known.length === 0) return svg;
    const low = Math.min(...known), span = Math.max(...known) - low || Math.abs(low) || 1;
    const y = (value) => BOTTOM - ((value - low) / span) * (BOTTOM - TOP);
    const x = (place) => LEFT + 12 + ((RIGHT - LEFT - 24) * place) / Math.max(1, values.length - 1);
    for (const value of [low, low + span / 2, low + span]) {
      svg.append(
        draw("line", { x1: LEFT, x2: WIDTH, y1: y(value), y2: y(value), class: "grid" }),
        draw("text", { x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, number(value)),
      );
    }
    const used = values.filter((value, place) => value !== null && verdict[place] !== INVALID).sort((a, b) => a - b);
    if (used.length) {
      const counts = new Array(BINS).fill(0);
      for (const value of used) counts[Math.min(BINS - 1, Math.floor(((value - low) / span) * BINS))] += 1;
      const height = (BOTTOM - TOP) / BINS, most = Math.max(...counts);
      counts.forEach((count, bin) =>
        svg.append(draw("rect", {
          x: RIGHT + 12, y: BOTTOM - (bin + 1) * height + 0.5,
          width: ((WIDTH - RIGHT - 16) * count) / most, height: height - 1, class: "bin",
        })));
      const middle = y(median(used));
      svg.append(draw("line", { x1: LEFT, x2: WIDTH, y1: middle, y2: middle, class: "median" }));
    }
    values.forEach((value, place) => {
      if (value === null) return;
      svg.append(draw("circle", { cx: x(place), cy: y(value), r: 4, class: verdicts[verdict[place]] }));
    });
    svg.append(
      draw("text", { x: (LEFT + RIGHT) / 2, y: HEIGHT - 4, "text-anchor": "middle" }, "in the order measured"),
      draw("text", { x: RIGHT + 12, y: HEIGHT - 4 }, `distribution, ${unit}`),
    );
    return svg;
  };

  const table = ([, ids, blocks, verdict, notes, values]) => {
    const titles = ["trial", "repetition", "verdict", ...metrics.map(({ title, unit }) => `${title}, ${unit}`), "reasons and marks"];
    const rows = ids.map((id, place) => make(
      "tr", { class: verdicts[verdict[place]] },
      make("th", { scope: "row" }, `${id}`), make("td", {}, `${blocks[place]}`), make("td", {}, verdicts[verdict[place]]),
      ...values.map((list) => make("td", { class: "number" }, number(list[place]))), make("td", {}, notes[place] ?? ""),
    ));
    return make(
      "div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Trials" },
      make("table", {},
        make("caption", { class: "visually-hidden" }, "Trials in the order measured"),
        make("thead", {}, make("tr", {}, ...titles.map((title, place) =>
          make("th", { scope: "col", class: place > 2 && place < titles.length - 1 ? "number" : "" }, title)))),
        make("tbody", {}, ...rows)),
    );
  };

  const open = (cell, wanted) => {
    const [name, ids, , verdict, , values] = cells[cell];
    const found = metrics.findIndex((metric) => metric.name === wanted);
    const told = (place) => values[place]?.some((value) => value !== null);
    const first = told(found) ? found : Math.max(0, metrics.findIndex((_, place) => told(place)));
    const counts = verdicts.map((word, place) => `${verdict.filter((each) => each === place).length} ${word}`);
    const close = make("button", { type: "button", class: "close" }, "Close");
    const choice = make("select", { id: "trials-metric" },
      ...metrics.map(({ title, unit }, place) => make("option", { value: place, ...(place === first && { selected: "" }) }, `${title}, ${unit}`)));
    const shown = make("div", { class: "chart" });
    const summary = make("p", { class: "note", role: "status" });
    const show = () => {
      const place = Number(choice.value), unit = metrics[place]?.unit ?? "", own = values[place] ?? [];
      const used = own.filter((value, trial) => value !== null && verdict[trial] !== INVALID).sort((a, b) => a - b);
      shown.replaceChildren(chart(own, verdict, unit));
      summary.textContent = used.length
        ? `${number(used[0])} to ${number(used.at(-1))} ${unit}, median ${number(median(used))}, of ${used.length} usable.`
        : "No trial recorded this value.";
    };
    close.addEventListener("click", () => dialog.close());
    choice.addEventListener("change", show);
    show();
    dialog.replaceChildren(
      make("div", { class: "head" }, make("h2", { id: "trials-title" }, name), close),
      make("p", { class: "facts" }, `${ids.length} trials: ${counts.join(", ")}`),
      make("label", { for: "trials-metric" }, "Value "), choice, summary, shown, table(cells[cell]),
    );
    dialog.showModal();
  };

  document.addEventListener("click", (event) => {
    const row = event.target.closest("button.row")?.closest("tr[data-trials]");
    if (row) open(Number(row.dataset.trials));
    if (event.target === dialog) dialog.close();
  });

  const cellOf = (plot, curve, place) => plot.data[curve].customdata?.[place] ?? plot.data[curve].meta?.trials;
  const show = (plot, curve, place) => {
    const cell = cellOf(plot, curve, place);
    if (cell !== undefined && cell !== null) open(cell, plot.data[curve].meta?.metric);
  };
  // Arrows walk over the points that have trials: right and left along a line, up and down from line to line.
  const walk = (plot, at, key) => {
    const curves = plot.data.flatMap(({ type, x, visible }, curve) =>
      (type === "scatter" || type === "bar") && visible !== false && x?.length && cellOf(plot, curve, 0) !== undefined ? [curve] : []);
    if (curves.length === 0) return null;
    if (!at) return { curve: curves[0], place: 0 };
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key] ?? 0, jump = { ArrowDown: 1, ArrowUp: -1 }[key] ?? 0;
    const curve = curves[(curves.indexOf(at.curve) + jump + curves.length) % curves.length];
    return { curve, place: Math.max(0, Math.min(plot.data[curve].x.length - 1, at.place + step)) };
  };
  document.addEventListener("drawn", ({ target: plot }) => {
    let at = null;
    plot.on("plotly_click", ({ points: [point] }) => show(plot, point.curveNumber, point.pointNumber));
    plot.on("plotly_hover", ({ points: [point] }) => {
      const cell = cellOf(plot, point.curveNumber, point.pointNumber);
      plot.classList.toggle("leads", cell !== undefined && cell !== null);
    });
    plot.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        event.preventDefault();
        const first = plot.data.findIndex((_, curve) => cellOf(plot, curve, 0) !== undefined);
        if (at || first >= 0) show(plot, at?.curve ?? first, at?.place ?? 0);
      } else if (event.key.startsWith("Arrow")) {
        at = walk(plot, at, event.key);
        if (!at) return;
        event.preventDefault();
        Plotly.Fx.hover(plot, [{ curveNumber: at.curve, pointNumber: at.place }]);
        document.getElementById("said").textContent = (plot.data[at.curve].text?.[at.place] ?? "").replace(/<[^>]*>/g, " ");
      }
    });
    plot.addEventListener("blur", () => Plotly.Fx.unhover(plot));
  });
})();
