// Tables whose columns sort, and the tabs that are tables.

// A column: a title, the value of a row, how to print it, and the part of 1 that a bar shows behind it.
const column = (title, value, print = null, bar = null) => ({ title, value, print, bar });

// Makes a table. `operator` returns the node of the last stage for a row, or null.
function sortableTable(caption, columns, rows, operator = () => null, sorted = null) {
  const body = element("tbody");
  const head = element("tr");
  let order = sorted;
  const isNumber = (item) => rows.some((row) => typeof item.value(row) === "number");
  const draw = () => {
    const shown = [...rows];
    if (order) {
      const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a ?? "").localeCompare(String(b ?? "")));
      const rank = (row) => order.column.value(row) ?? (isNumber(order.column) ? Number.POSITIVE_INFINITY : "");
      shown.sort((a, b) => order.sign * compare(rank(a), rank(b)));
    }
    body.replaceChildren(...shown.map((row) => line(row)));
    for (const [index, cell] of [...head.children].entries()) {
      const here = order && columns[index] === order.column;
      cell.setAttribute("aria-sort", here ? (order.sign > 0 ? "ascending" : "descending") : "none");
    }
    markSelected();
  };
  const line = (row) => {
    const node = operator(row);
    const cells = columns.map((item) => {
      const value = item.value(row);
      const part = item.bar ? item.bar(row) : null;
      const style = part ? `--part: ${(100 * Math.min(1, part)).toFixed(2)}%` : null;
      return element("td", { class: [isNumber(item) ? "number" : "", part ? "bar" : ""].join(" ").trim() || null, style },
        item.print ? item.print(value, row) : value === null || value === undefined ? "" : typeof value === "number" ? numberText(value) : value);
    });
    if (node === null || node === undefined) return element("tr", {}, cells);
    return element("tr", { class: "choice", "data-operator": `${report.last}/${node}`, onclick: () => select(report.last, node) }, cells);
  };
  for (const item of columns) {
    const press = () => {
      order = { column: item, sign: order?.column === item ? -order.sign : isNumber(item) ? -1 : 1 };
      draw();
    };
    head.append(element("th", { scope: "col", class: isNumber(item) ? "number" : null }, element("button", { onclick: press }, item.title)));
  }
  const table = element("table", {}, element("caption", {}, caption), element("thead", {}, head), body);
  if (sorted) order = { column: columns.find((item) => item.title === sorted.title), sign: sorted.sign };
  draw();
  arrowKeys(table, "tr.choice");
  return element("div", { class: "wide" }, table);
}

