// The start of the page: the data, the tabs, and the operator that is selected.

let report = null;

const TABS = [
  ["overview", "Overview", showOverview],
  ["stages", "Stages", showStages],
  ["graph", "Graph", showGraph],
  ["memory", "Memory", showMemory],
  ["profile", "Profile", showProfile],
  ["numerics", "Numerics", showNumerics],
  ["sizes", "Sizes", showSizes],
  ["partitions", "Partitions", showPartitions],
];

async function start() {
  const packed = Uint8Array.from(atob(document.getElementById("data").textContent), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  report = await new Response(stream).json();
  report.stageNamed = Object.fromEntries(report.stages.stages.map((stage) => [stage.name, stage]));
  report.last = report.stages.stages.at(-1).name;
  const list = element("div", { role: "tablist", "aria-label": "Parts of the report" });
  const main = element("main", { id: "main" });
  for (const [name, title] of TABS) {
    list.append(element("button", { role: "tab", id: `tab-${name}`, "aria-controls": "main", onclick: () => open(name) }, title));
  }
  arrowKeys(list, "[role=tab]", (event, item, focus) => {
    if (!["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) return false;
    const tabs = [...list.children];
    const to = { Home: 0, End: tabs.length - 1 }[event.key] ?? (tabs.indexOf(item) + NEXT[event.key] + tabs.length) % tabs.length;
    open(TABS[to][0]);
    focus(tabs[to]);
    return true;
  });
  const panel = element("aside", { id: "panel", "aria-label": "The selected operator", "aria-live": "polite", hidden: "" });
  document.body.append(element("header", {}, element("h1", {}, report.title), list), element("div", { id: "body" }, main, panel));
  document.addEventListener("keydown", (event) => event.key === "Escape" && select(null));
  window.addEventListener("hashchange", () => open(location.hash.slice(1)));
  open(location.hash.slice(1));
  document.body.dataset.ready = "true";
}

function open(name) {
  const [chosen, title, show] = TABS.find(([known]) => known === name) ?? TABS[0];
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const here = tab.id === `tab-${chosen}`;
    tab.setAttribute("aria-selected", String(here));
    tab.setAttribute("tabindex", here ? "0" : "-1");
  }
  const main = document.getElementById("main");
  main.replaceChildren(element("h2", {}, title));
  main.dataset.tab = chosen;
  const missing = report[chosen]?.missing;
  if (missing) main.append(element("p", { class: "missing" }, missing));
  else show(main);
  if (location.hash.slice(1) !== chosen) history.replaceState(null, "", `#${chosen}`);
  markSelected();
}

// Selects an operator by its stage and its number there; null selects none.
function select(stage, node = null) {
  const panel = document.getElementById("panel");
  const chosen = stage !== null && node !== null && node !== undefined;
  report.selected = chosen ? { stage, node } : null;
  panel.hidden = !chosen;
  if (chosen) showOperator(panel, stage, node);
  else panel.replaceChildren();
  markSelected();
}

// Marks the elements of the selected operator: they name it as `stage/number` in `data-operator`.
function markSelected() {
  const chosen = report.selected;
  const keys = chosen === null || chosen === undefined ? new Set() : relatedKeys(chosen.stage, chosen.node);
  for (const item of document.querySelectorAll("[data-operator]")) {
    item.classList.toggle("selected", keys.has(item.dataset.operator));
  }
}

start();
