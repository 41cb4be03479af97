package browser

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var shots = flag.String("shots", "", "write screenshots and a print to `DIR`")

// complaints are errors of the page's console, exceptions, and requests that leave it.
type complaints struct {
	mu   sync.Mutex
	list []string
}

func (c *complaints) add(s string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, s)
}

// The command and the browser that all tests share. The browser is nil where there is none.
var (
	exe     string
	browser context.Context
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "browser")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	exe = filepath.Join(dir, "anesim")
	build := exec.Command("go", "build", "-o", exe, "./tools/anesim")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v: %s", err, out)
		return 1
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.WindowSize(1300, 900), chromedp.WSURLReadTimeout(2*time.Minute),
			chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-renderer-backgrounding", true), chromedp.Flag("disable-backgrounding-occluded-windows", true))
		if os.Getuid() == 0 {
			options = append(options, chromedp.NoSandbox) // Chromium has none for root
		}
		ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
		defer cancel()
		browser, cancel = chromedp.NewContext(ctx)
		defer cancel()
		if err := chromedp.Run(browser); err != nil {
			fmt.Fprintln(os.Stderr, path, err)
			return 1
		}
		break
	}
	return m.Run()
}

// anesim runs the anesim command with args in the root of the module. It ends the test if the
// command fails.
func anesim(t *testing.T, args ...string) {
	t.Helper()
	c := exec.Command(exe, args...)
	c.Dir = filepath.Join("..", "..")
	var errs strings.Builder
	c.Stderr = &errs
	if err := c.Run(); err != nil {
		t.Fatalf("%v: %v: %s", args, err, errs.String())
	}
}

// browse returns the context of a new browser tab. It skips the test if no browser is installed.
// Errors that the page reports fail the test at its end.
func browse(t *testing.T) context.Context {
	t.Helper()
	if browser == nil {
		t.Skip("no Chromium: apt-get install chromium")
	}
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	c := new(complaints)
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			c.add("exception: " + e.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
				c.add("console: " + string(e.Type))
			}
		case *log.EventEntryAdded:
			if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
				c.add("log: " + e.Entry.Text)
			}
		case *network.EventRequestWillBeSent:
			if u := e.Request.URL; !strings.HasPrefix(u, "file://") && !strings.HasPrefix(u, "data:") && !strings.HasPrefix(u, "blob:") {
				c.add("request: " + u)
			}
		}
	})
	// A tab behind another draws no frames.
	do(t, ctx, log.Enable(), network.Enable(), page.BringToFront(), emulation.SetFocusEmulationEnabled(true), scheme("light"))
	t.Cleanup(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, text := range c.list {
			t.Error(text)
		}
	})
	return ctx
}

func scheme(name string) chromedp.Action {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}})
}

