"use strict";
// Fills the page: theme, charts, replays. The data is the JSON block that the template embeds.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;

  function setTheme(name) { root.dataset.theme = name; }
  setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  document.getElementById("theme").addEventListener("click", () => setTheme(root.dataset.theme === "dark" ? "light" : "dark"));

  const seconds = (value) => (value === 0 ? "0 s" : value >= 10 ? `${Math.round(value)} s` : value >= 1 ? `${Math.round(value * 10) / 10} s` : `${Math.round(value * 1000)} ms`);
  const box = (id) => document.getElementById(id);
  const steps = data.steps;

  if (steps.length) {
    const xs = steps.map((step) => step.step);
    const column = (key) => steps.map((step) => step[key] ?? null);
    Charts.line(box("chart-success"), {
      xs, from: 0, to: 1, format: Charts.percent, label: "Success by GRPO step",
      series: [
        { name: "training episodes, sampled", color: "var(--from)", values: column("success"), dots: false },
        { name: "held-out episodes, greedy (95 % interval)", color: "var(--accent)", values: column("eval_success"), bands: column("eval_band"), dots: true },
      ],
    });
    const parts = [...new Set(steps.flatMap((step) => Object.keys(step.reward_parts || {})))].sort();
    Charts.line(box("chart-parts"), {
      xs, from: 0, to: 1, label: "Parts of the reward by GRPO step",
      series: parts.map((name, index) => ({
        name: name.replaceAll("_", " "), color: `var(--c${(index % 7) + 1})`,
        values: steps.map((step) => (step.step === 0 ? null : (step.reward_parts || {})[name] ?? null)),
      })),
    });
    const small = [
      ["reward", "reward", "Mean reward", {}], ["entropy", "entropy", "Entropy", { from: 0 }], ["kl", "kl", "KL divergence", { from: 0 }],
      ["turns", "turns", "Turns an episode", { from: 0 }], ["malformed", "malformed", "Malformed turns", { from: 0, format: Charts.percent }],
      ["drift", "prob_diff_max", "Token drift", { from: 0 }],
    ];
    for (const [id, key, label, options] of small) {
      const values = steps.map((step) => (step.step === 0 ? null : step[key] ?? null));
      Charts.line(box(`chart-${id}`), { xs, label, series: [{ name: label, color: "var(--c1)", values }], ...options });
    }
    const trained = steps.filter((step) => step.step > 0);
    const order = ["generate", "env", "old_log_prob", "ref", "update", "sync", "other"];
    const extra = [...new Set(trained.flatMap((step) => Object.keys(step.time_s)))].filter((name) => !order.includes(name));
    const layers = [...order, ...extra].map((name, index) => ({
      name: name.replaceAll("_", " "), color: `var(--c${Math.min(index + 1, 7)})`, values: trained.map((step) => step.time_s[name] || 0),
    }));
    if (trained.length) {
      Charts.stack(box("chart-time"), { xs: trained.map((step) => step.step), layers, format: seconds, label: "Seconds of each GRPO step by phase" });
    }
  }
  if (data.episodes.length) Replay.mount(box("replay"), data, seconds);
  root.dataset.ready = "true";
})();
