// Elements, numbers for people, and the movement of the focus by arrow keys.

const SVG = "http://www.w3.org/2000/svg";

// Makes an HTML element: attributes by name, functions under `on…` as listeners; null leaves an attribute or a child out.
function element(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function shape(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined) continue;
    if (typeof value === "function") made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return made;
}

function bytesText(count) {
  if (count === null || count === undefined) return "unknown";
  const units = ["B", "kB", "MB", "GB"];
  let unit = 0;
  while (count >= 1000 && unit < units.length - 1) {
    count /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? count : count.toPrecision(4)} ${units[unit]}`;
}

function timeText(nanoseconds) {
  return nanoseconds >= 1e6 ? `${(nanoseconds / 1e6).toFixed(2)} ms` : `${(nanoseconds / 1e3).toFixed(1)} µs`;
}

function numberText(number) {
  if (number === null || number === undefined) return "?";
  if (Number.isInteger(number)) return String(number);
  return Math.abs(number) >= 1e-3 && Math.abs(number) < 1e5 ? number.toPrecision(4) : number.toExponential(1);
}

// The end of the path of a file, which identifies it in most cases.
const shortPath = (path) => (path ?? "").split("/").slice(-2).join("/");

const percent = (part) => `${(100 * part).toFixed(1)} %`;

const NEXT = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };

// Lets arrow keys move the focus among the items of a container, of which one is in the tab order. `own` may take a key first.
function arrowKeys(container, selector, own = () => false) {
  const items = () => [...container.querySelectorAll(selector)];
  const focus = (item) => {
    if (!item) return;
    for (const other of items()) other.setAttribute("tabindex", other === item ? "0" : "-1");
    item.focus();
  };
  container.addEventListener("keydown", (event) => {
    const item = event.target.closest(selector);
    if (!item || event.altKey || event.ctrlKey || event.metaKey) return;
    if (own(event, item, focus)) return event.preventDefault();
    const all = items();
    const at = all.indexOf(item);
    const to = { Home: 0, End: all.length - 1 }[event.key] ?? (event.key in NEXT ? at + NEXT[event.key] : null);
    if (to !== null) {
      event.preventDefault();
      focus(all[Math.min(Math.max(to, 0), all.length - 1)]);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      item.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    }
  });
  for (const [index, item] of items().entries()) item.setAttribute("tabindex", index === 0 ? "0" : "-1");
}
