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

// A PortError reports a port whose values cannot be written or read.
type PortError struct {
	Port *loader.Port
	What string
	Err  error
}

func (e *PortError) Error() string {
	return fmt.Sprintf("port %q at address %#x: %s", e.Port.Name, e.Port.Address, e.What)
}

// Unwrap returns the cause of the error, e.Err, which may be nil.
func (e *PortError) Unwrap() error { return e.Err }

// Elements returns the number of elements of port p, which is the product of its extents.
func Elements(p *loader.Port) int {
	n := 1
	for _, d := range p.Shape {
		n *= d
	}
	return n
}

// listPortLimits returns an [evidence.Limit] for each port with 8-bit elements, which says that the
// model computes values only for fp16 ports.
func listPortLimits(p *loader.Program) (list []evidence.Limit) {
	for i := range p.Ports {
		if q := &p.Ports[i]; q.Shape[3] > 1 && q.Strides[3] == 1 {
			list = append(list, evidence.Limit{Kind: evidence.NotModelled, What: "8-bit elements: values are computed for fp16 elements only", Where: "port " + q.Name})
		}
	}
	return list
}

// MaxMadeUp is the largest total number of elements for which a call generates input
// values. If the inputs without values have more, the call computes no values.
const MaxMadeUp = 1 << 28

// maxWritten is the largest number of bytes of memory that the tensors of a call with
// values may occupy. A call takes up to two bytes for each, and a process should stay below 2 GB.
const maxWritten = 7 << 27

// eightBitValues divides maxWritten for a program with 8-bit elements: each byte of its tensors
// takes up to three more, one in the contents of a port and two as a value of the tensor.
const eightBitValues = 3

// countElementsUpTo returns the number of elements of port p, but at most limit.
func countElementsUpTo(p *loader.Port, limit int) int {
	n := 1
	for _, d := range p.Shape {
		if d > limit/max(1, n) {
			return limit
		}
		n *= d
	}
	return n
}

// portSpanBytes returns the distance in bytes from the port's address to the end of its last
// element.
func portSpanBytes(p *loader.Port) uint64 {
	n := uint64(2)
	for i, d := range p.Shape {
		if d == 0 {
			return 0
		}
		n += uint64(d-1) * p.Strides[i]
	}
	return n
}

// hasDenseElements reports whether the elements of port p are adjacent in memory, in N, C, H, W
// order.
func hasDenseElements(p *loader.Port) bool {
	step := uint64(2)
	for i := len(p.Shape) - 1; i >= 0; i-- {
		if p.Shape[i] > 1 && p.Strides[i] != step {
			return false
		}
		step *= uint64(p.Shape[i])
	}
	return true
}

// checkPort returns a *[PortError] unless port p can be accessed: the elements of a row must be two
// bytes apart, the port must fit in its window, and the window must be in memory.
func checkPort(mem *dma.Memory, p *loader.Port) error {
	if p.Shape[3] > 1 && p.Strides[3] != 2 {
		return &PortError{p, fmt.Sprintf("stride of the last dimension is %d bytes; want 2 for fp16 elements", p.Strides[3]), nil}
	}
	room := p.Bytes / 2
	for _, d := range p.Shape {
		if d < 0 || uint64(d) > room {
			return &PortError{p, fmt.Sprintf("fp16 tensor of shape %v does not fit in the port's %#x bytes", p.Shape, p.Bytes), nil}
		}
		if d > 0 {
			room /= uint64(d)
		}
	}
	if err := mem.Check(p.Address, portSpanBytes(p)); err != nil {
		return &PortError{p, err.Error(), err}
	}
	return nil
}

// transferPort copies values between data, which has the order N, C, H, W, and the memory of port
// p. It copies from data to the memory if write is true, and from the memory to data otherwise.
func transferPort(mem *dma.Memory, p *loader.Port, data []float16.Float16, write bool) error {
	b, err := mem.Bytes(p.Address, portSpanBytes(p))
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

// PseudoRandom returns n fp16 values from -1 up to, but not including, 1. The values depend only on
// seed and name. For the values of an input, name is the name of the input.
func PseudoRandom(name string, n int, seed uint64) []float16.Float16 {
	hash := fnv.New64a()
	hash.Write([]byte(name))
	r := rand.New(rand.NewPCG(seed, hash.Sum64()))
	// With eleven bits, every value is exact in fp16.
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

// An InputError reports values for an input that the program does not have, or a wrong number of
// values.
type InputError struct {
	Name string
	What string
}

func (e *InputError) Error() string { return fmt.Sprintf("input %q: %s", e.Name, e.What) }

// CheckInput returns an *[InputError] unless the program has an input with the given name
// and n elements.
func CheckInput(p *loader.Program, name string, n int) error {
	port, ok := p.Port(name, loader.Input)
	if !ok {
		return &InputError{name, fmt.Sprintf("unknown input; the program has inputs %q", append([]string{}, portNames(p.Inputs())...))}
	}
	if want := Elements(port); want != n {
		return &InputError{name, fmt.Sprintf("data has %d elements; want %d for shape %v", n, want, port.Shape)}
	}
	return nil
}
