
"use strict";

// What is shown comes from grammars, vocabularies and texts of strangers: it is put into the page as text nodes, never as markup.

const EXAMPLES = {
  ebnf: ['root ::= "yes" | "no" | percent\npercent ::= [0-9]{1,3} "%"\n', "1"],
  w3c_ebnf: ["[1] list ::= '[' ( word ( ',' word )* )? ']'\n[2] word ::= [a-z]+ - 'nil'\n", "[ab,ni"],
  lark: ['start: assignment+\nassignment: NAME "=" value ";"\nvalue: "none" | NAME | "(" value ")"\nNAME: /[a-zà-ÿ]+/\n%ignore /[ \\n]+/\n', "a = (no"],
  regex: ["\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])", "2026-1"],
  json_schema: [
    '{\n  "type": "object",\n  "properties": {\n    "name": {"type": "string", "maxLength": 20},\n    "age": {"type": "integer", "minimum": 0, "maximum": 150}\n  },\n  "required": ["name", "age"]\n}\n',
    '{"name": "Ada", "age": 1',
  ],
  llguidance: ['start: "{" pair ("," pair)* "}"\npair: /[a-z]+/ ":" value\nvalue: %json {"type": "integer"} | /"[^"]*"/\n', "{a:"],
  structural_tag: [
    '{\n  "type": "structural_tag",\n  "format": {\n    "type": "triggered_tags",\n    "triggers": ["<call>"],\n    "tags": [{\n      "begin": "<call>",\n      "content": {"type": "json_schema", "json_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}},\n      "end": "</call>"\n    }]\n  }\n}\n',
    'Let me see. <call>{"ci',
  ],
};
const TEXTS = { json: '{"name": "Ada", "tags": [', java: "class Hello {\n    int x = ", go: "package main\n\nfunc main() {\n\tx := ", sql: "SELECT name, count(*) FROM " };
const PAUSE_MS = 120;

const at = (id) => document.getElementById(id);
const number = (n) => n.toLocaleString("en");
const many = (n, what) => `${number(n)} ${what}${n === 1 ? "" : "s"}`;

function element(tag, properties, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (name === "class") made.className = value;
    else if (name === "on") for (const [event, act] of Object.entries(value)) made.addEventListener(event, act);
    else if (name === "width") made.style.width = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((c) => c !== null && c !== undefined));
  return made;
}

// The bytes that the server shows in quotes, as text; null where they are no text by themselves.
function unshown(shown) {
  const escapes = { n: "\n", r: "\r", t: "\t", "'": "'", "\\": "\\" };
  let alone = true;
  const text = shown.slice(1, -1).replace(/\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|.)/gs, (_, e) => {
    if (e.length === 1) return escapes[e] ?? e;
    const code = parseInt(e.slice(1), 16);
    if (e[0] === "x" && code >= 0x80) alone = false;
    return String.fromCodePoint(code);
  });
  return alone ? text : null;
}

const spaced = (shown) => shown.slice(1, -1).replaceAll(" ", "·");

const state = { named: new Set(), at: null, find: "", wanted: false, busy: false, timer: 0, sources: {}, texts: {}, chosen: "" };

// --- asking

function asked() {
  const chosen = at("grammar").value;
  const [kind, name] = [chosen.slice(0, 5), chosen.slice(5)];
  const grammar = kind === "name:" ? { name } : { language: name, text: at("source").value };
  return { grammar, tokenizer: at("tokenizer").value, text: at("text").value, at: state.at, find: at("find").value };
}

function changed(pause = PAUSE_MS) {
  clearTimeout(state.timer);
  state.timer = setTimeout(look, pause);
}

async function look() {
  if (state.busy) {
    state.wanted = true;
    return;
  }
  state.busy = true;
  const slow = setTimeout(() => (at("status").textContent = "looking …"), 250);
  try {
    const answer = await fetch("/look", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(asked()),
    });
    const found = await answer.json();
    if (found.error) failed(found.error);
    else show(found);
  } catch (e) {
    failed({ kind: "no answer", message: "The playground does not answer; is psc playground still running? (" + e.message + ")" });
  }
  clearTimeout(slow);
  at("status").textContent = "";
  state.busy = false;
  if (state.wanted) {
    state.wanted = false;
    look();
  }
}

function failed(error) {
  at("error").hidden = false;
  at("error-kind").textContent = error.kind;
  at("error-message").textContent = error.message;
  document.querySelector("main").classList.add("stale");
  const place = /line (\d+),? column (\d+)/.exec(error.message) ?? /^[^\n]*?:(\d+):(\d+)/.exec(error.message);
  const button = at("error-place");
  button.hidden = at("editor").hidden || place === null;
  if (!button.hidden) {
    button.textContent = "go to line " + place[1] + ", column " + place[2];
    button.onclick = () => goTo(Number(place[1]), Number(place[2]));
  }
}

