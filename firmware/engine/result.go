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

// A Tensor holds the values of a port in N, C, H, W order.
type Tensor struct {
	Port *loader.Port
	Data []float16.Float16
}

// A Result is the result of a call.
type Result struct {
	Program    *loader.Program
	Report     *hw.Report        // covers all dispatches
	Dispatches []Dispatch        // listed dispatches that began, with their parts of the report
	Again      int               // further dispatches, each like the last of Dispatches
	Host       clock.Nanoseconds // time that the host adds to each dispatch
	Inputs     []Tensor          // inputs that the call wrote
	Outputs    []Tensor          // nil unless every value was computed
	Synthetic  []string          // names of the inputs that were made up
	Limits     []evidence.Limit  // limits of the program's ports; the report has those of descriptors
}

// A Dispatch is one dispatch of a program, with the idle gap before it.
type Dispatch struct {
	Idle        clock.Nanoseconds     // time since the previous dispatch
	Waiting     clock.Nanoseconds     // part of Idle with the rails on
	Wake        clock.Nanoseconds     // waiting time caused by the gap
	Energy      clock.Nanojoules      // energy of the dispatch itself, independent of its tasks
	Descriptors []hw.DescriptorReport // executed descriptors, up to a fault
	Rest        hw.Rest               // sums of further descriptors; see Options.Brief
	Outputs     []Tensor              // set for a program with state if values are computed
}

// Checksum returns the CRC-32 (IEEE) of little-endian fp16 values as eight hexadecimal
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

// A Source makes programs that an engine can load.
type Source interface {
	// Name returns the model's name, for messages.
	Name() string
	// Procedures returns the program of each procedure, for an engine with options o. A
	// model that is not a container has one.
	Procedures(ctx context.Context, o *Options) ([]*loader.Program, error)
}
