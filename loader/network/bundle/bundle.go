package bundle

import (
	"bytes"
	bin "encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"anesim/loader"
	"anesim/loader/internal/lower/join"
	"anesim/loader/network/list"
	"anesim/loader/network/partition"
)

// A bundleTable lists the results of [partition.Lower]. A bundle is the length of this table,
// the table in JSON, and the containers of the programs.
type bundleTable struct {
	Reasons  []string
	Programs []programEntry
}

// A programEntry describes a program in the table. Container is the size of its container. A
// program that is only timed has no container and is stored in Timed.
type programEntry struct {
	First     int
	Runs      []join.Run
	Why       string
	L2        []int
	Spilled   []join.Spill
	Into      []int
	Container int
	Timed     *loader.Program `json:",omitempty"`
}

// Encode returns a bundle: the lowered network n as bytes that [Decode] reads. programs and reasons
// are the results of [partition.Lower] for n. reasons[i] says why no program computes layer i, or
// is empty.
func Encode(n *list.Network, programs []partition.Program, reasons []string) ([]byte, error) {
	b := bundleTable{Reasons: reasons, Programs: []programEntry{}}
	var containers [][]byte
	for i := range programs {
		p := &programs[i]
		x := programEntry{p.First, p.Runs, p.Why, p.L2, p.Spilled, p.Into, 0, nil}
		if p.Container != nil {
			file := p.Bytes()
			x.Container = len(file)
			containers = append(containers, file)
		} else {
			x.Timed = p.Program
		}
		b.Programs = append(b.Programs, x)
	}
	table, err := json.Marshal(&b)
	if err != nil {
		return nil, err
	}
	out := append(bin.LittleEndian.AppendUint64(nil, uint64(len(table))), table...)
	for _, file := range containers {
		out = append(out, file...)
	}
	return out, nil
}

// An Error reports that bytes are not a valid bundle, or that the programs in a bundle belong to
// another network.
type Error struct {
	Off  int    // byte offset in the bundle
	What string // what is wrong
	Err  error  // error in reading a program or field, or nil
}

func (e *Error) Error() string { return fmt.Sprintf("bundle byte %#x: %s", e.Off, e.What) }

// Unwrap returns the error from reading a program or a field of the bundle, or nil if there is
// none.
func (e *Error) Unwrap() error { return e.Err }

const headBytes = 8 // size of the table's length

func newError(off int, err error, format string, args ...any) *Error {
	return &Error{off, fmt.Sprintf(format, args...), err}
}

// Decode decodes data, a bundle that [Encode] made for the same network n. Its results are the
// programs and, for each layer of n, the reason why no program computes it, or "". Like
// [partition.Lower], Decode adds the name of each fused layer to the Folded list of the layer that
// computes it. The error is an *[Error].
func Decode(n *list.Network, data []byte) ([]partition.Program, []string, error) {
	b, at, err := readTable(data)
	if err != nil {
		return nil, nil, err
	}
	if len(b.Reasons) != len(n.Layers) {
		return nil, nil, newError(headBytes, nil, "table describes %d layers, but the network has %d", len(b.Reasons), len(n.Layers))
	}
	next := 0
	var programs []partition.Program
	for i := range b.Programs {
		x := &b.Programs[i]
		if err := x.checkLayers(i, next, len(n.Layers)); err != nil {
			return nil, nil, err
		}
		next = x.First + len(x.Runs)
		p, err := x.readProgram(i, data, at)
		if err != nil {
			return nil, nil, err
		}
		p.Name = partition.ProgramName(n) // which may differ between equal networks
		at += x.Container
		if err := x.checkDescriptors(i, p, at); err != nil {
			return nil, nil, err
		}
		programs = append(programs, partition.Program{Program: p, First: x.First, Runs: x.Runs, Why: x.Why, L2: x.L2, Spilled: x.Spilled, Into: x.Into})
	}
	if at != len(data) {
		return nil, nil, newError(at, nil, "unexpected %d bytes after the last program", len(data)-at)
	}
	// Only now that everything is valid: the network must not change if an error is returned.
	for i := range programs {
		partition.RecordFolded(n, &programs[i])
	}
	return programs, b.Reasons, nil
}

