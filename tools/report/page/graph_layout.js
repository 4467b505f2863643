// A layered layout of nested groups (Sugiyama, Tagawa, Toda 1981): ranks by the longest path, orders by barycentres.

const GAP = { x: 14, y: 30, inside: 14, header: 26 };
const BOX = { height: 26, letter: 7.2, padding: 18 };

// The groups of a stage by module path, as { path, title, children }; a child is a group or { node }.
function groupsOf(nodes) {
  const root = { path: "", title: "", children: [], order: 0 };
  const groups = new Map([["", root]]);
  const groupAt = (path) => {
    if (groups.has(path)) return groups.get(path);
    const cut = path.lastIndexOf(".");
    const around = groupAt(cut < 0 ? "" : path.slice(0, cut));
    const made = { path, title: path.slice(cut + 1), children: [], around };
    groups.set(path, made);
    around.children.push(made);
    return made;
  };
  for (const [number, node] of nodes.entries()) {
    const group = groupAt(node.modules[0] ?? "");
    const title = node.operator === "input" ? node.names[0] || "input" : shortName(node.operator);
    group.children.push({ node: number, title, around: group });
  }
  return shortened(root);
}

// Joins a group with the only child that it has, if that is a group: `encoder` with `layer`.
function shortened(group) {
  group.children = group.children.map((child) => (child.children ? shortened(child) : child));
  const [only] = group.children;
  if (group.path !== "" && group.children.length === 1 && only.children) {
    only.title = `${group.title}.${only.title}`;
    return only;
  }
  for (const child of group.children) child.around = group;
  return group;
}

const shortName = (operator) => operator.replace(/^aten(::|\.)/, "");

// Gives every visible item its place; returns the items and the edges between them, as points of a path.
function layOut(root, nodes, opened) {
  const seen = new Map();
  const show = (item, hidden) => {
    const shown = hidden ?? item;
    if (!item.children) seen.set(item.node, shown);
    else for (const child of item.children) show(child, hidden ?? (opened.has(item.path) || item === root ? null : item));
  };
  show(root, null);
  const pairs = new Map();
  for (const [number, node] of nodes.entries()) {
    for (const [source] of node.inputs) {
      const [from, to] = [seen.get(source), seen.get(number)];
      if (from && to && from !== to) pairs.set(`${idOf(from)}>${idOf(to)}`, { from, to });
    }
  }
  const edges = [...pairs.values()];
  const isOpen = (item) => item === root || (item.children && opened.has(item.path));
  place(root, isOpen, edges);
  const items = [];
  const settle = (item, x, y) => {
    item.x = x;
    item.y = y;
    if (item !== root) items.push(item);
    if (!isOpen(item)) return;
    const top = item === root ? 0 : GAP.header;
    for (const child of item.children) settle(child, x + child.left + GAP.inside, y + child.top + top + GAP.inside);
    for (const edge of item.edges) edge.through = edge.bends.map(([left, rise]) => [x + left + GAP.inside, y + rise + top + GAP.inside]);
  };
  settle(root, 0, 0);
  for (const edge of edges) {
    const start = [edge.from.x + edge.from.width / 2, edge.from.y + edge.from.height];
    edge.points = [start, ...(edge.through ?? []), [edge.to.x + edge.to.width / 2, edge.to.y]];
  }
  return { items, edges, width: root.width, height: root.height };
}

const idOf = (item) => (item.children ? `g${item.path}` : `n${item.node}`);

// The size of an item, and the places of its content.
function place(item, isOpen, edges) {
  if (!isOpen(item)) {
    item.width = BOX.padding + BOX.letter * (item.title.length + (item.children ? 2 : 0));
    item.height = BOX.height;
    return;
  }
  for (const child of item.children) place(child, isOpen, edges);
  item.edges = edges.filter((edge) => sides(edge, item) !== null);
  const rows = ranked(item);
  order(rows);
  const width = Math.max(0, ...rows.map(rowWidth));
  arrange(rows, width);
  let top = 0;
  for (const row of rows) {
    const height = Math.max(...row.map((cell) => cell.item?.height ?? 0));
    for (const cell of row) {
      cell.top = top;
      if (cell.item) Object.assign(cell.item, { left: cell.left, top: top + (height - cell.item.height) / 2 });
    }
    for (const cell of row) if (!cell.item) cell.edge.bends.push([cell.left, top], [cell.left, top + height]);
    top += height + GAP.y;
  }
  const right = Math.max(width, ...rows.flat().map((cell) => cell.left + cell.width));
  const header = item.path === "" ? 0 : GAP.header;
  item.width = Math.max(right + 2 * GAP.inside, BOX.padding + BOX.letter * (item.title.length + 2));
  item.height = Math.max(0, top - GAP.y) + 2 * GAP.inside + header;
}

