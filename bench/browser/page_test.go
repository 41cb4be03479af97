package browser

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var shots = flag.String("shots", "", "write screenshots and a print to `DIR`")

// A complaint is an error of the page's console, an exception, or a request that leaves it.
type complaints struct {
	mu   sync.Mutex
	list []string
}

func (c *complaints) add(s string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, s)
}

// command builds the command and returns a function that runs it in the module's root.
func command(t *testing.T) func(args ...string) {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "anesim")
	build := exec.Command("go", "build", "-o", exe, "./tools/anesim")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return func(args ...string) {
		t.Helper()
		c := exec.Command(exe, args...)
		c.Dir = filepath.Join("..", "..")
		var errs strings.Builder
		c.Stderr = &errs
		if err := c.Run(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, errs.String())
		}
	}
}

// browse opens a browser; the test is skipped where there is none.
func browse(t *testing.T) (context.Context, *complaints) {
	t.Helper()
	exe := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			exe = p
			break
		}
	}
	if exe == "" {
		t.Skip("no Chromium: apt-get install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(exe), chromedp.WindowSize(1200, 900))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium has none for root
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
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
	return ctx, c
}

func do(t *testing.T, ctx context.Context, actions ...chromedp.Action) {
	t.Helper()
	if err := chromedp.Run(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// eval is what an expression of the page gives.
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

const (
	rows      = `[...document.querySelectorAll("#table tbody tr:not(.details)")]`
	documents = `JSON.parse(document.getElementById("document").textContent)`
)

// header is the n-th column's button by title.
func header(title string) string {
	return `[...document.querySelectorAll("#table th button")].find(b => b.textContent === ` + quote(title) + `)`
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// Every kind of page opens without a complaint, with as many rows as its document has.
func TestPagesOpen(t *testing.T) {
	anesim := command(t)
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
		{"accuracy", "", []string{"accuracy"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			file := filepath.Join(dir, x.name+".html")
			anesim(append(x.args, "--html", file)...)
			ctx, bad := browse(t)
			do(t, ctx, log.Enable(), network.Enable(), emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "light"}}), chromedp.Navigate("file://"+file))
			if x.list != "" {
				shown, all := eval[int](t, ctx, rows+`.length`), eval[int](t, ctx, documents+`.`+x.list+`.length`)
				if shown != all || all == 0 {
					t.Errorf("%d rows of %d", shown, all)
				}
				if wrong := eval[[]string](t, ctx, `[...document.querySelectorAll("data[data-name]")].filter(d => {
					let v = d.dataset.name.split(".").reduce((o, k) => o[k], `+documents+`);
					if (Array.isArray(v)) v = v.length;
					return v !== Number(d.value);
				}).map(d => d.dataset.name)`); len(wrong) > 0 {
					t.Errorf("numbers that are not the document's: %v", wrong)
				}
			}
			shoot(t, ctx, x.name+"-light")
			do(t, ctx, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
			if x.name != "accuracy" {
				if back := eval[string](t, ctx, `getComputedStyle(document.body).backgroundColor`); back != "rgb(13, 17, 23)" {
					t.Errorf("dark mode has the background %s", back)
				}
			}
			shoot(t, ctx, x.name+"-dark")
			if *shots != "" {
				var pdf []byte
				do(t, ctx, chromedp.ActionFunc(func(ctx context.Context) (err error) {
					pdf, _, err = page.PrintToPDF().WithPrintBackground(true).Do(ctx)
					return err
				}))
				if err := os.WriteFile(filepath.Join(*shots, x.name+".pdf"), pdf, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, c := range bad.list {
				t.Error(c)
			}
		})
	}
}

// The table is sorted and searched, with the keyboard too, and shows a row's registers.
func TestTable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.html")
	command(t)("model", "tools/anesim/examples/resnet50.yaml", "--html", file)
	ctx, bad := browse(t)
	do(t, ctx, chromedp.Navigate("file://"+file))
	cycles := `(() => { const i = [...document.querySelectorAll("#table th button")].findIndex(b => b.textContent === "cycles");
		return ` + rows + `.map(r => Number(r.cells[i].textContent.replaceAll(",", ""))); })()`
	sorted := func(list []int, less func(a, b int) bool) bool {
		for i := 1; i < len(list); i++ {
			if less(list[i], list[i-1]) {
				return false
			}
		}
		return len(list) > 1
	}
	if sorted(eval[[]int](t, ctx, cycles), func(a, b int) bool { return a > b }) {
		t.Fatal("the chain's order is sorted already: the test shows nothing")
	}
	eval[bool](t, ctx, header("cycles")+`.click() || true`)
	if !sorted(eval[[]int](t, ctx, cycles), func(a, b int) bool { return a > b }) {
		t.Error("not sorted, most first")
	}
	eval[bool](t, ctx, header("cycles")+`.focus() || true`)
	do(t, ctx, chromedp.KeyEvent(kb.Enter))
	if !sorted(eval[[]int](t, ctx, cycles), func(a, b int) bool { return a < b }) {
		t.Error("the keyboard does not turn the order round")
	}
	if s := eval[string](t, ctx, header("cycles")+`.parentNode.getAttribute("aria-sort")`); s != "ascending" {
		t.Errorf("aria-sort is %s", s)
	}
	do(t, ctx, chromedp.SendKeys("#search", "res5a conv"), chromedp.Sleep(300*time.Millisecond))
	found := eval[[]string](t, ctx, rows+`.map(r => r.cells[0].textContent)`)
	want := eval[int](t, ctx, documents+`.layers.filter(l => l.name.includes("res5a") && l.op === "conv").length`)
	if len(found) != want || want == 0 {
		t.Errorf("found %v, want %d", found, want)
	}
	eval[bool](t, ctx, `document.querySelector("#table tbody button").focus() || true`)
	do(t, ctx, chromedp.KeyEvent(kb.Enter))
	name := found[0]
	if text := eval[string](t, ctx, `document.querySelector("tr.details pre").textContent`); !strings.Contains(text, quote(name)) || !strings.Contains(text, "Common.") {
		t.Errorf("details of %s have neither its document nor its registers: %.200s", name, text)
	}
	shoot(t, ctx, "details")
	do(t, ctx, chromedp.KeyEvent(kb.Enter))
	if eval[bool](t, ctx, `document.querySelector("tr.details") !== null`) {
		t.Error("details stay")
	}
	for _, c := range bad.list {
		t.Error(c)
	}
}

// The downloaded document is the page's, byte for byte.
func TestDownload(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "page.html")
	command(t)("run", "--timing-only", "--html", file)
	ctx, _ := browse(t)
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

// A page of 10,000 descriptors opens, sorts, searches and shows all of them, and nothing
// that it does keeps the page from answering for long.
func TestTenThousand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.html")
	command(t)("layer", "add", "c=4", "--repeat", "10000", "--timing-only", "--html", file)
	if info, err := os.Stat(file); err == nil {
		t.Logf("the page has %.1f MB", float64(info.Size())/1e6)
	}
	ctx, bad := browse(t)
	begin := time.Now()
	do(t, ctx, chromedp.Navigate("file://"+file))
	t.Logf("opened in %v", time.Since(begin))
	if n := eval[int](t, ctx, documents+`.descriptors.length`); n < 10_000 {
		t.Fatalf("%d descriptors", n)
	}
	eval[bool](t, ctx, `(window.long = [], new PerformanceObserver(l => l.getEntries().forEach(e => window.long.push(e.duration))).observe({entryTypes: ["longtask"]}), true)`)
	for what, expression := range map[string]string{
		"sort":   header("time") + `.click()`,
		"search": `document.getElementById("search").value = "add 9", document.getElementById("search").dispatchEvent(new Event("input"))`,
		"clear":  `document.getElementById("search").value = "", document.getElementById("search").dispatchEvent(new Event("input"))`,
	} {
		ms := eval[float64](t, ctx, `(() => { const t = performance.now(); `+expression+`; return performance.now() - t; })()`)
		t.Logf("%s: %.0f ms", what, ms)
		do(t, ctx, chromedp.Sleep(200*time.Millisecond))
	}
	eval[bool](t, ctx, `(document.getElementById("search").value = "", document.getElementById("search").dispatchEvent(new Event("input")), true)`)
	do(t, ctx, chromedp.Sleep(300*time.Millisecond))
	eval[bool](t, ctx, `document.getElementById("more").click() || true`)
	n, all := 0, eval[int](t, ctx, documents+`.descriptors.length`)
	for begin = time.Now(); time.Since(begin) < 60*time.Second; {
		if n = eval[int](t, ctx, rows+`.length`); n == all {
			break
		}
		do(t, ctx, chromedp.Sleep(100*time.Millisecond))
	}
	t.Logf("all %d rows after %v", n, time.Since(begin))
	if n != all {
		t.Errorf("%d of %d rows", n, all)
	}
	long := eval[[]float64](t, ctx, `window.long`)
	most := 0.0
	for _, v := range long {
		most = max(most, v)
	}
	t.Logf("the longest task of %d over 50 ms: %.0f ms", len(long), most)
	const limit = 2000
	if most > limit {
		t.Errorf("the page does not answer for %.0f ms", most)
	}
	for _, c := range bad.list {
		t.Error(c)
	}
}
