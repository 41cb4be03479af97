package bench

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"hash"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var foldName = flag.String("fold", "", "the fold that TestFolds refits, such as \"session linux\"")

// refit is how a reader brings residuals and constants up to date.
const refit = "go test ./bench -run 'TestCalibration$' -calibrate, which takes about a minute, and then\n" +
	"the pages: go test ./tools/anesim/internal/accuracy -update, go test ./tools/anesim/internal/command -run 'TestDocs|Transcripts' -update\n" +
	"and the derived vectors: go test ./bench -run Derived -update"

// A basis is a thing that the residuals rest on.
type basis struct{ name, what, digest string }

// bases returns a digest of everything from which residuals.txt is computed, in the order of its
// header. The arguments are the texts of the generated files of constants.
func bases(t *testing.T, constants ...string) []basis {
	t.Helper()
	rows, err := os.ReadFile(filepath.Join("..", "internal", "measured", "rows.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return []basis{
		{"timing", "the timing code (" + strings.Join(timingDirs[:], ", ") + ")", digest(func(h io.Writer) { timingCode(t, h) })},
		{"rows", "the measured rows (internal/measured/rows.txt)", digest(func(h io.Writer) { h.Write(rows) })},
		{"constants", "the fitted constants (hw/fitted_gen.go, hw/host/fitted_gen.go)", digest(func(h io.Writer) { io.WriteString(h, strings.Join(constants, "")) })},
		{"estimates", "the model's estimates of the rows with the study's constants (the timing code, or the descriptors that rows are lowered to)", digest(func(h io.Writer) { studyEstimates(t, h) })},
	}
}

func digest(write func(io.Writer)) string {
	var h hash.Hash = sha256.New()
	write(h)
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}

// timingDirs have the code that decides time and energy.
var timingDirs = [...]string{"hw", "hw/clock", "hw/dma", "hw/host", "hw/l2", "internal/datapath/planar", "internal/datapath/tiles"}

// timingCode writes the code in timingDirs to w without the parts that cannot change a time: tests,
// comments and strings. It omits the fitted constants, which have a digest of their own.
func timingCode(t *testing.T, w io.Writer) {
	t.Helper()
	for _, dir := range timingDirs {
		files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(dir), "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(files), err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") || filepath.Base(name) == "fitted_gen.go" || filepath.Base(name) == "doc.go" {
				continue
			}
			fmt.Fprintln(w, filepath.ToSlash(name))
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
					l.Value = `""`
				}
				return true
			})
			if err := format.Node(w, token.NewFileSet(), f); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// studyEstimates writes the model's estimate of every row with constants that no fit changes.
func studyEstimates(t *testing.T, w io.Writer) {
	t.Helper()
	p := StudyPresets()
	for name, h := range p.Hosts {
		h.Hold.Value = 0
		p.Hosts[name] = h
	}
	samples := builtin(t)
	for i := range samples {
		r := p.newResidual(&samples[i])
		fmt.Fprintf(w, "%s %.6g %.6g %.6g\n", samples[i].Row.ID, r.Time.Model, r.Engine, r.Energy.Model)
	}
}

func generated(t *testing.T) (list []string) {
	t.Helper()
	for _, name := range [...]string{filepath.Join("..", "hw", "fitted_gen.go"), filepath.Join("..", "hw", "host", "fitted_gen.go")} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(b))
	}
	return list
}

// The residuals are those of today's timing code, rows and constants.
func TestResidualsAreCurrent(t *testing.T) {
	for _, b := range bases(t, generated(t)...) {
		_, rest, ok := strings.Cut(residuals, "\n# "+b.name+" ")
		stored, _, _ := strings.Cut(rest, "\n")
		if !ok || stored != b.digest {
			t.Errorf("bench/residuals.txt is stale: since it was written (%q) there is a change in %s (%q now).\n"+
				"The accuracy and intervals that commands and pages state belong to other code. Fit again:\n%s", stored, b.what, b.digest, refit)
		}
	}
}

// The intervals that a descriptor has are those that the residuals make.
func TestIntervalsAreCurrent(t *testing.T) {
	bands, err := EngineBands()
	if err != nil {
		t.Fatal(err)
	}
	left, err := LeftOuts()
	if err != nil {
		t.Fatal(err)
	}
	p := DefaultPresets()
	if text := chipConstants(t, &p, publishedRows(t), left); !strings.Contains(generated(t)[0], formatted(t, text)) {
		t.Errorf("hw/fitted_gen.go is not what the residuals and the constants make:\n%s\nFit again:\n%s", text, refit)
	}
	for _, b := range bands {
		if last := bands[len(bands)-1]; b.Kind != last.Kind && (b.Low <= last.Low || b.High >= last.High) {
			t.Errorf("%s: %.3f to %.3f; work that no row covers has %.3f to %.3f, which is not wider", b.Kind, b.Low, b.High, last.Low, last.High)
		}
	}
}

func formatted(t *testing.T, text string) string {
	t.Helper()
	b, err := format.Source([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A fold names the rows that a fit leaves out.
type fold struct {
	by   Protocol
	name string
}

func (f fold) String() string { return f.by.String() + " " + f.name }

// Fits without a fold make of its rows what the residuals say. A run refits one fold, told
// by the bytes of the test binary: another one after each change, and the same one again
// until the next. LONG=1 refits all, and the constants.
func TestFolds(t *testing.T) {
	samples := builtin(t)
	left, err := LeftOuts()
	if err != nil {
		t.Fatal(err)
	}
	var folds []fold
	for by := range Protocol(numProtocols) {
		for i := range samples {
			if f := (fold{by, by.fold(&samples[i])}); !slices.Contains(folds, f) {
				folds = append(folds, f)
			}
		}
	}
	switch {
	case *foldName != "":
		folds = slices.DeleteFunc(folds, func(f fold) bool { return f.String() != *foldName })
		if len(folds) == 0 {
			t.Fatalf("no fold is %q", *foldName)
		}
	case os.Getenv("LONG") == "":
		folds = folds[turn(t, len(folds)):][:1]
	}
	for _, f := range folds {
		g := Fit{Presets: StudyPresets()}
		list, err := g.without(samples, f.by, f.name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range list {
			id := list[i].Sample.Row.ID
			stored := left[id][f.by]
			off := func(a, b float64) bool { return math.Abs(b-a) > 1e-4*a }
			if now := (Prediction{list[i].Time.Model, list[i].Engine, list[i].Energy.Model}); off(stored.Time, now.Time) || off(stored.Engine, now.Engine) || off(stored.Energy, now.Energy) {
				t.Errorf("%s with the %v left out: residuals.txt has %+v, a fit of today %+v (-fold %q). Fit again:\n%s", id, f, stored, now, f, refit)
				break
			}
		}
	}
	t.Logf("refitted %v", folds)
	if os.Getenv("LONG") == "" {
		return
	}
	g := Fit{Presets: StudyPresets()}
	if err := g.Calibrate(samples); err != nil {
		t.Fatal(err)
	}
	for i, text := range [...]string{chipConstants(t, &g.Presets, publishedRows(t), left), hostConstants(&g.Presets)} {
		if !strings.Contains(generated(t)[i], formatted(t, text)) {
			t.Errorf("a fit of today has other constants. Fit again:\n%s\n%s", refit, text)
		}
	}
}

// turn returns a number below n that depends on the test binary.
func turn(t *testing.T, n int) int {
	t.Helper()
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h := crc32.NewIEEE()
	if _, err := io.Copy(h, f); err != nil {
		t.Fatal(err)
	}
	return int(h.Sum32() % uint32(n))
}
