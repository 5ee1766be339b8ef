"use strict";
// Plays recorded episodes: the screen with the touch drawn on it, what the model wrote token by token, the verdict.
const Replay = (() => {
  const { make } = Charts;
  const chip = (text, kind = "") => make("span", { class: `chip ${kind}` }, text);
  const block = (title, note, ...children) => make("div", { class: "block" }, make("h4", {}, make("span", {}, title), make("span", {}, note || "")), ...children);

  function outcome(episode) {
    if (episode.failure) return ["dropped", "bad"];
    return episode.success ? ["solved", "good"] : ["not solved", "bad"];
  }

  const FILTERS = {
    phase: { all: "training and evaluation", value: (episode) => (episode.phase === "eval" ? "evaluation" : "training") },
    step: { all: "every step", value: (episode) => `step ${episode.step}` },
    task: { all: "every task", value: (episode) => episode.task },
    outcome: { all: "every outcome", value: (episode) => outcome(episode)[0] },
  };

  function mount(root, data, seconds) {
    const state = { shown: data.episodes, at: 0, turn: 0 };
    const chosen = {};
    const position = make("output");
    const back = button("‹", "Previous episode", () => move(-1)), next = button("›", "Next episode", () => move(1));
    const stage = make("div", { class: "episode card" });
    const selects = Object.entries(FILTERS).map(([name, filter]) => {
      const values = [...new Set(data.episodes.map(filter.value))];
      if (values.length < 2) return null;
      if (name === "task" || name === "outcome") values.sort();
      const options = [filter.all, ...values].map((text, index) => make("option", { value: index ? text : "" }, text));
      return make("select", { "aria-label": name, onchange: (event) => { chosen[name] = event.target.value; refilter(); } }, ...options);
    });
    root.append(make("div", { class: "filters" }, ...selects.filter(Boolean), make("div", { class: "pager" }, back, position, next)), stage);

    function button(text, label, onclick) {
      return make("button", { type: "button", class: "step-button", "aria-label": label, onclick }, text);
    }
    function refilter() {
      state.shown = data.episodes.filter((episode) => Object.entries(chosen).every(([name, value]) => !value || FILTERS[name].value(episode) === value));
      state.at = 0; state.turn = 0;
      draw();
    }
    function move(by) {
      const at = Math.min(Math.max(state.at + by, 0), state.shown.length - 1);
      if (at !== state.at) { state.at = at; state.turn = 0; draw(); }
    }
    function turn(by) { go(state.turn + by); }
    function go(index) {
      const last = frames(state.shown[state.at]).length - 1;
      state.turn = Math.min(Math.max(index, 0), last);
      draw();
    }
    document.addEventListener("keydown", (event) => {
      if (event.target.closest("select, input, textarea, .tokens") || event.ctrlKey || event.metaKey || event.altKey) return;
      const box = root.getBoundingClientRect();
      if (box.bottom < 0 || box.top > innerHeight) return;
      const actions = { ArrowLeft: () => turn(-1), ArrowRight: () => turn(1), ArrowUp: () => move(-1), ArrowDown: () => move(1) };
      if (actions[event.key] && state.shown.length) { event.preventDefault(); actions[event.key](); }
    });

    // One frame a turn, and one more for the screen after the last turn.
    function frames(episode) {
      const list = episode.turns.map((one, index) => ({ turn: one, index, image: one.image }));
      return [...list, { turn: null, index: list.length, image: episode.final_image }];
    }

    function draw() {
      position.textContent = state.shown.length ? `${state.at + 1} of ${state.shown.length}` : "none";
      back.disabled = state.at <= 0;
      next.disabled = state.at >= state.shown.length - 1;
      if (!state.shown.length) return stage.replaceChildren(make("p", { class: "soft" }, "No episode matches."));
      const episode = state.shown[state.at];
      const all = frames(episode), frame = all[state.turn];
      stage.classList.toggle("text", !all.some((one) => one.image));
      stage.replaceChildren(screenColumn(episode, all, frame), detailColumn(episode, frame));
      stage.dataset.episode = episode.id;
      stage.dataset.turn = state.turn;
      const current = stage.querySelector(".strip [aria-current]"), strip = current?.closest(".strip");
      // Not scrollIntoView, which would move the page as well.
      if (strip) strip.scrollLeft += current.getBoundingClientRect().left - strip.getBoundingClientRect().left - strip.clientWidth / 2;
    }

    function screenColumn(episode, all, frame) {
      const label = frame.turn ? `turn ${frame.index + 1} of ${episode.turns.length}` : "the end";
      const before = button("‹", "Previous turn", () => turn(-1)), after = button("›", "Next turn", () => turn(1));
      before.disabled = state.turn === 0;
      after.disabled = state.turn === all.length - 1;
      const screen = all.some((one) => one.image) ? phone(data.images[frame.image], frame.turn) : null;
      return make("div", { class: "stage" }, screen,
        make("div", { class: "turn-pager" }, before, make("output", {}, label), after));
    }

    function detailColumn(episode, frame) {
      const [word, kind] = outcome(episode);
      const head = [
        make("h3", {}, episode.goal || episode.task),
        make("div", { class: "meta" }, chip(word, kind), make("code", {}, episode.task),
          make("span", {}, `seed ${episode.seed} · ${episode.split} split${data.steps.length ? ` · ${episode.phase === "eval" ? "evaluation" : "training"} at step ${episode.step}` : ""}`),
          episode.malformed ? chip(`${episode.malformed} malformed`, "bad") : null,
          episode.infra_retries ? chip(`${episode.infra_retries} infrastructure retries`) : null),
        strip(episode),
      ];
      const body = frame.turn ? turnBlocks(frame.turn, seconds) : endBlocks(episode, seconds);
      return make("div", { class: "detail" }, ...head, ...body);
    }

    function strip(episode) {
      const thumbs = frames(episode).map((frame) => {
        const image = data.images[frame.image];
        const inner = image ? make("img", { src: image.uri, alt: "", loading: "lazy" }) : String(frame.index + 1);
        return make("button", { type: "button", "aria-label": frame.turn ? `Turn ${frame.index + 1}` : "The end", "aria-current": frame.index === state.turn ? "true" : null, onclick: () => go(frame.index) }, inner);
      });
      return make("div", { class: "strip" }, ...thumbs);
    }

    draw();
  }

  function phone(image, turn) {
    if (!image) return make("div", { class: "phone" }, make("div", { class: "glass blank" }, "no screenshot"));
    const overlay = Charts.el("svg", { viewBox: `0 0 ${image.w} ${image.h}`, preserveAspectRatio: "none", "aria-hidden": "true" });
    for (const call of turn ? turn.calls : []) drawTouch(overlay, call.points, image);
    return make("div", { class: "phone" }, make("div", { class: "glass" }, make("img", { src: image.uri, alt: "The phone's screen" }), overlay));
  }

  function drawTouch(svg, points, image) {
    const places = points.map(([x, y]) => [x * image.w, y * image.h]);
    const radius = image.w * 0.055;
    if (places.length === 2) {
      const [[x1, y1], [x2, y2]] = places;
      const angle = Math.atan2(y2 - y1, x2 - x1), barb = radius * 1.1;
      const wing = (turn) => `${x2 - barb * Math.cos(angle + turn)},${y2 - barb * Math.sin(angle + turn)}`;
      for (const cls of ["touch-halo", "touch"]) {
        Charts.el("line", { x1, y1, x2, y2, class: cls }, svg);
        Charts.el("polyline", { points: `${wing(0.5)} ${x2},${y2} ${wing(-0.5)}`, class: cls }, svg);
      }
    }
    if (places.length) {
      const [x, y] = places[0];
      for (const cls of ["touch-halo", "touch"]) Charts.el("circle", { cx: x, cy: y, r: radius, class: cls }, svg);
      Charts.el("circle", { cx: x, cy: y, r: radius * 0.28, class: "touch-dot" }, svg);
    }
  }

  function turnBlocks(turn, seconds) {
    const calls = turn.calls.map((call) => make("div", { class: "call" },
      make("code", {}, `${call.name}(${Object.entries(call.arguments).map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(", ")})`), " ",
      chip(call.status || "unanswered", call.status === "ok" ? "good" : "bad"), call.text ? make("p", {}, call.text) : null));
    if (turn.parse_error) calls.push(make("div", { class: "call" }, chip("malformed", "bad"), make("p", {}, turn.parse_error)));
    const timing = [["generate", turn.generate_s], ["act", turn.act_s], ["settle", turn.settle_s], ["observe", turn.observe_s]]
      .filter(([, value]) => value >= 0.0005).map(([name, value]) => `${name} ${seconds(value)}`).join(" · ");
    const span = turn.token_ids.length ? `tokens ${turn.loss_span[0]} to ${turn.loss_span[1]} of the row` : "";
    const wrote = turn.model_text || turn.context_text ? block("What the model wrote", span, modelText(turn), span ? tokenKey() : null) : null;
    return [
      wrote,
      block("What it did", timing, ...(calls.length ? calls : [make("p", { class: "soft" }, "Nothing.")])),
      block("After this turn", "", make("p", { class: "soft" }, `progress ${Charts.percent(turn.progress)}, reward ${Charts.short(turn.reward_total)}${typeof turn.advantage === "number" ? `, advantage of the turn ${Charts.short(turn.advantage)}` : ""}`)),
    ].filter(Boolean);
  }

  function modelText(turn) {
    const box = make("div", { class: "tokens", tabindex: "0" });
    if (turn.context_text) box.append(make("span", { class: "masked" }, turn.context_text.replace(/(<\|image_pad\|>)(?:<\|image_pad\|>)+/g, (run, one) => `${one}×${run.length / one.length}`)));
    const texts = turn.tokens || (turn.model_text ? [turn.model_text] : []);
    texts.forEach((text, index) => {
      const logProb = turn.tokens ? turn.log_probs[index] : undefined;
      const probability = logProb === undefined ? 1 : Math.exp(logProb);
      const title = turn.tokens ? `token ${turn.token_ids[index]}, probability ${(probability * 100).toFixed(1)} %` : null;
      box.append(make("span", { class: "tok", style: `--p:${Math.round((1 - probability) * 55)}%`, title }, text));
    });
    return box;
  }

  function tokenKey() {
    return make("div", { class: "key" }, make("span", {}, "given: no loss"), make("span", {}, make("span", { class: "tok" }, "sampled: loss"), " darker where the model was less sure"));
  }

  function endBlocks(episode, seconds) {
    const parts = Object.entries(episode.reward_parts);
    const widest = Math.max(...parts.map(([, value]) => Math.abs(value)), 1e-9);
    const rows = parts.flatMap(([name, value]) => [
      make("span", {}, name.replaceAll("_", " ")),
      make("span", {}, value === 0 ? "" : make("i", { class: value < 0 ? "neg" : "", style: `width:${(Math.abs(value) / widest) * 100}%` })),
      make("b", {}, Charts.short(value))]);
    const effects = episode.side_effects.map((line) => make("div", { class: "call" }, make("code", {}, line)));
    return [
      block("Reward", `total ${Charts.short(episode.reward_total)}${episode.advantage === null ? "" : `, advantage ${Charts.short(episode.advantage)}`}`,
        make("div", { class: "parts" }, ...rows)),
      effects.length ? block("Side effects", `${effects.length}`, ...effects) : null,
      episode.failure ? block("Dropped", "no reward was given", make("div", { class: "call" }, episode.failure)) : null,
      block("Episode", "", make("p", { class: "soft" },
        `${episode.turns.length} turns, ${episode.state || "lost"}, ${episode.row_tokens ? `${episode.row_tokens} tokens in the row, ` : ""}${seconds(episode.wall_s)}`)),
    ].filter(Boolean);
  }

  return { mount };
})();
