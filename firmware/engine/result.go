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
	"anesim/hw/execycles"
	"anesim/loader"
)

// A Tensor holds the values of a port, in N, C, H, W order.
type Tensor struct {
	Port *loader.Port
	Data []float16.Float16
}

// A Result holds the outcome of one call: its outputs, costs, limits and dispatches.
type Result struct {
	Program    *loader.Program
	Target     execycles.Target  // whose rules give Apple's estimates
	Report     *hw.Report        // covers all dispatches
	Dispatches []Dispatch        // dispatches that began, except those not listed, each with its part of the report
	Again      int               // further dispatches, each like the last of Dispatches
	Host       clock.Nanoseconds // time that the host adds to each dispatch
	Inputs     []Tensor          // inputs that the call wrote
	Outputs    []Tensor          // nil unless every value was computed
	Synthetic  []string          // names of the inputs that were made up
	Limits     []evidence.Limit  // limits of the program's ports; the report has those of descriptors
}

// A Dispatch is one execution of a program's chain of descriptors, with the idle gap before
// it.
type Dispatch struct {
	Idle        clock.Nanoseconds     // time since the previous dispatch
	Waiting     clock.Nanoseconds     // part of Idle with the rails on
	Wake        clock.Nanoseconds     // waiting time caused by the gap
	Energy      clock.Nanojoules      // energy of the dispatch itself, independent of its tasks
	Descriptors []hw.DescriptorReport // executed descriptors, up to a fault
	Rest        hw.Rest               // sums of further descriptors; see Options.Brief
	Outputs     []Tensor              // set for a program with state if values are computed
}

// Engines returns the largest number of MAC engines that a descriptor of the dispatch uses.
func (d *Dispatch) Engines() int { return max(hw.Engines(d.Descriptors), d.Rest.Engines) }

// Checksum returns the CRC-32 checksum (IEEE polynomial) of the little-endian bytes of
// data, as eight hexadecimal digits.
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

// A Source is a model that can be compiled to programs for an engine.
type Source interface {
	// Name returns the name of the model, for messages.
	Name() string
	// Procedures returns one program for each procedure of the model, compiled for an
	// engine with options o. Only containers have several procedures.
	Procedures(ctx context.Context, o *Options) ([]*loader.Program, error)
}
