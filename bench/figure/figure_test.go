package figure

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"testing"

	"anesim/bench"
	"anesim/bench/measured"
)

func accuracy() *bench.Accuracy {
	a := new(bench.Accuracy)
	for i, session := range []string{"b", "a", "a", "none"} {
		us := float64(i) * 1e5 // the last but one of a thousand times the first; the first has none
		a.Rows = append(a.Rows, bench.Residual{
			Sample: &bench.Sample{Row: &measured.Row{}, Session: session}, Time: bench.Pair{Model: 1.1 * us, Reference: us},
		})
	}
	return a
}

// Figures are well-formed, name the sessions that have a time, and are the same each time.
func TestFigures(t *testing.T) {
	for name, draw := range map[string]func(*bench.Accuracy) ([]byte, error){"times": Times, "errors": Errors} {
		b, err := draw(accuracy())
		if err != nil {
			t.Fatal(err)
		}
		d := xml.NewDecoder(bytes.NewReader(b))
		texts := make(map[string]bool)
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if c, ok := token.(xml.CharData); ok {
				texts[string(bytes.TrimSpace(c))] = true
			}
		}
		if !texts["a"] || !texts["none"] || texts["b"] {
			t.Errorf("%s: texts %v", name, texts)
		}
		if again, err := draw(accuracy()); err != nil || !bytes.Equal(b, again) {
			t.Errorf("%s differ from one time to the next: %v", name, err)
		}
		if _, err := draw(new(bench.Accuracy)); !errors.Is(err, ErrNoRows) {
			t.Errorf("%s of nothing: %v", name, err)
		}
	}
}
