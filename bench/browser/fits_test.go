package browser

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// beyond lists the texts and shapes of pictures, legends and columns that reach beyond what
// shows them.
const beyond = `(() => {
	const out = [], wide = document.documentElement.clientWidth;
	if (document.documentElement.scrollWidth > wide) out.push("the page is " + document.documentElement.scrollWidth + " px wide");
	for (const p of document.querySelectorAll(".picture")) {
		const id = p.closest("section").id;
		if (p.scrollWidth > p.clientWidth) out.push(id + ": the chart is " + p.scrollWidth + " px wide, its place " + p.clientWidth);
		const box = [...p.querySelectorAll("svg")].map(s => s.getBoundingClientRect()).find(b => b.width);
		for (const t of p.querySelectorAll("text")) {
			const b = t.getBoundingClientRect();
			if (b.width && (b.left < box.left - 1 || b.right > box.right + 1 || b.top < box.top - 1 || b.bottom > box.bottom + 1)) out.push(id + ": " + t.textContent + " is cut off");
			if (b.width && parseFloat(getComputedStyle(t).fontSize) * t.getScreenCTM().d < 9) out.push(id + ": " + t.textContent + " is too small to read");
		}
	}
	for (const g of document.querySelectorAll("#energy g")) {
		const box = g.querySelector(".leaf").getBoundingClientRect();
		for (const t of g.querySelectorAll("text")) {
			if (t.getBoundingClientRect().right > box.right + 1) out.push("energy: " + t.textContent + " is wider than its area");
		}
	}
	for (const l of document.querySelectorAll(".legend li")) {
		const b = l.getBoundingClientRect();
		if (b.right > wide || b.height > 40) out.push("legend " + l.textContent + " is cut off");
		const s = l.querySelector("svg").getBoundingClientRect();
		if (s.width < 8) out.push("legend " + l.textContent + " has no colour");
	}
	return [...new Set(out)];
})()`

// resize sets the width of the tab's window to width pixels.
func resize(t *testing.T, ctx context.Context, width int64) {
	t.Helper()
	do(t, ctx, emulation.SetDeviceMetricsOverride(width, 900, 1, false))
}

// Pages fit a window of 1280 pixels and one of 400: charts and legends are whole, and what
// bounds a layer is seen without scrolling in the wider one.
func TestFits(t *testing.T) {
	dir := t.TempDir()
	long := filepath.Join(dir, "long.yaml")
	text := "inputs: {x: {c: 64, h: 28, w: 28}}\nlayers:\n"
	for _, name := range []string{"conv", "relu"} {
		text += "- {op: conv, cout: 64, k: 3, pad: 1, act: relu, name: /model/backbone/stages.0/blocks.11/" + name + "/Conv_output_0}\n"
	}
	if err := os.WriteFile(long, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name, bound string
		args        []string
	}{
		{"layer", "bound by", []string{"layer", "conv", "cin=64", "h=56", "w=56", "cout=64", "k=3", "pad=1", "--timing-only"}},
		{"model", "bound by", []string{"model", "tools/anesim/examples/resnet50.yaml", "--host", "macos-air"}},
		{"transformer", "bound by", []string{"model", "tools/anesim/examples/transformer.yaml"}},
		{"long", "bound by", []string{"model", long}},
		{"sweep", "", []string{"sweep", "conv", "cin=64,128", "h=14,28", "w=14,28", "cout=64..512*2", "k=1,3", "pad=same"}},
		{"load", "", []string{"load", "tools/anesim/examples/load.yaml"}},
		{"accuracy", "", []string{"accuracy"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			file := filepath.Join(dir, x.name+".html")
			anesim(t, append(x.args, "--html", file)...)
			ctx := browse(t)
			for _, width := range []int64{1280, 400} {
				resize(t, ctx, width)
				do(t, ctx, chromedp.Navigate("file://"+file))
				for _, what := range eval[[]string](t, ctx, beyond) {
					t.Errorf("%d pixels: %s", width, what)
				}
				if width == 1280 && x.bound != "" {
					if right := eval[float64](t, ctx, header(x.bound)+`.getBoundingClientRect().right`); right > 1280 {
						t.Errorf("the column %q ends at %.0f pixels of 1280", x.bound, right)
					}
				}
				shoot(t, ctx, x.name+map[int64]string{1280: "-wide", 400: "-narrow"}[width])
			}
		})
	}
}

