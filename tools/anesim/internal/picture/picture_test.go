package picture

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"anesim"
	"anesim/hw/clock"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/view"
)

func sample() *view.Report {
	return &view.Report{
		Name: "net <1>", Kind: "network", Chip: "m1", Host: "linux", Of: "layer", Tool: anesim.Tool{Constants: "c0ffee"}, Peak: report.Rates{TFLOPS: 11.7, GBPerS: 68},
		Items: []view.Item{
			{Name: "one", Op: "conv", Time: 1000, Low: 800, High: 1300, MACs: 4e6, Bytes: 20000, Energy: 8900, Parts: report.Energy{MAC: 8000, Active: 900}},
			{Name: "two", Op: "add", Time: 500, Energy: 100, Parts: report.Energy{L2: 100}},
		},
		Energy: report.Energy{MAC: 8000, Active: 900, L2: 100},
		Power:  []report.Span{{AtNs: 0, ForNs: 1000, Watts: 9}, {AtNs: 1000, ForNs: 500, Watts: 2}},
		Points: []view.Point{
			{Name: "a1", Group: "mine", Measured: 100, Model: 110, Low: 90, High: 130},
			{Name: "a2", Group: "other", Measured: 20, Model: 10, Low: 5, High: 30},
		},
	}
}

// texts returns the text of an SVG file and the number of elements by name. It fails the test if
// the SVG is not well formed.
func texts(t *testing.T, svg []byte) (text string, elements map[string]int) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	var b strings.Builder
	elements = map[string]int{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return b.String(), elements
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.CharData:
			b.Write(x)
			b.WriteByte('\n')
		case xml.StartElement:
			elements[x.Name.Local]++
		}
	}
}

// A file is well-formed, the same each time, needs no variable, and says what the picture
// shows, its units, its chip and the evidence for its constants.
func TestFile(t *testing.T) {
	front := Front{X: "time, ns", Y: "area", Of: 30, All: [][2]float64{{1, 9}, {2, 5}, {3, 6}}, Best: [][2]float64{{1, 9}, {2, 5}}}
	for _, x := range []struct {
		name  string
		draw  func(*view.Report) *Picture
		says  []string
		shape string
		n     int // of these shapes
	}{
		{"roofline", Roofline, []string{"TFLOP/s", "memory 68 GB/s", "TotalRate measured", "PatchPixels inferred"}, "circle", 1},
		{"timeline", Timeline, []string{"power, W", "wall time, us", "ActivePower fitted"}, "path", 1},
		{"energy", Energy, []string{"one conv: ", "multiply-accumulates", "L2Energy assumed"}, "g", 2},
		{"times", func(r *view.Report) *Picture { return Times(r.Points) }, []string{"mine", "other", "measured", "100 us"}, "circle", 2},
		{"errors", func(r *view.Report) *Picture { return Errors(r.Points) }, []string{"mine", "error, %", "-40", "error +10.0%"}, "circle", 2},
		{"front", func(*view.Report) *Picture { return front.Draw() }, []string{"time, ns", "area", "2 of 30 designs (3 of them shown)", "on the front"}, "circle", 5},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := sample()
			p := x.draw(r)
			svg := p.File(p.Caption(r)...)
			text, elements := texts(t, svg)
			for _, want := range append(x.says, "net <1>: ", "chip m1, host linux, constants c0ffee") {
				if !strings.Contains(text, want) {
					t.Errorf("the picture does not say %q", want)
				}
			}
			if n := elements[x.shape]; n != x.n {
				t.Errorf("%d elements %s, want %d", n, x.shape, x.n)
			}
			if m := regexp.MustCompile(`var\(|NaN|Inf`).Find(svg); m != nil {
				t.Errorf("the picture has %s", m)
			}
			if again := x.draw(sample()); !bytes.Equal(svg, again.File(again.Caption(r)...)) {
				t.Error("a report gives two pictures")
			}
		})
	}
}

func TestNothingToDraw(t *testing.T) {
	r := &view.Report{Of: "layer"}
	if Roofline(r) != nil || Timeline(r) != nil || Energy(r) != nil || Times(nil) != nil || Errors(nil) != nil || new(Front).Draw() != nil {
		t.Error("a report of nothing has a picture")
	}
}