// readTable decodes the table at the start of a bundle. end is the offset of the first container
// after it.
func readTable(data []byte) (b bundleTable, end int, err error) {
	if len(data) < headBytes {
		return b, 0, newError(0, nil, "bundle has %d bytes; want at least %d", len(data), headBytes)
	}
	size := bin.LittleEndian.Uint64(data)
	if size > uint64(len(data)-headBytes) {
		return b, 0, newError(0, nil, "table needs %d bytes, but only %d are left", size, len(data)-headBytes)
	}
	end = headBytes + int(size)
	if err := json.Unmarshal(data[headBytes:end], &b); err != nil {
		return b, 0, newError(headBytes, err, "invalid table: %v", err)
	}
	return b, end, nil
}

// checkLayers returns an error unless program i computes at least one layer, and only layers from
// next to layers-1.
func (x *programEntry) checkLayers(i, next, layers int) error {
	if x.First < next || len(x.Runs) == 0 || len(x.Runs) > layers-x.First {
		return newError(headBytes, nil, "program %d: invalid range of %d layers from layer %d; want at least one of layers %d to %d", i, len(x.Runs), x.First, next, layers-1)
	}
	if len(x.Into) != 0 && len(x.Into) != len(x.Runs) {
		return newError(headBytes, nil, "program %d: field \"Into\" has %d entries; want 0 or %d, one per layer", i, len(x.Into), len(x.Runs))
	}
	if slices.ContainsFunc(x.Into, func(by int) bool { return by < 0 || by >= len(x.Runs) }) {
		return newError(headBytes, nil, "program %d: field \"Into\" refers to a layer outside the program", i)
	}
	return nil
}

// readProgram returns program i. It decodes the container at the given offset of data, or returns
// the program in the table if it is only timed.
func (x *programEntry) readProgram(i int, data []byte, offset int) (*loader.Program, error) {
	p := x.Timed
	switch {
	case p == nil && x.Container == 0:
		return nil, newError(headBytes, nil, "program %d has neither a container nor timing data", i)
	case p != nil && x.Container != 0:
		return nil, newError(headBytes, nil, "program %d has both a container and timing data; want only one of them", i)
	case x.Container < 0 || x.Container > len(data)-offset:
		return nil, newError(offset, nil, "program %d: container needs %d bytes, but %d are left", i, x.Container, len(data)-offset)
	case p == nil:
		file := data[offset : offset+x.Container]
		var err error
		if p, err = loader.Read("", bytes.NewReader(file), int64(len(file))); err != nil {
			return nil, newError(offset, err, "program %d: %v", i, err)
		}
	}
	return p, nil
}

// checkDescriptors returns an error unless program i, which ends at offset end, has the
// descriptors that the table states and can be linked.
func (x *programEntry) checkDescriptors(i int, p *loader.Program, end int) error {
	if p.TaskCount <= 0 {
		return newError(end, nil, "program %d has no descriptors", i)
	}
	for _, r := range x.Runs {
		if r.First < 0 || r.Tasks < 0 || r.First > p.TaskCount-r.Tasks {
			return newError(headBytes, nil, "program %d: descriptors %d to %d are out of range; want 0 to %d", i, r.First, r.First+r.Tasks-1, p.TaskCount-1)
		}
	}
	if len(x.L2) > 0 && len(x.L2) != p.TaskCount {
		return newError(headBytes, nil, "program %d: table lists L2 use of %d descriptors, but the program has %d", i, len(x.L2), p.TaskCount)
	}
	if _, err := p.Link(); err != nil {
		return newError(end, err, "program %d: %v", i, err)
	}
	return nil
}
