// The tab of the graph: modules that open in place, and operators.

const graph = { stage: null, opened: new Map(), zoom: 1 };

function showGraph(main) {
  graph.stage ??= report.last;
  const picture = element("div", { class: "picture" });
  const stages = element("select", { "aria-label": "Stage", onchange: (event) => { graph.stage = event.target.value; draw(); } },
    report.stages.stages.map(({ name }) => element("option", { value: name }, name)));
  stages.value = graph.stage;
  const zoom = (factor) => { graph.zoom = Math.min(4, Math.max(0.1, graph.zoom * factor)); scale(); };
  const scale = () => {
    const drawing = picture.querySelector("svg");
    drawing.setAttribute("width", drawing.dataset.width * graph.zoom);
    drawing.setAttribute("height", drawing.dataset.height * graph.zoom);
  };
  const all = (isOpen) => { graph.opened.set(graph.stage, new Set(isOpen ? allPaths(groupsOf(stageNodes())) : [])); draw(); };
  const draw = (focused = null) => {
    picture.replaceChildren(graphPicture(draw));
    scale();
    const again = focused === null ? null : [...picture.querySelectorAll("[role=treeitem]")].find((item) => item.dataset.id === focused);
    if (again) {
      for (const item of picture.querySelectorAll("[role=treeitem]")) item.setAttribute("tabindex", item === again ? "0" : "-1");
      again.focus();
    }
    markSelected();
  };
  main.append(element("div", { class: "tools" }, element("label", {}, "Stage ", stages),
    element("button", { onclick: () => all(true) }, "Open all"), element("button", { onclick: () => all(false) }, "Close all"),
    element("button", { "aria-label": "Larger", onclick: () => zoom(1.25) }, "+"),
    element("button", { "aria-label": "Smaller", onclick: () => zoom(0.8) }, "−"),
    element("span", { class: "hint" }, "Enter opens a module or shows an operator; arrow keys move, left closes, right opens.")), picture);
  draw();
}

const stageNodes = () => report.stageNamed[graph.stage].nodes;

const allPaths = (group) => [group.path, ...group.children.filter((child) => child.children).flatMap(allPaths)];

// The modules that are open at first: as many levels of them as keep the picture small.
function firstOpened(root) {
  const opened = new Set();
  let level = root.children.filter((child) => child.children);
  let shown = root.children.length;
  while (level.length > 0) {
    shown += level.reduce((sum, group) => sum + group.children.length, 0);
    if (shown > 60) break;
    for (const group of level) opened.add(group.path);
    level = level.flatMap((group) => group.children.filter((child) => child.children));
  }
  return opened;
}

function graphPicture(draw) {
  const nodes = stageNodes();
  const root = groupsOf(nodes);
  const opened = graph.opened.get(graph.stage) ?? firstOpened(root);
  graph.opened.set(graph.stage, opened);
  const { items, edges, width, height } = layOut(root, nodes, opened);
  const toggle = (item, isOpen) => {
    if (isOpen) opened.add(item.path);
    else opened.delete(item.path);
    draw(idOf(item));
  };
  const lines = edges.map(({ points, from, to }) => shape("path", { class: "edge", d: curve(points), "data-from": idOf(from), "data-to": idOf(to) }));
  const views = items.map((item) => (item.children ? groupView(item, opened, toggle) : nodeView(item, nodes)));
  const frames = views.filter((view) => view.classList.contains("open"));
  const boxes = views.filter((view) => !view.classList.contains("open"));
  const drawing = shape("svg", { viewBox: `0 0 ${width} ${height}`, "data-width": width, "data-height": height, role: "tree",
    "aria-label": `The graph of ${graph.stage}` }, frames, lines, boxes);
  const byId = new Map(items.map((item) => [idOf(item), item]));
  arrowKeys(drawing, "[role=treeitem]", (event, view, focus) => {
    const item = byId.get(view.dataset.id);
    const isOpen = item.children && opened.has(item.path);
    const viewOf = (id) => [...drawing.querySelectorAll("[role=treeitem]")].find((other) => other.dataset.id === id);
    if (event.key === "ArrowRight" && item.children && !isOpen) toggle(item, true);
    else if (event.key === "ArrowLeft" && isOpen) toggle(item, false);
    else if (event.key === "ArrowLeft" && item.around.path) focus(viewOf(idOf(item.around)));
    else if (event.key === "ArrowRight" && isOpen) focus(viewOf(idOf(item.children[0])));
    else return false;
    return true;
  });
  drawing.addEventListener("focusin", ({ target }) => {
    const id = target.closest("[role=treeitem]")?.dataset.id;
    for (const line of drawing.querySelectorAll(".edge")) line.classList.toggle("near", line.dataset.from === id || line.dataset.to === id);
  });
  return drawing;
}

function nodeView(item, nodes) {
  const node = nodes[item.node];
  const key = `${graph.stage}/${item.node}`;
  const share = graph.stage === report.last ? (report.profile.rows ?? []).find((row) => row.node === item.node)?.share ?? 0 : 0;
  const kind = node.operator === "input" ? "input" : "node";
  return shape("g", { class: kind, role: "treeitem", "data-id": idOf(item), "data-operator": key, style: `--share: ${Math.round(100 * Math.sqrt(share))}%`,
    "aria-label": `${node.operator} ${node.names.join(", ")}`, transform: `translate(${item.x},${item.y})`, onclick: () => select(graph.stage, item.node) },
  shape("rect", { width: item.width, height: item.height, rx: 5 }),
  shape("text", { x: item.width / 2, y: 17, "text-anchor": "middle" }, item.title),
  shape("title", {}, [node.operator, node.types.join(", "), node.places.join(", "), share ? percent(share) : ""].filter(Boolean).join("\n")));
}

function groupView(item, opened, toggle) {
  const isOpen = opened.has(item.path);
  const sign = isOpen ? "▾" : "▸";
  return shape("g", { class: isOpen ? "group open" : "group", role: "treeitem", "data-id": idOf(item), "aria-expanded": String(isOpen), "aria-label": `module ${item.path}`,
    transform: `translate(${item.x},${item.y})`, onclick: () => toggle(item, !isOpen) },
  shape("rect", { width: item.width, height: item.height, rx: 7 }),
  shape("text", { x: isOpen ? 10 : item.width / 2, y: 17, "text-anchor": isOpen ? "start" : "middle" }, `${sign} ${item.title}`),
  shape("title", {}, item.path));
}

// A smooth path through points, each part leaving and arriving downwards.
function curve(points) {
  let path = `M${points[0].join(",")}`;
  for (let index = 1; index < points.length; index += 1) {
    const [[x0, y0], [x1, y1]] = [points[index - 1], points[index]];
    const reach = Math.max(8, Math.abs(y1 - y0) / 2);
    path += `C${x0},${y0 + reach} ${x1},${y1 - reach} ${x1},${y1}`;
  }
  return path;
}