function goTo(line, column) {
  const source = at("source");
  let from = 0;
  for (let n = 1; n < line; n++) {
    const end = source.value.indexOf("\n", from);
    if (end < 0) break;
    from = end + 1;
  }
  source.focus();
  source.setSelectionRange(from + column - 1, from + column);
}

// --- showing

function show(found) {
  at("error").hidden = true;
  document.querySelector("main").classList.remove("stale");
  const e = found.explanation;
  about(found.grammar);
  tokens(found);
  tiles(found, e);
  next(e);
  where(e);
  walk(found);
  why(found.found);
  offer(at("finish"), "end it with ", e.shortest_end !== "''" && !e.stop ? e.shortest_end : null);
  offer(at("forced"), "all that can come: ", e.forced && !e.stop ? "'" + e.forced.replaceAll("\\", "\\\\").replaceAll("\n", "\\n") + "'" : null);
}

function about(grammar) {
  const built = grammar.just_in_time ? "just in time, in " : "from an artifact, in ";
  at("about").textContent =
    `${grammar.name}: ${many(grammar.terminals, "terminal")}, ${many(grammar.nonterminals, "nonterminal")}, ${grammar.lexer} lexing; ` +
    `${built}${duration(grammar.seconds)}; ${many(grammar.rows, "distinct mask")} met` + grammar.warnings.map((w) => `; ${w}`).join("");
}

function duration(seconds) {
  if (seconds >= 1) return seconds.toFixed(1) + " s";
  if (seconds >= 0.001) return (seconds * 1e3).toFixed(seconds < 0.01 ? 1 : 0) + " ms";
  return (seconds * 1e6).toFixed(seconds < 1e-5 ? 1 : 0) + " µs";
}

function offer(button, said, shown) {
  const text = shown ? unshown(shown) : null;
  button.hidden = !text;
  if (!text) return;
  button.textContent = said + shown;
  button.onclick = () => append(text);
}

function append(text) {
  // What is read is kept; what comes behind the place that is looked at goes.
  const field = at("text");
  field.value = textBefore() + text;
  state.at = null;
  field.focus();
  field.setSelectionRange(field.value.length, field.value.length);
  changed(0);
}

let shownTokens = [];
function textBefore() {
  if (state.at === null) return at("text").value;
  const bytes = shownTokens.slice(0, state.at).map((t) => unshown(t.text));
  return bytes.every((t) => t !== null) ? bytes.join("") : at("text").value;
}

function tokens(found) {
  shownTokens = found.tokens;
  const strip = at("tokens");
  const focused = strip.contains(document.activeElement);
  const size = Math.log1p(found.grammar.vocab_size);
  const chips = found.tokens.map((token, i) => {
    const is = i === found.n_read ? " refused" : i > found.n_read ? " unread" : i >= found.at ? " later" : "";
    const said = token.allowed === null ? "not read" : `token ${token.id}, one of ${number(token.allowed)} that were allowed`;
    const chip = element("span", { class: "token" + is, role: "option", title: i === found.n_read ? `token ${token.id}: not allowed here` : said });
    chip.textContent = spaced(token.text);
    if (token.allowed !== null && i !== found.n_read) chip.append(element("b", { width: (100 * Math.log1p(token.allowed)) / size + "%" }));
    return chip;
  });
  chips.push(element("span", { class: "token end", role: "option", title: "the place behind the text" }, "▮"));
  const selected = state.at === null ? found.tokens.length : found.at;
  chips.forEach((chip, i) => {
    chip.setAttribute("aria-selected", i === selected);
    chip.tabIndex = i === selected ? 0 : -1;
    chip.addEventListener("click", () => select(i));
  });
  strip.replaceChildren(...chips);
  if (focused) chips[selected].focus();
}

function select(i) {
  state.at = i >= shownTokens.length ? null : i;
  changed(0);
}

function tiles(found, e) {
  const { allowed, row, seconds } = found.mask;
  const size = found.grammar.vocab_size;
  const share = (100 * allowed) / size;
  const ends = e.may_end ? "yes" : "no";
  const stop = e.stop;
  const place = stop ? `${stop.line}:${stop.column}` : `${e.line}:${e.column}`;
  const made = [
    tile(found.at > found.n_read ? "Mask before the refused token" : "Mask", number(allowed), `of ${number(size)} tokens (${share < 0.1 ? share.toFixed(3) : share.toFixed(1)}%), row ${row}`, meter(allowed, size)),
    tile("Mask found in", duration(seconds), "on a new matcher of the same grammar, where all that it needs is built"),
    stop
      ? tile("The text stops at", place, `found ${stop.found}; ` + found.explanation.reasons.join("; "), null, "bad")
      : tile("The text may end here", ends, e.may_end ? "a stop token is allowed" : "not yet" + (e.shortest_end ? ", after " + e.shortest_end : ""), null, e.may_end ? "good" : ""),
    tile("Place", place, `${number(Math.min(found.at, found.n_read))} of ${many(found.tokens.length, "token")}, ${many(e.bytes, "byte")}` + (e.n_places > 1 ? `; read in ${e.n_places} ways` : "")),
  ];
  at("now").replaceChildren(...made);
}

