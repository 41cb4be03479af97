package probe

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"anesim/internal/spelling"
)

// MaxBytes limits the size of a file of results. The files of this probe have less than a quarter of
// it.
const MaxBytes = 4 << 20

// Results holds the file that the script writes.
type Results struct {
	Probe   string            `json:"probe"`   // [Files] gives it to the script
	Machine string            `json:"machine"` // model identifier, such as "Mac14,2"
	System  string            `json:"system"`  // version of the operating system
	Devices map[string]string `json:"devices"` // "cpu", "gpu" or "neuralEngine" by output; empty if Core ML did not say
	Outputs map[string]Tensor `json:"outputs"`
}

// A Tensor holds an output of the probe's model. Bits has four hexadecimal digits for each fp16 value.
type Tensor struct {
	Shape []int  `json:"shape"`
	Bits  string `json:"bits"`

	values []half
}

// A ResultsError reports that a file of results is malformed or belongs to another probe. Place is a
// byte offset, or the name of the wrong value in the file.
type ResultsError struct{ Place, What string }

func (e *ResultsError) Error() string { return e.Place + ": " + e.What }

// ReadResults reads the content of a file that the script wrote. The error is a *[ResultsError].
func ReadResults(data []byte) (*Results, error) {
	if len(data) > MaxBytes {
		return nil, &ResultsError{"file", fmt.Sprintf("%d bytes; want at most %d", len(data), MaxBytes)}
	}
	d := json.NewDecoder(bytes.NewReader(data))
	r := &Results{}
	if err := d.Decode(r); err != nil {
		return nil, newSyntaxError(err, int64(len(data)))
	}
	// Two results one after the other would otherwise pass as the first alone.
	if d.More() {
		return nil, &ResultsError{fmt.Sprintf("byte %d", d.InputOffset()), "data after the results"}
	}
	m := theModel()
	// Results of another probe have the same names and other inputs, so nothing else may be compared.
	if want := identity(); r.Probe != want {
		return nil, &ResultsError{"probe", fmt.Sprintf("%s; want %q, the probe of this version of anesim", quoteStart(r.Probe), want)}
	}
	var names []string
	for _, q := range m.questions {
		names = append(names, q.name)
		// A missing output is a verdict about its rules, not an error of the file: Core ML may refuse one.
		x, ok := r.Outputs[q.name]
		if !ok {
			continue
		}
		place := "outputs." + q.name
		if !slices.Equal(x.Shape, q.shape) {
			return nil, &ResultsError{place + ".shape", fmt.Sprintf("%d dimensions, first %v; want %v", len(x.Shape), x.Shape[:min(len(x.Shape), 8)], q.shape)}
		}
		if n := 4 * q.countElements(); len(x.Bits) != n {
			return nil, &ResultsError{place + ".bits", fmt.Sprintf("%d digits; want %d, four for each value", len(x.Bits), n)}
		}
		values, err := hex.DecodeString(x.Bits)
		if err != nil {
			return nil, &ResultsError{fmt.Sprintf("%s.bits at digit %d", place, 2*len(values)), "want hexadecimal digits"}
		}
		for i := 0; i < len(values); i += 2 {
			x.values = append(x.values, half(values[i])<<8|half(values[i+1]))
		}
		r.Outputs[q.name] = x
	}
	for _, name := range sortedKeys(r.Outputs) {
		if !slices.Contains(names, name) {
			return nil, &ResultsError{"outputs", fmt.Sprintf("unknown output %s%s", quoteStart(name), spelling.Suggest(name, names))}
		}
	}
	for _, name := range sortedKeys(r.Devices) {
		if device := r.Devices[name]; !slices.Contains([]string{"cpu", "gpu", engineDevice}, device) {
			return nil, &ResultsError{"devices", fmt.Sprintf("%s of %s; want cpu, gpu or %s", quoteStart(device), quoteStart(name), engineDevice)}
		}
	}
	return r, nil
}

// engineDevice names the device of a layer that ran on the engine.
const engineDevice = "neuralEngine"

// newSyntaxError returns an error of the JSON decoder with its place. at is the end of the file, which
// is the place of an error without one.
func newSyntaxError(err error, at int64) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &kind):
		return &ResultsError{fmt.Sprintf("byte %d", kind.Offset), fmt.Sprintf("found %s in %s, want the results of the probe", quoteStart(kind.Value), quoteStart(kind.Field))}
	}
	return &ResultsError{fmt.Sprintf("byte %d", at), fmt.Sprintf("not results of the probe: %v", err)}
}

// quoteStart returns the start of s in quotes.
func quoteStart(s string) string {
	const most = 40
	if len(s) > most {
		return fmt.Sprintf("%q...", s[:most])
	}
	return strconv.Quote(s)
}
