// The charts: memory over time, and the roofline of the profile.

function showMemory(main) {
  const { arenas, lower_bound, moments, live, rectangles, report: memory } = report.memory;
  main.append(element("p", {}, `${bytesText(memory.total)} in all: arenas ${arenas.map(bytesText).join(" + ")}, the method ${bytesText(memory.method)}, `
    + `scratch memory of kernels ${bytesText(memory.scratch)}, delegates ${bytesText(memory.delegates)}.`));
  for (const [index, size] of arenas.entries()) {
    const inside = rectangles.filter((item) => item.arena === index + 1);
    const bound = index === 0 ? lower_bound : null;
    const title = `Arena ${index + 1}: ${bytesText(size)}${bound ? `, ${(size / bound).toFixed(3)} of the lower bound ${bytesText(bound)}` : ""}`;
    main.append(element("h3", {}, title), memoryPicture(inside, size, bound, moments, index === 0 ? live : null));
  }
  const columns = [column("buffer", (row) => row.name), column("kind", (row) => row.kind), column("arena", (row) => row.arena), column("offset", (row) => row.offset),
    column("bytes", (row) => row.size, bytesText), column("from", (row) => row.start), column("to", (row) => row.end)];
  main.append(sortableTable("Buffers", columns, rectangles, (row) => row.node, { title: "bytes", sign: -1 }));
}

function memoryPicture(rectangles, size, bound, moments, live) {
  const [width, height, left, bottom] = [1100, 420, 74, 34];
  const x = (moment) => left + (moment / moments.length) * (width - left - 8);
  const y = (offset) => height - bottom - (offset / Math.max(size, 1)) * (height - bottom - 22);
  const boxes = rectangles.map((item) => shape("rect", {
    class: `buffer ${item.kind}`, x: x(item.start), y: y(item.offset + item.size), role: "button",
    width: Math.max(1, x(item.end) - x(item.start) - 0.5), height: Math.max(0.7, y(item.offset) - y(item.offset + item.size) - 0.5),
    "data-operator": item.node === null ? null : `${report.last}/${item.node}`, "aria-label": `${item.name}, ${bytesText(item.size)}`,
    onclick: () => item.node !== null && select(report.last, item.node),
  }, shape("title", {}, `%${item.name} (${item.kind}): ${bytesText(item.size)} at ${item.offset}, moments ${item.start} to ${item.end - 1}`)));
  const level = (value, kind, text, rise) => [
    shape("line", { class: kind, x1: left, x2: width - 8, y1: y(value), y2: y(value) }),
    shape("text", { x: width - 10, y: y(value) + rise, "text-anchor": "end", class: kind }, text),
  ];
  const outline = live === null ? null : shape("path", { class: "live", d: live.map((value, at) => `${at ? "L" : "M"}${x(at)},${y(value)}H${x(at + 1)}`).join("") });
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) => shape("text", { x: left - 6, y: y(part * size) + 4, "text-anchor": "end" }, bytesText(Math.round(part * size))));
  const picture = shape("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Buffers over time" }, boxes, outline,
    level(size, "peak", `peak ${bytesText(size)}`, -5), bound === null ? null : level(bound, "bound", `lower bound ${bytesText(bound)}`, 14), ticks,
    shape("text", { x: (width + left) / 2, y: height - 8, "text-anchor": "middle" }, "instructions, in the order of the program"));
  arrowKeys(picture, ".buffer");
  return picture;
}

function showProfile(main) {
  const { rows, modules, operators, machine, runs, p50_ns: p50, p90_ns: p90 } = report.profile;
  main.append(element("p", {}, `${runs} runs: ${timeText(p50)} (p50), ${timeText(p90)} (p90). This machine: ${numberText(machine.flops_per_second / 1e9)} GFLOP/s, `
    + `${numberText(machine.bytes_per_second / 1e9)} GB/s, as numpy reaches them on all of its cores.`));
  main.append(element("h3", {}, "Roofline"), rooflinePicture(rows.filter((row) => row.flops && row.bytes && row.p50_ns), machine));
  const times = [column("p50", (row) => row.p50_ns, timeText, (row) => row.share), column("p90", (row) => row.p90_ns, timeText), column("share", (row) => row.share, percent),
    column("MFLOP", (row) => (row.flops === null ? null : row.flops / 1e6)), column("bytes", (row) => row.bytes, bytesText),
    column("GFLOP/s", (row) => (row.flops === null ? null : row.flops / row.p50_ns)), column("GB/s", (row) => row.bytes / row.p50_ns)];
  const longest = { title: "p50", sign: -1 };
  const place = (row) => row.places.map((item) => item.module).filter(Boolean)[0] ?? "";
  const line = (row) => (row.places.length ? shortPath(`${row.places[0].file}:${row.places[0].line}`) : "");
  main.append(sortableTable("By instruction", [column("#", (row) => row.instruction), column("operator", (row) => row.name), ...times, column("module", place), column("line", line)],
    rows, (row) => row.node, longest));
  const calls = column("calls", (row) => row.calls);
  main.append(sortableTable("By module", [column("module", (row) => row.name), calls, ...times], modules, () => null, longest));
  main.append(sortableTable("By operator", [column("operator", (row) => row.name), calls, ...times], operators, () => null, longest));
}