function tile(head, value, more, extra, kind) {
  return element("div", { class: "tile" }, element("dl", null, element("dt", null, head), element("dd", { class: kind ?? "" }, value, element("small", null, more), extra)));
}

function meter(n, of) {
  return element("div", { class: "meter" }, element("b", { width: (100 * Math.log1p(n)) / Math.log1p(of) + "%" }));
}

function facts(...pairs) {
  return element("dl", { class: "facts" }, ...pairs.filter(([, v]) => v).flatMap(([k, v]) => [element("dt", null, k), element("dd", null, v)]));
}

const code = (text) => element("span", { class: "symbol" }, text);
const body = (id) => document.querySelector(`#${id} .body`);

function next(e) {
  const groups = e.groups.map((g) =>
    element(
      "tr",
      null,
      element("td", { class: "number" }, number(g.tokens)),
      element("td", null, code(g.terminals.length ? g.terminals.slice(0, 8).join(", ") + (g.terminals.length > 8 ? ` and ${g.terminals.length - 8} more` : "") : "(ignored text)")),
      element("td", null, ...g.examples.slice(0, 12).map((shown, i) => example(shown, g.example_ids[i]))),
    ),
  );
  const head = ["tokens", "begin or go on with", "such as (click to take one)"].map((h, i) => element("th", { class: i ? "" : "number", scope: "col" }, h));
  const table = element("div", { class: "wide" }, element("table", null, element("thead", null, element("tr", null, ...head)), element("tbody", null, ...groups)));
  const expected = e.expected.slice(0, 40).join("  ") + (e.expected.length > 40 ? `  and ${e.expected.length - 40} more` : "");
  body("next").replaceChildren(facts(["terminals", expected], ["bytes", e.characters]), groups.length ? table : "");
}

function example(shown, id) {
  const text = unshown(shown);
  const made = element("button", { type: "button", title: `token ${id}` }, spaced(shown));
  if (text === null) made.disabled = true;
  else made.addEventListener("click", () => append(text));
  return made;
}

function where(e) {
  const readings = e.places.slice(0, 4).map((r, i) => {
    const ending = r.complete ? "may end here" : "cannot end here";
    const becomes = [...r.can_become.slice(0, 12), ...(r.can_become.length > 12 ? [`${r.can_become.length - 12} more`] : []), ...(r.can_be_ignored && r.can_become.length ? ["ignored text"] : [])];
    const lexeme = !r.lexeme_begun ? "none is begun" : becomes.length ? `unfinished: ${becomes.join(" or ")}; it ${ending}` : `ignored text, which ${ending}`;
    const rules = r.rules.slice(0, 12).map((rule) => {
      const [before, after] = [rule.slice(0, rule.indexOf("·")), rule.slice(rule.indexOf("·") + 1)];
      return element("li", { class: "rule" }, before, element("mark", null, "•"), after);
    });
    if (r.rules.length > 12) rules.push(element("li", { class: "quiet" }, `and ${r.rules.length - 12} more around it`));
    return facts([e.n_places > 1 ? `reading ${i + 1} of ${e.n_places}` : "", e.n_places > 1 ? " " : ""], ["lexeme", lexeme], ["lexer state", String(r.lexer_state)], ["rules", rules.length ? element("ul", { class: "plain" }, ...rules) : ""]);
  });
  body("where").replaceChildren(...readings);
}

