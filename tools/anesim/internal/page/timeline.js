"use strict";
// The timeline: zoomed by dragging, by buttons and by keys, with a reading of the span that
// is pointed at. It is drawn twice, for wide and narrow windows; both show the same time.
(() => {
  const pictures = [...document.querySelectorAll("svg.time")], figure = pictures[0].closest(".picture"), readout = document.getElementById("readout");
  const d = pictures[0].dataset, start = Number(d.from), all = Number(d.to) - start, across = 1e6;
  const make = (name, attributes, text) => {
    const e = document.createElementNS(pictures[0].namespaceURI, name);
    for (const k in attributes) e.setAttribute(k, attributes[k]);
    if (text) e.textContent = text;
    return e;
  };
  const drawings = pictures.map(picture => {
    const bottom = Number(picture.dataset.bottom);
    const cursor = make("line", { class: "cursor", y1: 0, y2: bottom - 14, x1: -9, x2: -9 });
    const chosen = make("rect", { class: "chosen", y: 0, height: bottom - 14, x: 0, width: 0 });
    picture.append(chosen, cursor);
    return { picture, cursor, chosen, bottom, left: Number(picture.dataset.left), right: Number(picture.dataset.right),
      windows: [...picture.querySelectorAll("svg.window")], ticks: picture.querySelector(".ticks") };
  });
  const least = 1 / 20000; // of the whole, that is shown
  let from = 0, to = 1; // what is shown, as shares of the whole
  let spans = null, at = -1;

  const list = () => spans ??= window.anesim.document()[d.list].filter(s => s.for_ns > 0);
  const time = ns => {
    for (const [unit, name] of [[1e9, "s"], [1e6, "ms"], [1e3, "us"]]) if (Math.abs(ns) >= unit) return (ns / unit).toFixed(3) + " " + name;
    return ns.toFixed(0) + " ns";
  };

  function step(n) {
    const p = 10 ** Math.floor(Math.log10(n));
    for (const m of [1, 2, 5]) if (m * p >= n) return m * p;
    return 10 * p;
  }

  function show(a, b) {
    const wide = Math.min(1, Math.max(least, b - a));
    from = Math.min(Math.max(0, (a + b - wide) / 2), 1 - wide);
    to = from + wide;
    const shown = wide * all;
    const [unit, name] = shown >= 1e9 ? [1e9, "s"] : shown >= 1e6 ? [1e6, "ms"] : shown >= 1e3 ? [1e3, "us"] : [1, "ns"];
    const low = (start + from * all) / unit, high = (start + to * all) / unit, by = step((high - low) / 6);
    const digits = Math.max(0, -Math.floor(Math.log10(by)));
    for (const { picture, windows, ticks, left, right, bottom } of drawings) {
      for (const w of windows) w.setAttribute("viewBox", `${from * across} 0 ${wide * across} ${w.viewBox.baseVal.height}`);
      const list = [];
      for (let k = Math.ceil(low / by - 1e-9); k * by <= high + 1e-9 * by; k++) {
        const x = left + (k * by - low) / (high - low) * (right - left);
        list.push(make("line", { class: "grid", x1: x, x2: x, y1: 4, y2: bottom - 14 }));
        list.push(make("text", { x, y: bottom, "text-anchor": "middle" }, (k * by).toFixed(digits)));
      }
      list.push(make("text", { x: (left + right) / 2, y: bottom + 22, "text-anchor": "middle" }, "wall time, " + name));
      ticks.replaceChildren(...list);
      picture.dataset.shown = from + " " + to;
    }
    mark();
  }

  const zoom = (factor, middle) => {
    const wide = (to - from) * factor, share = (middle - from) / (to - from);
    show(middle - share * wide, middle + (1 - share) * wide);
  };
  const shift = by => {
    const wide = to - from, a = Math.min(Math.max(0, from + by * wide), 1 - wide);
    show(a, a + wide);
  };
  const middle = () => {
    if (at < 0) return (from + to) / 2;
    const m = share(list()[at].at_ns + list()[at].for_ns / 2);
    return m >= from && m <= to ? m : (from + to) / 2;
  };
  const share = ns => (ns - start) / all;

  function mark() {
    const m = at < 0 ? -1 : share(list()[at].at_ns + list()[at].for_ns / 2);
    for (const { cursor, left, right } of drawings) {
      const x = m >= from && m <= to ? left + (m - from) / (to - from) * (right - left) : -9;
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
    }
  }

  function read(k) {
    at = Math.max(0, Math.min(list().length - 1, k));
    const s = list()[at];
    const parts = [time(s.at_ns) + ", for " + time(s.for_ns), (s.what ? s.what + ": " : "") + s.watts.toFixed(2) + " W"];
    if (s.bound) parts.push("bound by " + s.bound.replaceAll("_", " "));
    if (s.l2_bytes) parts.push("L2 " + (s.l2_bytes / 1e6).toFixed(3) + " MB");
    if (s.utilisation !== undefined) parts.push("busy " + (100 * s.utilisation).toFixed(1) + "%");
    readout.textContent = "at " + parts.join(", ");
    mark();
  }

  // place is the share of the whole that a point of the screen is at, in a drawing.
  const place = (e, { picture, left, right }) => {
    const box = picture.getBoundingClientRect(), x = (e.clientX - box.left) / box.width * picture.viewBox.baseVal.width;
    return from + Math.min(1, Math.max(0, (x - left) / (right - left))) * (to - from);
  };
  const spanAt = m => {
    const ns = start + m * all, l = list();
    let a = 0, b = l.length - 1;
    while (a < b) {
      const k = (a + b + 1) >> 1;
      if (l[k].at_ns <= ns) a = k; else b = k - 1;
    }
    return a;
  };

  for (const drawing of drawings) {
    const { picture, chosen, left, right } = drawing;
    let drag = null;
    picture.addEventListener("pointerdown", e => {
      if (e.button !== 0) return;
      drag = place(e, drawing);
      picture.setPointerCapture(e.pointerId);
    });
    picture.addEventListener("pointermove", e => {
      const m = place(e, drawing);
      if (drag === null) return read(spanAt(m));
      const x = v => left + (v - from) / (to - from) * (right - left);
      chosen.setAttribute("x", x(Math.min(drag, m)));
      chosen.setAttribute("width", Math.abs(x(m) - x(drag)));
    });
    picture.addEventListener("pointerup", e => {
      const m = place(e, drawing);
      chosen.setAttribute("width", 0);
      if (drag !== null && Math.abs(m - drag) > (to - from) / 200) show(Math.min(drag, m), Math.max(drag, m));
      else read(spanAt(m));
      drag = null;
    });
    picture.addEventListener("pointercancel", () => { drag = null; chosen.setAttribute("width", 0); });
    picture.addEventListener("dblclick", () => show(0, 1));
    picture.addEventListener("wheel", e => {
      if (!e.ctrlKey && !e.metaKey) return; // a wheel alone scrolls the page
      e.preventDefault();
      zoom(Math.exp(e.deltaY / 300), place(e, drawing));
    }, { passive: false });
  }

  const does = {
    in: () => zoom(0.5, middle()), out: () => zoom(2, middle()), all: () => show(0, 1), back: () => shift(-0.4), forth: () => shift(0.4),
    previous: () => read(at < 0 ? spanAt(from) : at - 1), next: () => read(at < 0 ? spanAt(from) : at + 1),
  };
  const keys = { "+": "in", "=": "in", "-": "out", "0": "all", Escape: "all", ArrowLeft: "back", ArrowRight: "forth", ",": "previous", ".": "next" };
  figure.addEventListener("keydown", e => {
    const what = keys[e.key];
    if (!what || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    does[what]();
  });
  for (const b of document.querySelectorAll("[data-zoom]")) b.addEventListener("click", () => does[b.dataset.zoom]());
  addEventListener("beforeprint", () => show(0, 1));
})();