function showOverview(main) {
  const { machine, date, target, backends, method, methods, weight_bytes, delegates } = report.overview;
  const kind = (item) => `${item.name}: ${item.shape ? `${item.dtype} [${(item.sizes ?? item.shape).join(", ")}]` : item.type}`;
  const { profile, pytorch } = report;
  const memory = report.memory.report;
  const worst = report.numerics.rows ? Math.max(0, ...report.numerics.rows.map((row) => row.relative ?? Number.POSITIVE_INFINITY)) : null;
  const facts = [
    ["target", target],
    ["backends", backends.join(", ") || "none"],
    ["methods", methods.join(", ")],
    ["inputs", method.inputs.map(kind).join("; ")],
    ["outputs", method.outputs.map(kind).join("; ")],
    ["instructions", String(method.instructions)],
    ["file", report.sizes.missing ? report.sizes.missing : bytesText(report.sizes.bytes)],
    ["weights", bytesText(weight_bytes)],
    ["memory", memory ? `${bytesText(memory.total)}: arenas ${memory.arenas.map(bytesText).join(" + ")}, lower bound ${bytesText(memory.lower_bound)}`
      : report.memory.missing],
    ["time", profile.missing ?? `${timeText(profile.p50_ns)} (p50), ${timeText(profile.p90_ns)} (p90), of ${profile.runs} runs`],
    ["PyTorch", pytorch.missing ?? `${timeText(pytorch.pytorch_ns)} with ${pytorch.threads} thread${pytorch.threads === 1 ? "" : "s"}, operator by operator; `
      + `this program ${timeText(pytorch.flambeau_ns)}: both called from Python, in turns`],
    ["machine", `${machine}; ${date}`],
    ["numbers", report.numerics.missing ?? (report.numerics.first_bad ? `wrong: ${report.numerics.first_bad}`
      : `no operator is wrong; the largest error is ${numberText(worst)} of scale, against ${report.numerics.against}`)],
  ];
  main.append(element("dl", { class: "facts" }, facts.map(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])));
  if (!profile.missing) main.append(element("h3", {}, "Time by module"), modulesPicture(profile.modules));
  const operators = Object.entries(method.operators).map(([name, count]) => ({ name, count }));
  main.append(sortableTable("Operators", [column("operator", (row) => row.name), column("count", (row) => row.count)], operators, () => null, { title: "count", sign: -1 }));
  for (const [name, found] of Object.entries(delegates)) {
    const nodes = Object.entries(found.nodes ?? {}).map(([node, count]) => ({ node, count }));
    const columns = [column("operation", (row) => row.node), column("count", (row) => row.count)];
    main.append(sortableTable(`Delegate ${name} of ${found.backend}, ${[bytesText(found.bytes), found.properties, found.expected].filter(Boolean).join(", ")}`, columns, nodes));
  }
}

function showNumerics(main) {
  const { rows, against, unmatched, first_bad } = report.numerics;
  const verdict = first_bad ? `The first wrong operator is ${first_bad}.` : "No operator is wrong.";
  main.append(element("p", { class: first_bad ? "wrong" : null },
    `The C runtime against ${against}: ${rows.length} values, ${unmatched} without a counterpart. ${verdict}`));
  // A bar is as long as the logarithm of the error: from 1e-8 to 1.
  const length = (error) => (error === null ? 1 : error > 0 ? Math.max(0, Math.min(1, 1 + Math.log10(error) / 8)) : 0);
  main.append(sortableTable("Errors by operator, in the order of execution", [
    column("operator", (row) => row.operator),
    column("value", (row) => row.value),
    column("max |Δ|", (row) => row.difference),
    column("of scale", (row) => row.relative, null, (row) => length(row.relative)),
    column("verdict", (row) => row.detail ?? "right"),
    column("module", (row) => row.module),
    column("line", (row) => shortPath(row.line)),
  ], rows, (row) => row.node));
}

function showSizes(main) {
  const total = report.sizes.bytes;
  for (const [key, caption] of [["part", "By part of the file"], ["module", "By module"], ["operator", "By operator"]]) {
    main.append(sortableTable(caption, [
      column(key, (row) => row.name),
      column("bytes", (row) => row.bytes, (value) => bytesText(value), (row) => row.bytes / total),
      column("share", (row) => row.bytes / total, percent),
      column("items", (row) => row.items),
    ], report.sizes[key], () => null, { title: "bytes", sign: -1 }));
  }
}

function showPartitions(main) {
  const rows = report.partitions.rows;
  const flops = rows.reduce((sum, row) => sum + row.flops, 0) || 1;
  const taken = rows.filter((row) => row.backend).reduce((sum, row) => sum + row.flops, 0);
  main.append(element("p", {}, `Backends run ${percent(taken / flops)} of the floating-point operations.`));
  main.append(sortableTable("Operators by place and reason", [
    column("operator", (row) => row.operator),
    column("backend", (row) => row.backend ?? "kernels"),
    column("count", (row) => row.count),
    column("MFLOP", (row) => row.flops / 1e6, null, (row) => row.flops / flops),
    column("bytes", (row) => row.bytes, bytesText),
    column("reason", (row) => row.reason),
  ], rows));
}