// The modules that take the most time: a bar each, and one for all that are shorter.
function modulesPicture(rows) {
  const [width, left, step] = [900, 320, 20];
  const longest = [...rows].sort((one, other) => other.p50_ns - one.p50_ns);
  const shorter = longest.slice(11);
  const bars = longest.slice(0, 11).map((row) => [row.name, row.p50_ns, row.share]);
  const total = (key) => shorter.reduce((sum, row) => sum + row[key], 0);
  if (shorter.length) bars.push([`${shorter.length} more`, total("p50_ns"), total("share")]);
  const scale = (width - left - 150) / Math.max(1, ...bars.map(([, time]) => time));
  return shape("svg", { class: "chart", viewBox: `0 0 ${width} ${bars.length * step + 4}`, role: "img", "aria-label": "Time by module" }, bars.map(([name, time, share], at) => [
    shape("text", { x: left - 8, y: at * step + 15, "text-anchor": "end" }, name.length > 48 ? `…${name.slice(-47)}` : name),
    shape("rect", { class: "module", x: left, y: at * step + 3, width: Math.max(1, time * scale), height: step - 5 }),
    shape("text", { x: left + time * scale + 8, y: at * step + 15 }, `${timeText(time)}, ${percent(share)}`)]));
}

// Each instruction by its operations for each byte and each second, under the machine's roofline (Williams, Waterman, Patterson 2009).
function rooflinePicture(rows, machine) {
  const [width, height, left, bottom] = [900, 420, 64, 44];
  const point = (row) => [row.flops / row.bytes, row.flops / row.p50_ns];
  const peak = machine.flops_per_second / 1e9;
  const bandwidth = machine.bytes_per_second / 1e9;
  const ridge = peak / bandwidth;
  const decades = (values) => [Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values)) + 0.01)];
  const [x0, x1] = decades([ridge / 10, ridge * 10, ...rows.map((row) => point(row)[0])]);
  const [y0, y1] = decades([peak / 100, peak, ...rows.map((row) => point(row)[1])]);
  const x = (value) => left + ((Math.log10(value) - x0) / (x1 - x0)) * (width - left - 28);
  const y = (value) => height - bottom - ((Math.log10(value) - y0) / (y1 - y0)) * (height - bottom - 12);
  const steps = (from, to) => Array.from({ length: to - from + 1 }, (_, index) => 10 ** (from + index));
  const text = (value) => (value >= 1 ? String(value) : String(Number(value.toPrecision(1))));
  const grid = [
    ...steps(x0, x1).map((value) => [shape("line", { class: "grid", x1: x(value), x2: x(value), y1: y(10 ** y0), y2: y(10 ** y1) }),
      shape("text", { x: x(value), y: height - bottom + 16, "text-anchor": "middle" }, text(value))]),
    ...steps(y0, y1).map((value) => [shape("line", { class: "grid", x1: x(10 ** x0), x2: x(10 ** x1), y1: y(value), y2: y(value) }),
      shape("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, text(value))]),
  ];
  const start = Math.max(10 ** x0, 10 ** y0 / bandwidth);
  const roof = shape("path", { class: "roof", d: `M${x(start)},${y(start * bandwidth)}L${x(ridge)},${y(peak)}H${x(10 ** x1)}` });
  const points = rows.map((row) => {
    const [intensity, speed] = point(row);
    const title = `${row.name}: ${numberText(intensity)} FLOP/byte, ${numberText(speed)} GFLOP/s, ${percent(row.share)} of the time`;
    return shape("circle", { class: "point", cx: x(intensity), cy: y(speed), r: 4 + 22 * Math.sqrt(row.share), role: "button", "aria-label": title,
      "data-operator": row.node === null ? null : `${report.last}/${row.node}`, onclick: () => select(report.last, row.node) }, shape("title", {}, title));
  });
  const picture = shape("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Roofline" }, grid, roof, points,
    shape("text", { x: (width + left) / 2, y: height - 8, "text-anchor": "middle" }, "FLOP for each byte"),
    shape("text", { transform: `translate(14,${height / 2}) rotate(-90)`, "text-anchor": "middle" }, "GFLOP/s"));
  arrowKeys(picture, ".point");
  return picture;
}
