package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"strings"
	"testing"

	gonum "gonum.org/v1/plot"

	"anesim"
	"anesim/tools/anesim/internal/report"
)

func sample() *report.Report {
	return &report.Report{
		Name: "net", Chip: "m1", Host: "none", Of: "layer", Tool: anesim.Tool{Constants: "c0ffee"}, Peak: anesim.Rates{TFLOPS: 11.7, GBPerS: 68},
		Items: []report.Item{
			{Name: "one", Time: 1000, Low: 800, High: 1300, MACs: 4e6, Bytes: 20000, Parts: anesim.EnergyDocument{MAC: 8000, Active: 900}},
			{Name: "two", Time: 500, Parts: anesim.EnergyDocument{L2: 100}},
		},
		Power: []anesim.SpanDocument{{AtNs: 0, ForNs: 1000, Watts: 9}, {AtNs: 1000, ForNs: 500, Watts: 2}},
	}
}

func texts(t *testing.T, svg []byte) string {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	var b strings.Builder
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := token.(xml.CharData); ok {
			b.Write(c)
		}
	}
}

// Pictures are well-formed, the same each time, and say their units, chip and evidence.
func TestPictures(t *testing.T) {
	for _, x := range []struct {
		name string
		draw func(*report.Report) (*gonum.Plot, error)
		says []string
	}{
		{"roofline", Roofline, []string{"TFLOP/s", "68 GB/s", "TotalRate measured", "PatchPixels inferred"}},
		{"timeline", Timeline, []string{"power, W", "wall time, us", "ActivePower fitted"}},
		{"energy", Energy, []string{"energy, uJ", "multiply-accumulates", "L2Energy assumed", "two"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			encode := func(form string) []byte {
				p, err := x.draw(sample())
				if err != nil {
					t.Fatal(err)
				}
				b, err := Encode(p, form)
				if err != nil {
					t.Fatal(err)
				}
				return b
			}
			svg := encode("svg")
			text := texts(t, svg)
			for _, want := range append(x.says, "net", "chip m1", "constants c0ffee") {
				if !strings.Contains(text, want) {
					t.Errorf("the picture does not say %q", want)
				}
			}
			if !bytes.Equal(svg, encode("svg")) {
				t.Error("a report is two pictures")
			}
			if _, err := png.Decode(bytes.NewReader(encode("png"))); err != nil {
				t.Error(err)
			}
			if _, err := x.draw(&report.Report{Of: "layer"}); !errors.Is(err, ErrNothing) {
				t.Errorf("a picture of nothing: %v", err)
			}
		})
	}
	if _, err := Encode(gonum.New(), "gif"); err == nil {
		t.Error("a form that does not exist is encoded")
	}
}
