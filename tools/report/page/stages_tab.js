// The tab of the stages: the passes with their changes, and the IR after each stage.

function showStages(main) {
  for (const stage of report.stages.stages) {
    main.append(element("h3", { id: `stage-${stage.name}` }, `${stage.name}: ${stage.operations} operations`));
    for (const step of stage.steps) main.append(stepView(step));
    main.append(folded(`IR of ${stage.name}`, `${stage.text.length} lines`, "text", () => irView(stage)));
  }
}

function stepView(step) {
  const seconds = `${(1000 * step.seconds).toFixed(1)} ms, ${step.operations} operations`;
  if (step.diff.length === 0) return element("div", { class: "same" }, element("span", { class: "size" }, seconds), step.name);
  return folded(step.name, seconds, "diff", () => {
    const kinds = { "+": "add", "-": "del", "@": "hunk" };
    const lines = step.diff.map((line) => element("span", { class: kinds[line[0]] ?? null }, `${line}`));
    return element("pre", {}, lines, step.left_out ? `… ${step.left_out} more lines` : null);
  });
}

// A summary whose contents are made when it is opened.
function folded(title, size, kind, make) {
  const view = element("details", { class: kind }, element("summary", {}, element("span", { class: "size" }, size), title));
  view.addEventListener("toggle", () => view.open && view.children.length === 1 && (view.append(make()), markSelected()));
  return view;
}

function irView(stage) {
  const owner = new Map();
  for (const [number, node] of stage.nodes.entries()) {
    for (let line = node.first; node.first !== null && line <= node.last; line += 1) owner.set(line, number);
  }
  const lines = stage.text.map((line, index) => {
    const node = owner.get(index);
    if (node === undefined) return element("span", {}, `${line}`);
    const key = `${stage.name}/${node}`;
    return element("span", { class: "choice", role: "button", "data-operator": key, onclick: () => select(stage.name, node) }, `${line}`);
  });
  const view = element("pre", { class: "ir" }, lines);
  arrowKeys(view, ".choice");
  return view;
}