// Goals whose values are far apart have a logarithmic axis; one value has room around it.
func TestFrontScales(t *testing.T) {
	for _, x := range []struct {
		all  [][2]float64
		log  bool
		low  float64
		high float64
	}{
		{[][2]float64{{10, 0}, {20, 0}}, false, 9.5, 20.5},
		{[][2]float64{{10, 0}, {300, 0}}, true, 10, 1000},
		{[][2]float64{{0, 0}, {300, 0}}, false, -15, 315},
		{[][2]float64{{40, 0}}, false, 38, 42},
	} {
		f := Front{All: x.all, Best: x.all}
		if s := f.newGoalScale(0, 0, 1); s.log != x.log || s.low != x.low || s.high != x.high {
			t.Errorf("%v: from %v to %v, logarithmic %v; want %v to %v, %v", x.all, s.low, s.high, s.log, x.low, x.high, x.log)
		}
	}
}

// Averaging power keeps the energy.
func TestAveraged(t *testing.T) {
	var spans []report.Span
	at, energy := clock.Nanoseconds(0), clock.Nanojoules(0)
	for i := range 10_000 {
		s := report.Span{AtNs: at, ForNs: clock.Nanoseconds(50 + i%7), Watts: float64(1 + i%3)}
		at, energy = at+s.ForNs, energy+clock.Nanojoules(s.Watts*float64(s.ForNs))
		spans = append(spans, s)
	}
	sum := clock.Nanojoules(0)
	means, _ := averageSpans(spans, nil, 0, at, 480)
	for _, s := range means {
		sum += s.EnergyNJ
	}
	if math.Abs(float64(sum/energy)-1) > 1e-9 {
		t.Errorf("averaged power has %v, want %v", sum, energy)
	}
}

// A load with more bins than the curve has steps still shows how busy the engine is: half busy in each
// of the averaged parts, which begin at other times than the bins.
func TestBusyOfManyBins(t *testing.T) {
	r := &view.Report{Kind: "load"}
	for i := range maxSteps*3/2 + 1 {
		r.Power = append(r.Power, report.Span{AtNs: clock.Nanoseconds(10 * i), ForNs: 10, Watts: 1})
		r.Busy = append(r.Busy, 0.5)
	}
	path := regexp.MustCompile(`<path id="track-busy"[^>]* d="([^"]*)"`).FindSubmatch(Timeline(r).File())
	if path == nil {
		t.Fatal("the picture has no track for the load")
	}
	// The highest value is at 1/1.06 of the height, and the path ends at the bottom.
	levels := regexp.MustCompile(`V([0-9.]+)`).FindAllSubmatch(path[1], -1)
	for _, v := range levels[:len(levels)-1] {
		if y, err := strconv.ParseFloat(string(v[1]), 64); err != nil || math.Abs(y-(1-1/1.06)*unitsDown) > 0.5 {
			t.Fatalf("a load of one half throughout has a value at %s of %d", v[1], unitsDown)
		}
	}
	if len(levels) < 2 {
		t.Error("the track of the load is empty")
	}
}

// A treemap's areas are its energies: they fill the picture, and each item has its share.
func TestTreemapAreas(t *testing.T) {
	r := &view.Report{Kind: "network", Of: "layer"}
	sum := clock.Nanojoules(0)
	for i := range 200 {
		e := clock.Nanojoules(1000 / (i + 1))
		sum += e
		r.Items = append(r.Items, view.Item{Name: "layer" + strconv.Itoa(i), Energy: e, Parts: report.Energy{MAC: e / 2, Active: e - e/2}})
	}
	p := Energy(r)
	if len(p.Legend) != 0 {
		t.Errorf("a whole without energy has a legend %v", p.Legend)
	}
	areas, leaves, all := map[string]float64{}, 0, 0.0
	for _, g := range strings.Split(string(p.SVG), "<g>")[1:] {
		title := regexp.MustCompile(`<title>(\S+)`).FindStringSubmatch(g)[1]
		m := regexp.MustCompile(`width="([0-9.]+)" height="([0-9.]+)" class="leaf"`).FindStringSubmatch(g)
		w, _ := strconv.ParseFloat(m[1], 64)
		h, _ := strconv.ParseFloat(m[2], 64)
		areas[title], all = w*h, all+w*h
		leaves++
	}
	const whole = 960 * 380
	if leaves != maxLeaves+1 || math.Abs(all/whole-1) > 0.01 {
		t.Errorf("%d leaves with %.4f of the picture", leaves, all/whole)
	}
	if got, want := areas["layer0"]/whole, float64(1000/sum); math.Abs(got/want-1) > 0.01 {
		t.Errorf("the largest has %.4f of the area, and %.4f of the energy", got, want)
	}
}
