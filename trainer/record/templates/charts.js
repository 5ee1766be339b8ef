"use strict";
// Small SVG charts: a line chart with bands and a stacked bar chart, both with a cursor that reads off values.
const Charts = (() => {
  const SVG = "http://www.w3.org/2000/svg";

  function el(name, attributes = {}, parent = null) {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (parent) parent.append(node);
    return node;
  }

  // An element of HTML; attributes and children that are null or undefined are left out.
  function make(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) {
      if (key === "onclick" || key === "onchange") node[key] = value;
      else if (value !== null && value !== undefined) node.setAttribute(key, value);
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }
  const swatch = (color) => make("i", { style: `background:${color}` });

  // Round steps of 1, 2, 2.5 or 5 times a power of ten, so that about `count` ticks cover [low, high].
  function ticks(low, high, count) {
    if (!(high > low)) return [low];
    const rough = (high - low) / count;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
    const found = [];
    for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + step * 1e-6; value += step) {
      found.push(Math.abs(value) < step * 1e-9 ? 0 : value);
    }
    return found;
  }

  function short(value) {
    if (value === null || value === undefined) return "–";
    const size = Math.abs(value);
    if (size !== 0 && (size < 0.001 || size >= 1e5)) return value.toExponential(1);
    return String(Number(value.toPrecision(3)));
  }

  const percent = (value) => (value === null || value === undefined ? "–" : `${Math.round(value * 1000) / 10} %`);

  // Draws now, and again whenever the box changes its width.
  function responsive(box, draw) {
    let width = 0;
    new ResizeObserver(() => {
      if (Math.abs(box.clientWidth - width) < 1) return;
      width = box.clientWidth;
      draw();
    }).observe(box);
    width = box.clientWidth;
    draw();
  }

  function frame(box, { xs, low, high, format, label, left = 44, right = 12 }) {
    box.replaceChildren();
    const width = box.clientWidth, height = box.clientHeight;
    const svg = el("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
    box.append(svg);
    const top = 10, bottom = height - 24;
    const first = xs[0], last = xs[xs.length - 1];
    const x = (value) => (last === first ? (left + width - right) / 2 : left + ((value - first) / (last - first)) * (width - left - right));
    const y = (value) => bottom - ((value - low) / (high - low || 1)) * (bottom - top);
    for (const tick of ticks(low, high, height > 200 ? 5 : 3)) {
      el("line", { x1: left, x2: width - right, y1: y(tick), y2: y(tick), class: "gridline" }, svg);
      el("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end", class: "tick" }, svg).textContent = format(tick);
    }
    const whole = ticks(first, last, Math.max(2, Math.min(8, width / 90))).filter(Number.isInteger);
    for (const tick of whole) {
      el("text", { x: x(tick), y: height - 6, "text-anchor": "middle", class: "tick" }, svg).textContent = tick;
    }
    return { svg, x, y, width, height, top, bottom, left, right };
  }

  function legend(box, series) {
    box.before(make("div", { class: "legend" }, ...series.map(({ name, color }) => make("span", {}, swatch(color), name))));
  }

  // A cursor that snaps to the nearest x and shows `rows(index)`: [color, name, text].
  function cursor(box, plot, xs, title, rows) {
    const line = el("line", { y1: plot.top, y2: plot.bottom, class: "cursor", visibility: "hidden" }, plot.svg);
    const tip = make("div", { class: "tip" });
    box.append(tip);
    const show = (event) => {
      const at = event.clientX - box.getBoundingClientRect().left;
      let best = 0;
      xs.forEach((value, index) => { if (Math.abs(plot.x(value) - at) < Math.abs(plot.x(xs[best]) - at)) best = index; });
      const cx = plot.x(xs[best]);
      line.setAttribute("x1", cx);
      line.setAttribute("x2", cx);
      line.setAttribute("visibility", "visible");
      tip.replaceChildren(entry("", title(best), ""), ...rows(best).map((row) => entry(...row)));
      tip.classList.add("on");
      const overRight = cx + tip.offsetWidth + 18 > plot.width;
      tip.style.left = `${Math.max(0, overRight ? cx - tip.offsetWidth - 12 : cx + 12)}px`;
      tip.style.top = `${plot.top}px`;
    };
    const hide = () => { tip.classList.remove("on"); line.setAttribute("visibility", "hidden"); };
    plot.svg.addEventListener("pointermove", show);
    plot.svg.addEventListener("pointerdown", show);
    plot.svg.addEventListener("pointerleave", hide);
  }

  const entry = (color, name, text) =>
    make("div", {}, make("span", {}, color ? swatch(color) : null, name), make("b", {}, text));

  const empty = (box) => box.replaceChildren(make("div", { class: "empty" }, "not measured in this run"));

  // series: [{name, color, values: [number|null per x], dots, bands: [[low, high]|null per x]}]
  function line(box, { xs, series, format = short, from = null, to = null, label }) {
    const present = series.filter((one) => one.values.some((value) => value !== null && value !== undefined));
    if (!present.length) return empty(box);
    const all = present.flatMap((one) => [...one.values, ...(one.bands || []).flatMap((band) => band || [])]);
    const known = all.filter((value) => value !== null && value !== undefined);
    let low = from ?? Math.min(...known), high = to ?? Math.max(...known);
    if (high === low) { high += Math.abs(high) * 0.1 || 1; if (from === null) low -= Math.abs(low) * 0.1; }
    if (to === null) high += (high - low) * 0.06;
    if (present.length > 1) legend(box, present);
    responsive(box, () => {
      const plot = frame(box, { xs, low, high, format, label });
      for (const one of present) drawSeries(plot, xs, one);
      cursor(box, plot, xs, (index) => `step ${xs[index]}`, (index) =>
        present.filter((one) => one.values[index] !== null && one.values[index] !== undefined)
          .map((one) => [one.color, one.name, format(one.values[index])]));
    });
  }

  // A line joins neighbours only: between two points with nothing measured in between there is none, and a point that
  // stands alone shows its interval as a bar.
  function drawSeries(plot, xs, { values, color, dots, bands }) {
    const runs = [];
    xs.forEach((value, index) => {
      if (values[index] === null || values[index] === undefined) return;
      const point = { x: plot.x(value), y: plot.y(values[index]), band: bands && bands[index]?.map(plot.y), index };
      const last = runs[runs.length - 1];
      if (last && last[last.length - 1].index === index - 1) last.push(point);
      else runs.push([point]);
    });
    for (const run of runs) {
      const held = run.filter((point) => point.band);
      if (run.length > 1) {
        const outline = [...held.map(({ x, band }) => `${x},${band[1]}`), ...held.map(({ x, band }) => `${x},${band[0]}`).reverse()];
        if (held.length > 1) el("polygon", { points: outline.join(" "), fill: color, opacity: 0.13 }, plot.svg);
        const path = run.map(({ x, y }) => `${x},${y}`).join(" ");
        el("polyline", { points: path, fill: "none", stroke: color, "stroke-width": dots ? 2.5 : 1.75, "stroke-linejoin": "round", "stroke-linecap": "round", opacity: dots === false ? 0.75 : 1 }, plot.svg);
      } else {
        for (const { x, band } of held) el("line", { x1: x, x2: x, y1: band[0], y2: band[1], stroke: color, "stroke-width": 2, opacity: 0.45 }, plot.svg);
      }
      if (dots || run.length === 1) {
        for (const { x, y } of run) el("circle", { cx: x, cy: y, r: 4, fill: color, stroke: "var(--card)", "stroke-width": 2 }, plot.svg);
      }
    }
  }

  // layers: [{name, color, values: [number per x]}], stacked from the first one up
  function stack(box, { xs, layers, format, label }) {
    const present = layers.filter((layer) => layer.values.some((value) => value > 0));
    if (!present.length) return empty(box);
    const totals = xs.map((_, index) => present.reduce((sum, layer) => sum + (layer.values[index] || 0), 0));
    legend(box, present);
    responsive(box, () => {
      const plot = frame(box, { xs: padded(xs), low: 0, high: Math.max(...totals) * 1.04, format, label });
      const bar = Math.max(1, Math.min(26, ((plot.width - plot.left - plot.right) / (xs.length + 1)) * 0.78));
      xs.forEach((value, index) => {
        let base = 0;
        for (const layer of present) {
          const size = layer.values[index] || 0;
          const height = plot.y(base) - plot.y(base + size);
          if (height > 0.2) el("rect", { x: plot.x(value) - bar / 2, y: plot.y(base + size), width: bar, height: Math.max(0.2, height - (height > 3 ? 1 : 0)), fill: layer.color, rx: bar > 6 ? 1.5 : 0 }, plot.svg);
          base += size;
        }
      });
      cursor(box, plot, xs, (index) => `step ${xs[index]} · ${format(totals[index])}`, (index) =>
        [...present].reverse().map((layer) => [layer.color, layer.name, format(layer.values[index] || 0)]));
    });
  }

  const padded = (xs) => [xs[0] - 0.7, ...xs, xs[xs.length - 1] + 0.7];

  return { line, stack, percent, short, el, make };
})();