// The children of a group that an edge runs between; null if it does not lie in this group.
function sides(edge, group) {
  const childOf = (item) => {
    while (item && item.around !== group) item = item.around;
    return item;
  };
  const [from, to] = [childOf(edge.from), childOf(edge.to)];
  return from && to && from !== to ? [from, to] : null;
}

// The rows of a group: cells of its children, and bends of the edges that pass a row.
function ranked(group) {
  const cells = new Map(group.children.map((child) => [child, { item: child, width: child.width, above: [], below: [], rank: 0 }]));
  const position = new Map(group.children.map((child, index) => [child, firstNode(child) * 1e4 + index]));
  const inside = group.edges.map((edge) => ({ edge, ends: sides(edge, group) }));
  // An edge against the order of the program, between modules that feed each other, does not count.
  const forward = inside.filter(({ ends: [from, to] }) => position.get(from) < position.get(to));
  for (const edge of group.edges) edge.bends = [];
  const sorted = [...group.children].sort((a, b) => position.get(a) - position.get(b));
  const incoming = new Map(sorted.map((child) => [child, []]));
  for (const { ends: [from, to] } of forward) incoming.get(to).push(from);
  for (const child of sorted) cells.get(child).rank = Math.max(0, ...incoming.get(child).map((from) => cells.get(from).rank + 1));
  const rows = [];
  const put = (cell, rank) => (rows[rank] ??= []).push(cell);
  for (const child of sorted) put(cells.get(child), cells.get(child).rank);
  for (const { edge, ends: [from, to] } of forward) {
    let last = cells.get(from);
    for (let rank = last.rank + 1; rank < cells.get(to).rank; rank += 1) {
      const bend = { edge, width: 4, above: [last], below: [], rank };
      last.below.push(bend);
      put(bend, rank);
      last = bend;
    }
    last.below.push(cells.get(to));
    cells.get(to).above.push(last);
  }
  return rows;
}

function firstNode(item) {
  item.order ??= item.children ? Math.min(...item.children.map(firstNode)) : item.node;
  return item.order;
}

// Orders the cells of each row by the mean place of their neighbours, downwards and upwards in turns.
function order(rows) {
  const number = () => rows.forEach((row) => row.forEach((cell, index) => (cell.at = index / row.length)));
  const mean = (cells, own) => (cells.length ? cells.reduce((sum, cell) => sum + cell.at, 0) / cells.length : own);
  number();
  for (let sweep = 0; sweep < 6; sweep += 1) {
    const down = sweep % 2 === 0;
    for (const row of down ? rows : [...rows].reverse()) {
      for (const cell of row) cell.want = mean(down ? cell.above : cell.below, cell.at);
      row.sort((a, b) => a.want - b.want);
      row.forEach((cell, index) => (cell.at = index / row.length));
    }
  }
}

const rowWidth = (row) => row.reduce((sum, cell) => sum + cell.width + GAP.x, -GAP.x);

// Gives each cell its left edge: near its neighbours above, without overlaps.
function arrange(rows, width) {
  for (const row of rows) {
    let left = (width - rowWidth(row)) / 2;
    for (const cell of row) {
      cell.left = left;
      left += cell.width + GAP.x;
    }
  }
  const centre = (cell) => cell.left + cell.width / 2;
  for (let sweep = 0; sweep < 4; sweep += 1) {
    for (const row of sweep % 2 === 0 ? rows : [...rows].reverse()) {
      const wants = row.map((cell) => {
        const near = sweep % 2 === 0 ? cell.above : cell.below;
        return near.length ? near.reduce((sum, other) => sum + centre(other), 0) / near.length - cell.width / 2 : cell.left;
      });
      let end = 0;
      for (const [index, cell] of row.entries()) {
        cell.left = Math.max(end, wants[index]);
        end = cell.left + cell.width + GAP.x;
      }
      let limit = width;
      for (const cell of [...row].reverse()) {
        cell.left = Math.max(0, Math.min(cell.left, limit - cell.width));
        limit = cell.left - GAP.x;
      }
    }
  }
}