// A comparison with a baseline has a line for each layer, its columns fit 1280 pixels, and
// the reasons are folded until a name is opened.
func TestBaselineFits(t *testing.T) {
	dir := t.TempDir()
	base, file := filepath.Join(dir, "base.json"), filepath.Join(dir, "page.html")
	const network = "tools/anesim/examples/transformer.yaml"
	anesim(t, "check", "--baseline", base, "--update", network)
	anesim(t, "model", network, "--in-memory", "--html", file, "--baseline", base)
	ctx := browse(t)
	resize(t, ctx, 1280)
	do(t, ctx, chromedp.Navigate("file://"+file))
	const rows = `[...document.querySelectorAll("#baseline tbody tr:not(.why)")]`
	if n := eval[int](t, ctx, rows+`.length`); n < 5 || n > 18 {
		t.Errorf("%d rows for a total and 17 layers", n)
	}
	if high := eval[float64](t, ctx, `Math.max(...`+rows+`.map(r => r.getBoundingClientRect().height))`); high > 32 {
		t.Errorf("a row is %.0f pixels high", high)
	}
	if right := eval[float64](t, ctx, `Math.max(...[...document.querySelectorAll("#baseline th")].map(c => c.getBoundingClientRect().right))`); right > 1280 {
		t.Errorf("the columns end at %.0f pixels of 1280", right)
	}
	if hidden := eval[int](t, ctx, `(e => e.scrollWidth - e.clientWidth)(document.querySelector("#baseline .scroll"))`); hidden > 0 {
		t.Errorf("the table is %d pixels wider than its place", hidden)
	}
	if n := eval[int](t, ctx, `[...document.querySelectorAll("#baseline tr.why")].filter(r => r.offsetHeight).length`); n != 0 {
		t.Errorf("%d reasons are unfolded", n)
	}
	const added = rows + `.slice(1).map(r => r.cells[3]).map(c => c.classList.contains("worse"))`
	if list := eval[[]bool](t, ctx, added); len(list) == 0 || !list[0] || list[len(list)-1] {
		t.Errorf("rows that are slower: %v, want the slower first", list)
	}
	shoot(t, ctx, "baseline-wide")
	eval[bool](t, ctx, `document.querySelector("#baseline summary").click() || true`)
	if text := eval[string](t, ctx, `document.querySelector("#baseline tr.why").innerText`); !strings.Contains(text, "cycles ") || !strings.Contains(text, "stall") {
		t.Errorf("the opened row says %q", text)
	}
	shoot(t, ctx, "baseline-open")
}

// The table of all layers fits a window of 1,200 pixels without its least important columns, which
// a check box shows.
func TestTableFits(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.html")
	anesim(t, "model", "tools/anesim/examples/resnet50.yaml", "--html", file)
	ctx := browse(t)
	resize(t, ctx, 1200)
	do(t, ctx, chromedp.Navigate("file://"+file), chromedp.Sleep(300*time.Millisecond))
	type table struct {
		Inner, Outer float64
		Columns      []string
	}
	measure := func() table {
		return eval[table](t, ctx, `(() => { const s = document.getElementById("scroll");
			return { inner: s.scrollWidth, outer: s.clientWidth, columns: [...document.querySelectorAll("#table thead th")].map(th => th.textContent) }; })()`)
	}
	if x := measure(); x.Inner > x.Outer || !slices.Contains(x.Columns, "energy") || slices.Contains(x.Columns, "low") {
		t.Errorf("the table is %.0f pixels wide in %.0f, with the columns %q", x.Inner, x.Outer, x.Columns)
	}
	shoot(t, ctx, "table-1200")
	eval[bool](t, ctx, `document.getElementById("columns").click() || true`)
	if x := measure(); !slices.Contains(x.Columns, "low") || !slices.Contains(x.Columns, "TFLOP/s") {
		t.Errorf("all columns: %q", x.Columns)
	}
	if n := eval[int](t, ctx, `document.querySelector("#table tbody tr").cells.length`); n != len(measure().Columns) {
		t.Errorf("a row has %d cells", n)
	}
}