function walk(found) {
  const made = found.walks.map((w) => {
    const deepest = w.reads.length ? w.reads[w.reads.length - 1].depth : -1;
    const whatever = element("td", { colspan: "4" }, "whatever is on the stack");
    const rows = [element("tr", { class: "passed" }, element("td", null), whatever, element("td", { class: "number" }, number(w.always)))];
    rows[0].children[1].colSpan = 3;
    let before = w.always;
    let passed = 0;
    const skipped = (from, to) => {
      if (to > from) {
        const names = w.stack.slice(from, Math.min(to, from + 12)).join("  ") + (to - from > 12 ? " …" : "");
        rows.push(element("tr", { class: "passed" }, element("td", { class: "number" }, to - from === 1 ? String(from) : `${from}–${to - 1}`), element("td", { colspan: "4" }, "passed over ", code(names))));
      }
    };
    for (const read of w.reads) {
      skipped(passed, read.depth);
      rows.push(line(read, read.allowed - before));
      before = read.allowed;
      passed = read.depth + 1;
    }
    const left = w.stack.length - 1 - deepest;
    if (left > 0) rows.push(element("tr", { class: "passed" }, element("td", null), element("td", { colspan: "4" }, `${number(left)} more, which ${left === 1 ? "is" : "are"} not read: all is decided`)));
    const head = ["depth", "symbol", "state", "viable by this", "tokens allowed"].map((h, k) => element("th", { scope: "col", class: k === 4 || k === 0 || k === 2 ? "number" : "" }, h));
    return element("div", { class: "wide" }, element("table", null, element("thead", null, element("tr", null, ...head)), element("tbody", null, ...rows)));
  });
  const said = found.walks.length > 1 ? [element("p", { class: "quiet hint" }, "The text can be read in several ways; the mask is the union of what each allows.")] : [];
  body("walk").replaceChildren(...said, ...made);
}

function line(read, more) {
  const sequences = read.sequences.slice(0, 10).map((s) => element("span", { class: "sequence" }, s));
  if (read.n_sequences > sequences.length) sequences.push(element("span", { class: "sequence" }, `and ${number(read.n_sequences - sequences.length)} more`));
  return element(
    "tr",
    { class: "read" },
    element("td", { class: "number" }, String(read.depth)),
    element("td", null, code(read.symbol || "(bottom)")),
    element("td", { class: "number" }, String(read.state)),
    element("td", null, ...sequences),
    element("td", { class: "number" }, number(read.allowed), more ? element("small", null, `+${number(more)}`) : null),
  );
}

function why(found) {
  const made = found.map((v) =>
    element(
      "div",
      { class: "verdict" },
      element("span", { class: v.allowed ? "yes" : "no" }, v.allowed ? "✓ allowed " : "✗ not allowed "),
      code(`${v.token} ${v.text ?? ""}`),
      ...v.reasons.slice(0, 4).map((r) => element("p", { class: "quiet" }, (v.fails_at ? `from its byte ${v.fails_at} on: ` : "") + "because " + r)),
      v.expected.length ? element("p", { class: "quiet" }, "expected " + v.expected.slice(0, 12).join(", ")) : null,
    ),
  );
  const empty = at("find").value ? "no token has this text" : "Every token that the mask leaves out has a reason: give its text or its id.";
  body("why").replaceChildren(...(made.length ? made : [element("p", { class: "quiet" }, empty)]));
}

// --- choosing

function choose() {
  const before = state.chosen;
  if (before) [state.sources[before], state.texts[before]] = [at("source").value, at("text").value];
  const chosen = (state.chosen = at("grammar").value);
  const name = chosen.slice(5);
  const named = chosen.startsWith("name:");
  const [source, text] = named ? ["", TEXTS[name] ?? ""] : EXAMPLES[name] ?? ["", ""];
  at("editor").hidden = named;
  at("source").value = state.sources[chosen] ?? source;
  at("text").value = state.texts[chosen] ?? text;
  state.at = null;
  changed(0);
}

async function begin() {
  const choices = await (await fetch("/choices")).json();
  const option = (value, text) => element("option", { value }, text);
  at("grammar").append(
    element("optgroup", { label: "by name" }, ...choices.grammars.map((g) => option("name:" + g, g))),
    element("optgroup", { label: "your own text" }, ...choices.languages.map((l) => option("text:" + l.language, l.title))),
  );
  at("tokenizer").append(...choices.tokenizers.map((t) => option(t.name, t.name === t.description ? t.name : `${t.name} (${t.description})`)));
  at("grammar").value = "name:" + choices.grammar;
  at("tokenizer").value = choices.tokenizer;
  at("grammar").addEventListener("change", choose);
  at("tokenizer").addEventListener("change", () => changed(0));
  for (const id of ["text", "source"])
    at(id).addEventListener("input", () => {
      state.at = null;
      changed();
    });
  at("find").addEventListener("input", () => changed());
  at("file").addEventListener("change", async () => {
    const [file] = at("file").files;
    if (!file) return;
    if (file.size > 4 * choices.max_grammar_characters) failed({ kind: "too large", message: `${file.name} has ${number(file.size)} bytes; a grammar has at most ${number(choices.max_grammar_characters)} characters.` });
    else {
      at("source").value = await file.text();
      changed(0);
    }
  });
  at("tokens").addEventListener("keydown", (event) => {
    const here = state.at ?? shownTokens.length;
    const to = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: shownTokens.length }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    select(Math.max(0, to));
  });
  choose();
}

begin();
