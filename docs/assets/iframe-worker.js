// The search of the site runs in a Worker, which browsers refuse to pages that are opened from a folder.
// There, a hidden frame takes its place. The theme looks for this name in `window`.
window.IFrameWorker = class extends EventTarget {
  constructor(url) {
    super();
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    document.body.append(this.frame);
    this.inside = this.frame.contentWindow;
    const page = this.inside.document;
    page.open();
    page.write("<!doctype html><body></body>");
    page.close();
    this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
    const load = (source) =>
      new Promise((loaded) => {
        const script = page.createElement("script");
        script.src = source;
        script.onload = loaded;
        page.body.append(script);
      });
    this.inside.importScripts = async (...sources) => {
      for (const source of sources) await load(source);
    };
    this.ready = load(url);
  }
  postMessage(data) {
    this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
  }
  terminate() {
    this.frame.remove();
  }
};
if (location.protocol === "file:") window.Worker = window.IFrameWorker;
