package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/x448/float16"

	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/evidence"
	"anesim/loader"
)

// A Tensor is the values of a port, in N, C, H, W order.
type Tensor struct {
	Port *loader.Port
	Data []float16.Float16
}

// A Result is what the dispatches of a call did.
type Result struct {
	Program    *loader.Program
	Report     *hw.Report        // of all dispatches
	Dispatches []Dispatch        // those that began and are listed, with their parts of the report
	Again      int               // further dispatches, each like the last of Dispatches
	Host       clock.Nanoseconds // what the host adds to each
	Inputs     []Tensor          // those that the call wrote
	Outputs    []Tensor          // nil unless every value was computed
	Synthetic  []string          // inputs that nobody gave
	Limits     []evidence.Limit  // of the program's ports; the report has those of descriptors
}

// A Dispatch is one dispatch of a program, with the idle gap before it.
type Dispatch struct {
	Idle        clock.Nanoseconds     // since the dispatch before it
	Waiting     clock.Nanoseconds     // of Idle, with the rails on
	Wake        clock.Nanoseconds     // what the gap made it wait
	Energy      clock.Nanojoules      // its own, whatever it does
	Descriptors []hw.DescriptorReport // what it ran, up to a fault
	Rest        hw.Rest               // what it ran behind those; see Options.Brief
	Outputs     []Tensor              // of a program with state, where values are computed
}

// Checksum returns the CRC-32 (IEEE) of fp16 values, little-endian, as eight hexadecimal
// digits.
func Checksum(data []float16.Float16) string {
	var b [8 << 10]byte
	sum := uint32(0)
	for len(data) > 0 {
		n := min(len(data), len(b)/2)
		for i, h := range data[:n] {
			binary.LittleEndian.PutUint16(b[2*i:], uint16(h))
		}
		sum, data = crc32.Update(sum, crc32.IEEETable, b[:2*n]), data[n:]
	}
	return fmt.Sprintf("%08x", sum)
}

// A Source makes the programs of a model that an engine loads.
type Source interface {
	// Name returns the model's name, for messages.
	Name() string
	// Procedures returns the program of each procedure, for an engine with options o. A model
	// other than a container has one.
	Procedures(ctx context.Context, o *Options) ([]*loader.Program, error)
}