func do(t *testing.T, ctx context.Context, actions ...chromedp.Action) {
	t.Helper()
	if err := chromedp.Run(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// eval evaluates a JavaScript expression in the page and returns its value.
func eval[T any](t *testing.T, ctx context.Context, expression string) (v T) {
	t.Helper()
	do(t, ctx, chromedp.Evaluate(expression, &v))
	return v
}

func shoot(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	if *shots == "" {
		return
	}
	var image []byte
	do(t, ctx, chromedp.FullScreenshot(&image, 100))
	if err := os.WriteFile(filepath.Join(*shots, name+".png"), image, 0o644); err != nil {
		t.Fatal(err)
	}
}

// printed fails the test unless the page can be printed to PDF. It saves the file under name if
// screenshots were requested.
func printed(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	var pdf []byte
	do(t, ctx, chromedp.ActionFunc(func(ctx context.Context) (err error) {
		pdf, _, err = page.PrintToPDF().WithPrintBackground(true).Do(ctx)
		return err
	}))
	if !strings.HasPrefix(string(pdf), "%PDF") {
		t.Error("the page has no print")
	}
	if *shots != "" {
		if err := os.WriteFile(filepath.Join(*shots, name+".pdf"), pdf, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const (
	rows      = `[...document.querySelectorAll("#table tbody tr[data-at]")]`
	documents = `JSON.parse(document.getElementById("document").textContent)`
	rowCount  = `Number(document.getElementById("table").getAttribute("aria-rowcount")) - 1`
)

// header returns a JavaScript expression for the header button of the column with the given title.
func header(title string) string {
	return `[...document.querySelectorAll("#table th button")].find(b => b.textContent === ` + quote(title) + `)`
}

// cells returns a JavaScript expression for the texts of the drawn cells in the column with the
// given title.
func cells(title string) string {
	return `(() => { const i = [...document.querySelectorAll("#table thead th")].findIndex(th => th.textContent === ` + quote(title) + `);
		return ` + rows + `.map(r => r.cells[i].textContent); })()`
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// Every kind of page opens without a complaint, has as many rows as its document and the
// document's numbers, and is dark where that is preferred.
func TestPagesOpen(t *testing.T) {
	dir := t.TempDir()
	for _, x := range []struct {
		name, list string
		args       []string
	}{
		{"run", "descriptors", []string{"run", "--timing-only"}},
		{"layer", "descriptors", []string{"layer", "conv", "cin=64", "h=56", "w=56", "cout=64", "k=3", "pad=1", "--timing-only"}},
		{"model", "layers", []string{"model", "tools/anesim/examples/resnet50.yaml", "--host", "macos-air"}},
		{"sweep", "rows", []string{"sweep", "conv", "cin=64,128", "h=14,28", "w=14,28", "cout=64..512*2", "k=1,3", "pad=same"}},
		{"load", "clients", []string{"load", "tools/anesim/examples/load.yaml"}},
		{"accuracy", "rows", []string{"accuracy"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			file := filepath.Join(dir, x.name+".html")
			anesim(t, append(x.args, "--html", file)...)
			ctx := browse(t)
			do(t, ctx, chromedp.Navigate("file://"+file))
			if shown, all := eval[int](t, ctx, rowCount), eval[int](t, ctx, documents+`.`+x.list+`.length`); shown != all || all == 0 {
				t.Errorf("%d rows of %d", shown, all)
			}
			if n := eval[int](t, ctx, rows+`.length`); n == 0 {
				t.Error("no row is drawn")
			}
			if wrong := eval[[]string](t, ctx, `[...document.querySelectorAll("data[data-name]")].filter(d => {
				let v = d.dataset.name.split(".").reduce((o, k) => o[k], `+documents+`);
				if (Array.isArray(v)) v = v.length;
				return v !== Number(d.value);
			}).map(d => d.dataset.name)`); len(wrong) > 0 {
				t.Errorf("numbers that are not the document's: %v", wrong)
			}
			shoot(t, ctx, x.name+"-light")
			do(t, ctx, scheme("dark"))
			if back := eval[string](t, ctx, `getComputedStyle(document.body).backgroundColor`); back != "rgb(13, 17, 23)" {
				t.Errorf("dark mode has the background %s", back)
			}
			shoot(t, ctx, x.name+"-dark")
			printed(t, ctx, x.name)
			if shown := eval[int](t, ctx, rows+`.length`); shown == 0 {
				t.Error("no row is drawn behind the print")
			}
		})
	}
}

// The table is sorted and searched, with the keyboard too, and shows a row's registers.
func TestTable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.html")
	anesim(t, "model", "tools/anesim/examples/resnet50.yaml", "--html", file)
	ctx := browse(t)
	do(t, ctx, chromedp.Navigate("file://"+file))
	cycles := cells("cycles") + `.map(s => Number(s.replaceAll(",", "")))`
	falls := func() bool {
		list := eval[[]int](t, ctx, cycles)
		return len(list) > 1 && slices.IsSortedFunc(list, func(a, b int) int { return b - a })
	}
	if falls() {
		t.Fatal("the network's order is sorted already: the test shows nothing")
	}
	eval[bool](t, ctx, header("cycles")+`.click() || true`)
	if !falls() {
		t.Error("not sorted, most first")
	}
	if most, want := eval[[]int](t, ctx, cycles)[0], eval[int](t, ctx, `Math.max(...`+documents+`.layers.map(l => l.cycles.total))`); most != want {
		t.Errorf("the first row has %d cycles, the most is %d", most, want)
	}
	eval[bool](t, ctx, header("cycles")+`.focus() || true`)
	do(t, ctx, chromedp.KeyEvent(kb.Enter))
	if !slices.IsSorted(eval[[]int](t, ctx, cycles)) {
		t.Error("the keyboard does not turn the order round")
	}
	if s := eval[string](t, ctx, header("cycles")+`.parentNode.getAttribute("aria-sort")`); s != "ascending" {
		t.Errorf("aria-sort is %s", s)
	}
	do(t, ctx, chromedp.SendKeys("#search", "res5a conv"), chromedp.Sleep(300*time.Millisecond))
	found := eval[[]string](t, ctx, cells("layer"))
	want := eval[int](t, ctx, documents+`.layers.filter(l => l.name.includes("res5a") && l.op === "conv").length`)
	if len(found) != want || want == 0 {
		t.Errorf("found %v, want %d", found, want)
	}
	eval[bool](t, ctx, `document.querySelector("#table tbody button").focus() || true`)
	do(t, ctx, chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.Enter))
	registers, member := eval[string](t, ctx, `document.getElementById("registers").textContent`), eval[string](t, ctx, `document.getElementById("member").textContent`)
	if !strings.Contains(member, quote(found[1])) || !strings.Contains(registers, "Common.") {
		t.Errorf("details of %s have neither its document nor its registers: %.200s", found[1], member)
	}
	shoot(t, ctx, "details")
	do(t, ctx, chromedp.KeyEvent(kb.Escape))
	if !eval[bool](t, ctx, `document.getElementById("detail").hidden`) {
		t.Error("details stay")
	}
	if s := eval[string](t, ctx, `document.activeElement.textContent`); s != found[1] {
		t.Errorf("the focus is on %q behind the details of %s", s, found[1])
	}
}

// shown returns the part of the timeline that is visible, as fractions of the whole.
func shown(t *testing.T, ctx context.Context) (from, to float64) {
	t.Helper()
	s := eval[string](t, ctx, `document.getElementById("time").dataset.shown ?? "0 1"`)
	if _, err := fmt.Sscan(s, &from, &to); err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	return from, to
}

// The timeline zooms with the mouse, the buttons and the keys, and says what is where.
func TestZoom(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.html")
	anesim(t, "model", "tools/anesim/examples/resnet50.yaml", "--host", "macos-air", "--html", file)
	ctx := browse(t)
	do(t, ctx, chromedp.Navigate("file://"+file), chromedp.ScrollIntoView("#time"), chromedp.Sleep(500*time.Millisecond))
	box := eval[[]float64](t, ctx, `(() => { const b = document.getElementById("time").getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()`)
	mouse := func(kind input.MouseType, share float64) {
		const left, right, all = 60.0, 940.0, 960.0 // of the drawing's own units
		x := box[0] + box[2]*(left+share*(right-left))/all
		do(t, ctx, input.DispatchMouseEvent(kind, x, box[1]+box[3]/2).WithButton(input.Left).WithButtons(1).WithClickCount(1))
	}
	mouse(input.MousePressed, 0.25)
	mouse(input.MouseMoved, 0.4)
	mouse(input.MouseReleased, 0.5)
	near := func(got, want float64) bool { return math.Abs(got-want) < 0.01 }
	if from, to := shown(t, ctx); !near(from, 0.25) || !near(to, 0.5) {
		t.Errorf("dragged from 0.25 to 0.5, shown is %.3f to %.3f", from, to)
	}
	if view := eval[string](t, ctx, `document.querySelector("#time svg.window").getAttribute("viewBox")`); strings.HasPrefix(view, "0 0 1000000") {
		t.Error("the drawing is the whole still")
	}
	eval[bool](t, ctx, `document.querySelector("#timeline .picture").focus() || true`)
	do(t, ctx, chromedp.KeyEvent("+"))
	if from, to := shown(t, ctx); !near(to-from, 0.125) {
		t.Errorf("+ shows %.3f to %.3f", from, to)
	}
	do(t, ctx, chromedp.KeyEvent(kb.ArrowRight))
	before, _ := shown(t, ctx)
	do(t, ctx, chromedp.KeyEvent(kb.ArrowLeft))
	if after, _ := shown(t, ctx); after >= before {
		t.Error("the left arrow does not go back")
	}
	eval[bool](t, ctx, `document.querySelector("[data-zoom=all]").click() || true`)
	if from, to := shown(t, ctx); from != 0 || to != 1 {
		t.Errorf("all of it is %g to %g", from, to)
	}
	// What it says of a span is the document's.
	eval[bool](t, ctx, `document.querySelector("#timeline .picture").focus() || true`)
	do(t, ctx, chromedp.KeyEvent("."), chromedp.KeyEvent("."))
	got := eval[string](t, ctx, `document.getElementById("readout").textContent`)
	want := eval[string](t, ctx, `(() => { const s = `+documents+`.power.filter(s => s.for_ns > 0)[1]; return s.what + ": " + s.watts.toFixed(2) + " W"; })()`)
	if !strings.Contains(got, want) {
		t.Errorf("the readout is %q, want %q in it", got, want)
	}
}

// A page held against a baseline has what differs, with the registers that explain it, and
// says so where nothing does.
func TestBaseline(t *testing.T) {
	dir := t.TempDir()
	base, file := filepath.Join(dir, "base.json"), filepath.Join(dir, "page.html")
	layer := "conv cin=64 h=28 w=28 cout=64 k=3 pad=1"
	anesim(t, "check", "--baseline", base, "--update", "--layer", layer)
	args := append(append([]string{"layer"}, strings.Fields(layer)...), "--timing-only", "--html", file, "--baseline", base)
	anesim(t, args...)
	ctx := browse(t)
	do(t, ctx, chromedp.Navigate("file://"+file))
	if s := eval[string](t, ctx, `document.querySelector("#baseline p").textContent`); s != "Nothing differs." {
		t.Errorf("the same layer: %s", s)
	}
	anesim(t, append(args, "--set", "Common.ConvCfg.OCGSize=0")...)
	do(t, ctx, chromedp.Navigate("file://"+file))
	list := eval[[][]string](t, ctx, `[...document.querySelectorAll("#baseline tbody tr")].map(r => [...r.cells].map(c => c.textContent))`)
	entries := struct {
		Entries []struct{ Total struct{ Cycles float64 } }
	}{}
	b, err := os.ReadFile(base)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &entries); err != nil {
		t.Fatal(err)
	}
	now := eval[float64](t, ctx, documents+`.total.cycles`)
	if len(list) == 0 || list[0][0] != "total" {
		t.Fatalf("the total is not the first row of %q", list)
	}
	cycles := eval[string](t, ctx, `"cycles " + (`+fmt.Sprint(entries.Entries[0].Total.Cycles)+`).toLocaleString("en-US") + " -> " + (`+fmt.Sprint(now)+`).toLocaleString("en-US")`)
	if all := fmt.Sprint(list); !strings.Contains(all, cycles) || !strings.Contains(all, "Common.ConvCfg.OCGSize 0x2 -> 0x0") {
		t.Errorf("neither %q nor the register in %q", cycles, list)
	}
	shoot(t, ctx, "baseline")
}

// The downloaded document is the page's, byte for byte.
func TestDownload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.html")
	anesim(t, "run", "--timing-only", "--html", file)
	ctx := browse(t)
	do(t, ctx, chromedp.Navigate("file://"+file))
	got := eval[string](t, ctx, `(() => { const make = URL.createObjectURL; let blob; URL.createObjectURL = b => { blob = b; return make(b); };
		const click = HTMLAnchorElement.prototype.click; let name; HTMLAnchorElement.prototype.click = function() { name = this.download; };
		document.getElementById("download").click(); URL.createObjectURL = make; HTMLAnchorElement.prototype.click = click;
		window.downloaded = blob; return name + " " + blob.type; })()`)
	if got != "program.json application/json" {
		t.Errorf("the download is %s", got)
	}
	var text string
	do(t, ctx, chromedp.Evaluate(`window.downloaded.text()`, &text, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	if want := eval[string](t, ctx, `document.getElementById("document").textContent`); text != want || !json.Valid([]byte(text)) {
		t.Error("the download is not the page's document")
	}
}

// Every part of the page is reached with the tab key, in order, and nothing else is.
func TestKeyboard(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.html")
	anesim(t, "model", "tools/anesim/examples/transformer.yaml", "--html", file)
	ctx := browse(t)
	do(t, ctx, chromedp.Navigate("file://"+file))
	seen := map[string]bool{}
	for range 120 {
		do(t, ctx, chromedp.KeyEvent(kb.Tab))
		id := eval[string](t, ctx, `(() => { const e = document.activeElement; return e === document.body ? "" : e.id || e.className || e.dataset.zoom && "zoom " + e.dataset.zoom || e.closest("table") && (e.closest("thead") ? "header" : "row") || e.closest("nav") && "nav" || e.tagName; })()`)
		if id == "" {
			break
		}
		seen[id] = true
	}
	for _, id := range []string{"skip", "nav", "download", "picture", "zoom in", "search", "scroll", "header", "row"} {
		if !seen[id] {
			t.Errorf("the tab key does not reach %s: %v", id, seen)
		}
	}
}

// Pages of 10,000 descriptors and of 10,000 layers open, sort, search, scroll and print, and
// nothing that they do keeps them from answering for long.
func TestTenThousand(t *testing.T) {
	const n = 10_000
	dir := t.TempDir()
	net, program := filepath.Join(dir, "long.yaml"), filepath.Join(dir, "long.hwx")
	var text strings.Builder
	text.WriteString("name: long\ninputs:\n  x: {c: 16, h: 4, w: 4}\nlayers:\n")
	for i := range n {
		fmt.Fprintf(&text, "  - {name: layer%d, op: add, second: scalar}\n", i)
	}
	if err := os.WriteFile(net, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		list, column, search string
		args                 []string
	}{
		{"layers", "time", "layer999", []string{"model", net, "--emit", program}},
		{"descriptors", "energy", "999", []string{"run", program, "--timing-only"}},
	} {
		t.Run(x.list, func(t *testing.T) {
			file := filepath.Join(dir, x.list+".html")
			anesim(t, append(x.args, "--html", file)...)
			if info, err := os.Stat(file); err == nil {
				t.Logf("the page has %.1f MB", float64(info.Size())/1e6)
			}
			ctx := browse(t)
			begin := time.Now()
			do(t, ctx, chromedp.Navigate("file://"+file))
			t.Logf("opened in %v", time.Since(begin))
			if got := eval[int](t, ctx, documents+`.`+x.list+`.length`); got != n {
				t.Fatalf("%d %s", got, x.list)
			}
			eval[bool](t, ctx, `(window.long = [], new PerformanceObserver(l => l.getEntries().forEach(e => window.long.push(e.duration))).observe({entryTypes: ["longtask"]}), true)`)
			input := func(text string) string {
				return `document.getElementById("search").value = ` + quote(text) + `, document.getElementById("search").dispatchEvent(new Event("input"))`
			}
			for _, step := range []struct{ what, script string }{
				{"sort", header(x.column) + `.click()`}, {"search", input(x.search)}, {"clear", input("")},
				{"scroll", `document.getElementById("scroll").scrollTop = 1e5`}, {"to the end", `document.getElementById("scroll").scrollTop = 1e9`},
				{"zoom", `document.querySelector("[data-zoom=in]").click()`},
			} {
				ms := eval[float64](t, ctx, `(() => { const t = performance.now(); `+step.script+`; return performance.now() - t; })()`)
				do(t, ctx, chromedp.Sleep(200*time.Millisecond))
				drawn, left := eval[int](t, ctx, rows+`.length`), eval[int](t, ctx, rowCount)
				t.Logf("%s: %.0f ms, %d rows drawn of %d", step.what, ms, drawn, left)
				if ms > 500 {
					t.Errorf("%s takes %.0f ms", step.what, ms)
				}
				if drawn == 0 || drawn > 200 {
					t.Errorf("%s: %d rows are drawn", step.what, drawn)
				}
				if step.what == "search" && (left == 0 || left == n) {
					t.Errorf("the search leaves %d rows", left)
				}
				if step.what == "to the end" {
					do(t, ctx, chromedp.Poll(rows+`.at(-1).dataset.at === "9999"`, nil, chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(10*time.Second)))
				}
			}
			most := 0.0
			for _, v := range eval[[]float64](t, ctx, `window.long`) {
				most = max(most, v)
			}
			t.Logf("the longest task: %.0f ms", most)
			const limit = 3000 // at twenty times as many processes as processors; some 50 ms without
			if most > limit {
				t.Errorf("the page does not answer for %.0f ms", most)
			}
			printed(t, ctx, x.list)
		})
	}
}
