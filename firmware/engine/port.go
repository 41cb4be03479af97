package engine

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/x448/float16"

	"anesim/hw/dma"
	"anesim/hw/evidence"
	"anesim/loader"
)

// A PortError is a port that the model cannot fill or read.
type PortError struct {
	Port *loader.Port
	What string
	Err  error
}

func (e *PortError) Error() string {
	return fmt.Sprintf("port %q at address %#x: %s", e.Port.Name, e.Port.Address, e.What)
}

// Unwrap returns the cause.
func (e *PortError) Unwrap() error { return e.Err }

// Elements returns the number of elements of a port.
func Elements(p *loader.Port) int {
	n := 1
	for _, d := range p.Shape {
		n *= d
	}
	return n
}

// portLimits returns a limit for each port whose elements are not fp16: the model computes
// no values of them.
func portLimits(p *loader.Program) (list []evidence.Limit) {
	for i := range p.Ports {
		if q := &p.Ports[i]; q.Shape[3] > 1 && q.Strides[3] == 1 {
			list = append(list, evidence.Limit{Kind: evidence.NotModelled, What: "8-bit elements: values are computed of fp16 alone", Where: "port " + q.Name})
		}
	}
	return list
}

// MaxMadeUp bounds the elements that a call makes up for inputs that nobody gives.
const MaxMadeUp = 1 << 28

// size returns the number of elements of a port, at most limit.
func size(p *loader.Port, limit int) int {
	n := 1
	for _, d := range p.Shape {
		if d > limit/max(1, n) {
			return limit
		}
		n *= d
	}
	return n
}

// span returns the bytes from a port's address to the end of its last element.
func span(p *loader.Port) uint64 {
	n := uint64(2)
	for i, d := range p.Shape {
		if d == 0 {
			return 0
		}
		n += uint64(d-1) * p.Strides[i]
	}
	return n
}

// dense reports whether the elements of a port are stored without gaps, in N, C, H, W order.
func dense(p *loader.Port) bool {
	step := uint64(2)
	for i := len(p.Shape) - 1; i >= 0; i-- {
		if p.Shape[i] > 1 && p.Strides[i] != step {
			return false
		}
		step *= uint64(p.Shape[i])
	}
	return true
}

// checkPort checks that a port can be walked: its elements are two bytes apart and no more
// than its window has room for, and the window is in memory. The error is a *PortError.
func checkPort(mem *dma.Memory, p *loader.Port) error {
	if p.Shape[3] > 1 && p.Strides[3] != 2 {
		return &PortError{p, fmt.Sprintf("elements lie %d bytes apart, the model walks fp16 two bytes apart", p.Strides[3]), nil}
	}
	room := p.Bytes / 2
	for _, d := range p.Shape {
		if d < 0 || uint64(d) > room {
			return &PortError{p, fmt.Sprintf("shape %v does not fit its window of %#x bytes", p.Shape, p.Bytes), nil}
		}
		if d > 0 {
			room /= uint64(d)
		}
	}
	if err := mem.Check(p.Address, span(p)); err != nil {
		return &PortError{p, err.Error(), err}
	}
	return nil
}

// transfer copies data, in N, C, H, W order, to the port's window if write is set, and from
// the window to data otherwise.
func transfer(mem *dma.Memory, p *loader.Port, data []float16.Float16, write bool) error {
	b, err := mem.Bytes(p.Address, span(p))
	if err != nil {
		return &PortError{p, err.Error(), err}
	}
	width := p.Shape[3]
	for n := range p.Shape[0] {
		for c := range p.Shape[1] {
			for h := range p.Shape[2] {
				at := uint64(n)*p.Strides[0] + uint64(c)*p.Strides[1] + uint64(h)*p.Strides[2]
				v := b[at : at+2*uint64(width)]
				if write {
					for x, value := range data[:width] {
						binary.LittleEndian.PutUint16(v[2*x:], uint16(value))
					}
				} else {
					for x := range data[:width] {
						data[x] = float16.Float16(binary.LittleEndian.Uint16(v[2*x:]))
					}
				}
				data = data[width:]
			}
		}
	}
	return nil
}

// PseudoRandom returns n halves in [-1, 1), the same for the same name and seed on every
// machine.
func PseudoRandom(of string, n int, seed uint64) []float16.Float16 {
	name := fnv.New64a()
	name.Write([]byte(of))
	r := rand.New(rand.NewPCG(seed, name.Sum64()))
	// Eleven bits: every value is a half without rounding.
	var values [1 << 11]float16.Float16
	for i := range values {
		values[i] = float16.Fromfloat32(float32(i-1024) / 1024)
	}
	data := make([]float16.Float16, n)
	for i := range data {
		data[i] = values[r.Uint32()>>21]
	}
	return data
}

// truths makes each byte of pseudo-random values a truth value, by its value's sign and
// lowest bits.
func truths(data []float16.Float16) {
	for i, h := range data {
		data[i] = h>>15 | h>>5&1<<8
	}
}

// An InputError is an input that does not fit the model.
type InputError struct {
	Name string
	What string
}

func (e *InputError) Error() string { return fmt.Sprintf("input %q: %s", e.Name, e.What) }

// CheckInput makes sure that a program has an input of a name and of n elements. The error
// is an *InputError.
func CheckInput(p *loader.Program, name string, n int) error {
	port, ok := p.Port(name, loader.Input)
	if !ok {
		return &InputError{name, fmt.Sprintf("the program has no such input; it has %q", append([]string{}, portNames(p.Inputs())...))}
	}
	if want := Elements(port); want != n {
		return &InputError{name, fmt.Sprintf("%d elements, the port takes %d (%v)", n, want, port.Shape)}
	}
	return nil
}
