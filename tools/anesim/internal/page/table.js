"use strict";
// The table: sorted, searched, and drawn a window of rows at a time, so that any number of
// rows scrolls; the details of a row; and the document for download.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const source = document.getElementById("document").textContent;
  const byId = id => document.getElementById(id);
  const table = byId("table"), scroll = byId("scroll"), search = byId("search"), count = byId("count");
  const head = table.tHead.rows[0], body = table.tBodies[0], columns = table.querySelector("colgroup");
  const word = cell => Array.isArray(cell) ? cell[0] : cell;
  const barAt = data.bars ? data.columns.findIndex(c => c.title === "share") + 1 : -1; // before that column
  const longestBar = data.bars ? Math.max(1, ...data.bars.map(b => b.reduce((s, n) => s + n, 0))) : 1;
  const spare = 12; // rows drawn above and below those in view
  const printable = 300; // rows on paper
  let order = data.rows.map((_, i) => i), found = order, sorted = -1, down = false;
  let rowHeight = 0, from = -1, to = -1, current = 0, printing = false;
  let haystack = null;

  // Widths are fixed, so that columns stay where they are while rows come and go. They are in the
  // width of a digit.
  const barWidth = barAt < 0 ? 0 : 18, shortest = 24;
  const longest = data.columns.map((c, i) => {
    let n = c.title.length + 2;
    for (const row of data.rows) n = Math.max(n, word(row[i]).length);
    return n;
  });
  const widths = longest.map(n => Math.min(n, shortest) + 1.8);
  let shown = [], layout = ""; // the columns in the table
  let nameRoom = Infinity; // letters of a name in the first column

  // shared is the number of letters that all names in the first column begin with, up to a separator.
  const shared = (() => {
    const names = data.rows.map(row => word(row[0]));
    if (names.length < 2) return 0;
    let n = names[0].length;
    for (const s of names) while (!s.startsWith(names[0].slice(0, n))) n--;
    return Math.max(...[..."/_.:"].map(c => names[0].slice(0, n).lastIndexOf(c))) + 1;
  })();

  // abbreviate cuts a name that is too long for the first column in its middle. It keeps the part
  // in which names differ if there is room.
  function abbreviate(name) {
    const room = Math.max(4, nameRoom) - 1;
    if (name.length <= nameRoom) return name;
    const tail = name.length - shared <= room ? Math.max(name.length - shared, room >> 1) : room >> 1;
    return name.slice(0, room - tail) + "…" + name.slice(-tail);
  }

  // fit shows the columns that fit the window: those of the highest order are left out first. The
  // first column takes what is left for its longest name.
  function fit() {
    const probe = document.createElement("div");
    probe.style.width = "100ch";
    probe.style.fontSize = getComputedStyle(table).fontSize;
    scroll.append(probe);
    const room = scroll.clientWidth / probe.getBoundingClientRect().width * 100;
    probe.remove();
    const sum = list => list.reduce((n, i) => n + widths[i], barWidth);
    const all = data.columns.map((_, i) => i);
    let list = all;
    while (sum(list) > room) {
      let drop = -1;
      for (const i of list) if (data.columns[i].order > 0 && (drop < 0 || data.columns[i].order >= data.columns[drop].order)) drop = i;
      if (drop < 0) break;
      list = list.filter(i => i !== drop);
    }
    byId("columns").parentNode.hidden = list.length === all.length;
    if (printing || byId("columns").checked) list = all;
    const first = Math.min(longest[0] + 1.8, widths[0] + Math.max(0, room - sum(list)));
    if (layout === list.join() + " " + first) return false;
    layout = list.join() + " " + first;
    shown = list;
    nameRoom = Math.max(shortest, Math.floor(first - 1.8));
    columns.replaceChildren();
    const add = n => {
      const col = document.createElement("col");
      col.style.width = n + "ch";
      columns.append(col);
    };
    for (const i of shown) {
      if (i === barAt) add(barWidth);
      add(i === 0 ? first : widths[i]);
    }
    table.style.minWidth = sum(shown) - widths[0] + first + "ch";
    header();
    return true;
  }

  function header() {
    head.replaceChildren();
    for (const i of shown) {
      const c = data.columns[i];
      if (i === barAt) {
        const th = document.createElement("th");
        th.scope = "col";
        th.className = "plain";
        th.textContent = "cycles by cause";
        head.append(th);
      }
      const th = document.createElement("th"), b = document.createElement("button");
      th.scope = "col";
      th.dataset.column = i;
      if (c.number) th.className = "n";
      b.type = "button";
      b.textContent = c.title;
      b.title = c.help;
      b.addEventListener("click", () => sort(i));
      th.append(b);
      head.append(th);
    }
    markSorted();
  }

  function markSorted() {
    head.querySelectorAll("th[data-column]").forEach(th =>
      th.setAttribute("aria-sort", Number(th.dataset.column) !== sorted ? "none" : down ? "descending" : "ascending"));
  }

  function sort(i) {
    down = sorted === i ? !down : data.columns[i].number;
    sorted = i;
    markSorted();
    const value = data.columns[i].number ? r => data.rows[r][i][1] : r => data.rows[r][i];
    order.sort((a, b) => {
      const x = value(a), y = value(b);
      return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1) || a - b;
    });
    filter();
  }

  function filter() {
    const terms = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    haystack ??= data.rows.map(row => row.map(word).join(" ").toLowerCase());
    found = terms.length ? order.filter(i => terms.every(t => haystack[i].includes(t))) : order;
    count.textContent = (found.length === data.rows.length ? "" : found.length + " of ") + data.rows.length + (data.rows.length === 1 ? " row" : " rows");
    table.setAttribute("aria-rowcount", String(found.length + 1));
    current = 0;
    scroll.scrollTop = 0;
    draw(true);
  }

  const svg = (name, attributes) => {
    const e = document.createElementNS(document.querySelector("svg").namespaceURI, name);
    for (const k in attributes) e.setAttribute(k, attributes[k]);
    return e;
  };

  function bar(i) {
    const picture = svg("svg", { class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img" });
    const total = data.bars[i].reduce((s, n) => s + n, 0);
    const says = [];
    let at = 0;
    data.bars[i].forEach((n, k) => {
      if (!n) return;
      const w = 100 * n / longestBar;
      picture.append(svg("rect", { x: at, y: 0, width: w, height: 10, class: "c" + k }));
      says.push(data.causes[k] + " " + Math.round(100 * n / total) + "%");
      at += w;
    });
    const title = svg("title", {});
    title.textContent = says.join(", ");
    picture.prepend(title);
    picture.setAttribute("aria-label", title.textContent);
    return picture;
  }

  function rowOf(at) {
    const i = found[at], tr = document.createElement("tr");
    tr.setAttribute("aria-rowindex", String(at + 2));
    tr.dataset.at = at;
    for (const k of shown) {
      const cell = data.rows[i][k];
      if (k === barAt) {
        const td = document.createElement("td");
        td.append(bar(i));
        tr.append(td);
      }
      const td = document.createElement("td");
      if (data.columns[k].number) td.className = "n";
      if (k === 0 && data.members) {
        const b = document.createElement("button");
        b.type = "button";
        b.textContent = abbreviate(word(cell));
        b.tabIndex = at === current ? 0 : -1;
        b.setAttribute("aria-label", data.of + " " + word(cell) + ", details");
        b.addEventListener("click", () => { current = at; details(i, word(cell)); });
        td.append(b);
      } else {
        td.textContent = word(cell);
      }
      td.title = word(cell).length > shortest ? word(cell) : "";
      tr.append(td);
    }
    return tr;
  }

  const filler = rows => {
    const tr = document.createElement("tr");
    tr.className = "filler";
    tr.setAttribute("aria-hidden", "true");
    tr.style.height = rows * rowHeight + "px";
    return tr;
  };

  // draw draws the rows in view. All rows are of one height, which the first tells.
  function draw(anew) {
    if (!rowHeight && found.length) {
      body.replaceChildren(rowOf(0));
      rowHeight = body.rows[0].getBoundingClientRect().height || 25;
    }
    let a = 0, b = Math.min(found.length, printable);
    if (!printing) {
      const top = Math.floor(scroll.scrollTop / Math.max(1, rowHeight)), seen = Math.ceil(scroll.clientHeight / Math.max(1, rowHeight));
      a = Math.max(0, top - spare);
      b = Math.min(found.length, top + seen + spare);
    }
    if (!anew && a === from && b === to) return;
    const had = document.activeElement && body.contains(document.activeElement) ? Number(document.activeElement.closest("tr").dataset.at) : -1;
    from = a;
    to = b;
    const rows = [];
    if (a > 0) rows.push(filler(a));
    for (let k = a; k < b; k++) rows.push(rowOf(k));
    if (b < found.length && !printing) rows.push(filler(found.length - b));
    body.replaceChildren(...rows);
    if (had >= a && had < b) focusRow(had);
  }

  const focusRow = at => body.querySelector(`tr[data-at="${at}"] button`)?.focus({ preventScroll: true });

  // go moves to a row: arrows, pages, both ends.
  function go(at) {
    current = Math.max(0, Math.min(found.length - 1, at));
    const y = current * rowHeight, high = scroll.clientHeight - head.offsetHeight - rowHeight;
    if (y < scroll.scrollTop) scroll.scrollTop = y;
    else if (y > scroll.scrollTop + high) scroll.scrollTop = y - high;
    draw(true);
    focusRow(current);
  }

  let whole = null; // the document, parsed when it is first asked for
  window.anesim = { document: () => whole ??= JSON.parse(source) };

  function details(i, name) {
    const list = window.anesim.document()[data.members];
    byId("detail").hidden = false;
    byId("detail-name").textContent = data.of + " " + name;
    byId("registers").textContent = data.details ? data.details[i] : "";
    byId("registers").hidden = !data.details || !data.details[i];
    byId("member").textContent = list && list[i] ? JSON.stringify(list[i], null, 1) : "";
    byId("detail").scrollIntoView({ block: "nearest" });
    byId("detail").focus({ preventScroll: true });
  }

  function close() {
    byId("detail").hidden = true;
    draw(true);
    focusRow(current);
  }

  byId("close").addEventListener("click", close);
  byId("detail").addEventListener("keydown", e => { if (e.key === "Escape") close(); });

  scroll.addEventListener("keydown", e => {
    const page = Math.max(1, Math.floor(scroll.clientHeight / Math.max(1, rowHeight)) - 2);
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -found.length, End: found.length }[e.key];
    if (step === undefined || !found.length || head.contains(e.target)) return;
    e.preventDefault();
    go(body.contains(e.target) ? current + step : current);
  });
  let asked = false;
  scroll.addEventListener("scroll", () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; draw(false); });
  });
  new ResizeObserver(() => { if (!printing) draw(fit()); }).observe(scroll);
  byId("columns").addEventListener("change", () => draw(fit()));

  const print = on => () => {
    printing = on;
    byId("printed").hidden = !on || found.length <= printable;
    byId("printed").textContent = "The first " + printable + " of " + found.length + " rows are printed; the JSON has all.";
    fit();
    draw(true);
  };
  addEventListener("beforeprint", print(true));
  addEventListener("afterprint", print(false));

  let waiting = 0;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(filter, 60);
  });
  byId("download").addEventListener("click", e => {
    const a = document.createElement("a");
    a.href = URL.createObjectURL(new Blob([source], { type: "application/json" }));
    a.download = e.currentTarget.dataset.file;
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 1000);
  });

  fit();
  filter();
})();
