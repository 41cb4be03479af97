"use strict";
(() => {
  const texts = JSON.parse(document.getElementById("data").textContent);
  const source = document.getElementById("document").textContent;
  const first = 200; // rows shown before "Show all": a browser lays those out at once
  let whole = null; // the document, parsed when it is first asked for
  const table = document.getElementById("table");
  const head = table.tHead.rows[0], body = table.tBodies[0];
  const search = document.getElementById("search"), count = document.getElementById("count"), more = document.getElementById("more");
  const word = cell => Array.isArray(cell) ? cell[0] : cell;
  const haystack = texts.rows.map(row => row.map(word).join(" ").toLowerCase());
  let order = texts.rows.map((_, i) => i), sorted = -1, down = false, all = false, drawn = 0;

  texts.columns.forEach((c, i) => {
    const th = document.createElement("th"), b = document.createElement("button");
    th.scope = "col";
    th.setAttribute("aria-sort", "none");
    if (c.number) th.className = "n";
    b.type = "button";
    b.textContent = c.title;
    b.title = c.help;
    b.addEventListener("click", () => sort(i));
    th.append(b);
    head.append(th);
  });

  function sort(i) {
    down = sorted === i ? !down : texts.columns[i].number;
    sorted = i;
    [...head.cells].forEach((th, k) => th.setAttribute("aria-sort", k !== i ? "none" : down ? "descending" : "ascending"));
    const value = texts.columns[i].number ? r => texts.rows[r][i][1] : r => texts.rows[r][i];
    order.sort((a, b) => {
      const x = value(a), y = value(b);
      return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1) || a - b;
    });
    draw();
  }

  function details(i) {
    whole ??= JSON.parse(source);
    const parts = [];
    if (texts.details && texts.details[i]) parts.push(texts.details[i]);
    const list = texts.members ? whole[texts.members] : null;
    if (list && list[i]) parts.push(JSON.stringify(list[i], null, 1));
    return parts.join("\n");
  }

  function toggle(button, i, tr) {
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) {
      tr.nextSibling.remove();
      return;
    }
    const row = document.createElement("tr"), td = document.createElement("td"), pre = document.createElement("pre");
    row.className = "details";
    td.colSpan = texts.columns.length;
    pre.tabIndex = 0;
    pre.textContent = details(i);
    td.append(pre);
    row.append(td);
    tr.after(row);
  }

  function rowOf(i) {
    const tr = document.createElement("tr");
    texts.rows[i].forEach((cell, k) => {
      const td = document.createElement("td");
      if (texts.columns[k].number) td.className = "n";
      if (k === 0 && texts.members) {
        const b = document.createElement("button");
        b.type = "button";
        b.textContent = word(cell);
        b.setAttribute("aria-expanded", "false");
        b.setAttribute("aria-label", texts.of + " " + word(cell) + ", details");
        b.addEventListener("click", () => toggle(b, i, tr));
        td.append(b);
      } else {
        td.textContent = word(cell);
      }
      tr.append(td);
    });
    return tr;
  }

  function draw() {
    const terms = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = order.filter(i => terms.every(t => haystack[i].includes(t)));
    const shown = all ? found : found.slice(0, first);
    const turn = ++drawn;
    body.replaceChildren(...shown.slice(0, first).map(rowOf));
    const rest = from => { // slices, so that the page answers meanwhile
      if (turn !== drawn || from >= shown.length) return;
      body.append(...shown.slice(from, from + first).map(rowOf));
      setTimeout(() => rest(from + first));
    };
    rest(first);
    count.textContent = shown.length === texts.rows.length ? shown.length + " rows" : shown.length + " of " + found.length + " found, " + texts.rows.length + " in all";
    more.hidden = shown.length === found.length;
  }

  let waiting = 0;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(draw, 60);
  });
  more.addEventListener("click", () => {
    all = true;
    draw();
    search.focus();
  });
  document.getElementById("download").addEventListener("click", e => {
    const a = document.createElement("a");
    a.href = URL.createObjectURL(new Blob([source], { type: "application/json" }));
    a.download = e.currentTarget.dataset.file;
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 1000);
  });
  draw();
})();
