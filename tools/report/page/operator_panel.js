// The panel of an operator: its IR in each stage, the model's line, its kernel, and its measurements.

// The nodes of a stage that compute what a node of another stage computes: those of the same places and of the same name, of which there
// may be as many in both, in the same order; else those of the same places.
function counterpartsOf(stage, node, other) {
  if (other === stage) return [node];
  const subject = report.stageNamed[stage].nodes[node];
  const near = nodesLike(other, subject, false);
  const found = nodesLike(other, subject, true);
  if (found.length === 0) return near;
  const own = nodesLike(stage, subject, true);
  return own.length === found.length ? [found[own.indexOf(node)]] : found;
}

function nodesLike(stage, subject, sameName) {
  const shared = (these, those) => these.some((item) => those.includes(item));
  const isLike = (node) => (subject.places.length ? shared(node.places, subject.places) : node.operator === "input" && sameName)
    && (!sameName || shared(node.hints, subject.hints));
  return [...report.stageNamed[stage].nodes.entries()].filter(([, node]) => isLike(node)).map(([number]) => number);
}

function relatedKeys(stage, node) {
  const keys = new Set();
  for (const other of report.stages.stages) {
    for (const number of counterpartsOf(stage, node, other.name)) keys.add(`${other.name}/${number}`);
  }
  return keys;
}

function irOf(stage, node) {
  const { nodes, text } = report.stageNamed[stage];
  const { first, last } = nodes[node];
  if (first === null) return "an input of the method";
  const lines = text.slice(first, last + 1);
  const indent = Math.min(...lines.map((line) => line.search(/\S|$/)));
  return lines.map((line) => line.slice(indent)).join("\n");
}

function showOperator(panel, stage, number) {
  const node = report.stageNamed[stage].nodes[number];
  const excerpt = node.line === null ? null : report.sources.model[node.line.join(":")];
  const close = element("button", { class: "close", "aria-label": "Close", onclick: () => select(null) }, "×");
  const facts = [["stage", stage], ["module", node.modules.join(", ")], ["line", node.line?.join(":")], ["result", node.types.join(", ")],
    ["weights", node.weights.join(", ")], ...measured(stage, number)];
  const rows = facts.filter(([, value]) => value).map(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]);
  panel.replaceChildren(close, element("h2", {}, node.operator), element("dl", {}, rows));
  if (excerpt) panel.append(element("h3", {}, "The model"), source(excerpt));
  else if (node.line) panel.append(element("h3", {}, "The model"), element("p", {}, "The file was not there when the report was made."));
  panel.append(element("h3", {}, "In each stage"));
  const kernels = new Set();
  for (const other of report.stages.stages) {
    const found = counterpartsOf(stage, number, other.name);
    for (const index of found) kernels.add(report.stageNamed[other.name].nodes[index].operator);
    const text = found.map((index) => irOf(other.name, index)).join("\n") || "no operation of this name or place";
    panel.append(element("h4", {}, other.name), element("pre", { class: found.length ? "ir" : "ir none" }, text));
  }
  for (const name of kernels) {
    const kernel = report.sources.kernels[name];
    if (kernel) panel.append(element("h3", {}, `The kernel of ${name}`), source(kernel));
  }
}

// What was measured of an operator, as pairs of a name and a text.
function measured(stage, number) {
  const nodes = new Set(counterpartsOf(stage, number, report.last));
  const facts = [];
  const rows = (report.profile.rows ?? []).filter((row) => nodes.has(row.node));
  if (rows.length > 0) {
    const sum = (key) => rows.reduce((total, row) => total + (row[key] ?? 0), 0);
    facts.push(["time (p50)", `${timeText(sum("p50_ns"))}, ${percent(sum("share"))} of all`]);
    facts.push(["work", `${numberText(sum("flops") / 1e6)} MFLOP, ${bytesText(sum("bytes"))}`]);
  }
  for (const error of (report.numerics.rows ?? []).filter((row) => nodes.has(row.node))) {
    facts.push(["error", `${numberText(error.difference)}, ${numberText(error.relative)} of scale${error.detail ? `: ${error.detail}` : ""}`]);
  }
  for (const item of (report.memory.rectangles ?? []).filter((item) => nodes.has(item.node))) {
    facts.push(["memory", `${bytesText(item.size)} at ${item.offset} of arena ${item.arena}`]);
  }
  return facts;
}

function source({ file, first, lines, marked }) {
  const shown = lines.map((line, index) => {
    const number = first + index;
    return element("span", { class: number === marked ? "marked" : null }, `${String(number).padStart(5)}  ${line}`);
  });
  return element("figure", {}, element("figcaption", {}, file), element("pre", {}, shown));
}
