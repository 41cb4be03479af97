package checksums

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"anesim"
	"anesim/internal/vectors"
)

// TestModel computes the published checksums with the model.
func TestModel(t *testing.T) {
	published := cases(t)
	for _, r := range Rows() {
		want := published[r.Name]
		if r.Work > mostWork() || want.State != vectors.Exact {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			checkRow(t, r, want, model{})
		})
	}
}

// A model computes layers as programs of the modeled engine.
type model struct{}

func (model) Convolve(x *Tensor, weights []half, outputs, size int) (*Tensor, error) {
	m, err := newLayer("conv", x, fmt.Sprint("cin=", x.Channels), fmt.Sprint("cout=", outputs), fmt.Sprint("k=", size), fmt.Sprint("pad=", size/2))
	if err != nil {
		return nil, err
	}
	return run(m, outputs, map[string][]half{"x": x.Data, "weights": weights}, x)
}

func (model) ReLU(x *Tensor) (*Tensor, error) { return runOnChannels("relu", x) }

// GELU runs the program of the layer with the vendor's table in place of the model's, which is
// fitted to the function.
func (model) GELU(x *Tensor) (*Tensor, error) {
	m, err := newLayer("gelu", x, fmt.Sprint("c=", x.Channels))
	if err != nil {
		return nil, err
	}
	programs, err := m.Programs(context.Background(), anesim.Options{})
	if err != nil {
		return nil, err
	}
	file := programs[0].Bytes()
	if err := replaceTable(file); err != nil {
		return nil, err
	}
	if m, err = anesim.Read("gelu.hwx", bytes.NewReader(file), int64(len(file))); err != nil {
		return nil, err
	}
	return run(m, x.Channels, map[string][]half{"x": x.Data}, x)
}

// replaceTable replaces the only activation table in a program, which must be one for gelu, by the
// vendor's.
func replaceTable(file []byte) error {
	const halves, last, shift, mode = 64, 36, 41, 42      // of a table, and the places of the last knot, the step and the mode
	table := []half{0xc466, 0x7c00, 0, 0x7c00}            // clamps of inputs and outputs
	table = append(table, toHalves(geluKnots[:])...)      // from -4 to 4
	table = append(table, 0, 0, 0x3c00, 0, 2, 1)          // tails 0 and x; steps of 2^-2, from -16 steps
	table = append(table, make([]half, halves-mode-1)...) // unused
	size, found := 2*halves, -1
	at := func(i, k int) half { return half(binary.LittleEndian.Uint16(file[i+2*k:])) }
	for i := 0; i+size <= len(file); i += 64 { // tables are aligned
		if at(i, shift) == table[shift] && at(i, mode) == table[mode] && at(i, last) == table[last] {
			if found >= 0 {
				return fmt.Errorf("tables at bytes %d and %d; want one", found, i)
			}
			found = i
		}
	}
	if found < 0 {
		return errors.New("found no table for gelu")
	}
	for k, h := range table {
		binary.LittleEndian.PutUint16(file[found+2*k:], uint16(h))
	}
	return nil
}

func (model) Subtract(x, y *Tensor) (*Tensor, error) { return runOnPair("sub", x, y) }
func (model) Multiply(x, y *Tensor) (*Tensor, error) { return runOnPair("mul", x, y) }

func runOnChannels(op string, x *Tensor) (*Tensor, error) {
	return runOnInputs(op, x, map[string][]half{"x": x.Data})
}

func runOnPair(op string, x, y *Tensor) (*Tensor, error) {
	return runOnInputs(op, x, map[string][]half{"x": x.Data, "z": y.Data})
}

// runOnInputs computes a layer whose result has the shape of x.
func runOnInputs(op string, x *Tensor, inputs map[string][]half) (*Tensor, error) {
	m, err := newLayer(op, x, fmt.Sprint("c=", x.Channels))
	if err != nil {
		return nil, err
	}
	return run(m, x.Channels, inputs, x)
}

// newLayer returns a layer whose input has the height and width of x.
func newLayer(op string, x *Tensor, keys ...string) (*anesim.Model, error) {
	return anesim.Layer(op, append(keys, fmt.Sprint("h=", x.Height), fmt.Sprint("w=", x.Width))...)
}

// run computes one layer whose result has the given number of channels and the height and width
// of x.
func run(m *anesim.Model, channels int, inputs map[string][]half, x *Tensor) (*Tensor, error) {
	res, err := m.Run(context.Background(), anesim.Options{Values: true, Inputs: inputs})
	if err != nil {
		return nil, err
	}
	return &Tensor{channels, x.Height, x.Width, res.Outputs[0].Data}, nil
}
