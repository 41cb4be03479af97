package bundle

import (
	"anesim/loader/lower/join"
	"bytes"
	bin "encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"anesim/loader"
	"anesim/loader/network/list"
	"anesim/loader/network/partition"
)

// The contents of a bundle are what [partition.Lower] gives, as bytes: a table in JSON behind its length, then
// the containers of the programs, one after the other.
type contents struct {
	Reasons  []string
	Programs []bundled
}

// A bundled program is in a container of so many bytes, or, of one that is only timed,
// stands here itself.
type bundled struct {
	Name      string
	First     int
	Runs      []join.Run
	Why       string
	L2        []int
	Spilled   []join.Spill
	Into      []int
	Container int
	Timed     *loader.Program `json:",omitempty"`
}

// Encode is the programs and reasons of a lowering as bytes.
func Encode(n *list.Network, programs []partition.Program, reasons []string) ([]byte, error) {
	b := contents{Reasons: reasons, Programs: []bundled{}}
	var containers [][]byte
	for i := range programs {
		p := &programs[i]
		x := bundled{p.Name, p.First, p.Runs, p.Why, p.L2, p.Spilled, p.Into, 0, nil}
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

// An Error is a bundle that cannot be read, or is not of the network.
type Error struct {
	Off  int // byte
	What string
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("bundle byte %#x: %s", e.Off, e.What) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

const headBytes = 8 // of the table's length

func fail(off int, err error, format string, args ...any) *Error {
	return &Error{off, fmt.Sprintf(format, args...), err}
}

// Decode is the programs and reasons that Encode was given, of this network;
// its layers note what others do for them, as after lowering. Errors are a *Error.
func Decode(n *list.Network, data []byte) ([]partition.Program, []string, error) {
	b, at, err := table(data)
	if err != nil {
		return nil, nil, err
	}
	if len(b.Reasons) != len(n.Layers) {
		return nil, nil, fail(headBytes, nil, "reasons of %d layers, the network has %d", len(b.Reasons), len(n.Layers))
	}
	next := 0
	var programs []partition.Program
	for i := range b.Programs {
		x := &b.Programs[i]
		if err := x.checkLayers(i, next, len(n.Layers)); err != nil {
			return nil, nil, err
		}
		next = x.First + len(x.Runs)
		p, err := x.program(i, data, at)
		if err != nil {
			return nil, nil, err
		}
		at += x.Container
		if err := x.checkDescriptors(i, p, at); err != nil {
			return nil, nil, err
		}
		programs = append(programs, partition.Program{Program: p, First: x.First, Runs: x.Runs, Why: x.Why, L2: x.L2, Spilled: x.Spilled, Into: x.Into})
	}
	if at != len(data) {
		return nil, nil, fail(at, nil, "%d bytes follow the programs", len(data)-at)
	}
	for i := range programs {
		partition.NoteFolded(n, &programs[i])
	}
	return programs, b.Reasons, nil
}

// table is a bundle's table, and the byte that follows it.
func table(data []byte) (b contents, end int, err error) {
	if len(data) < headBytes {
		return b, 0, fail(0, nil, "%d bytes, want %d or more", len(data), headBytes)
	}
	size := bin.LittleEndian.Uint64(data)
	if size > uint64(len(data)-headBytes) {
		return b, 0, fail(0, nil, "a table of %d bytes, %d follow", size, len(data)-headBytes)
	}
	end = headBytes + int(size)
	if err := json.Unmarshal(data[headBytes:end], &b); err != nil {
		return b, 0, fail(headBytes, err, "the table: %v", err)
	}
	return b, end, nil
}

// checkLayers makes sure that the layers of program i are from next on among those of a network.
func (x *bundled) checkLayers(i, next, layers int) error {
	if x.First < next || len(x.Runs) == 0 || len(x.Runs) > layers-x.First || len(x.Into) != 0 && len(x.Into) != len(x.Runs) {
		return fail(headBytes, nil, "program %d has %d layers from %d on, and %d of them elsewhere", i, len(x.Runs), x.First, len(x.Into))
	}
	if slices.ContainsFunc(x.Into, func(by int) bool { return by < 0 || by >= len(x.Runs) }) {
		return fail(headBytes, nil, "program %d has a layer done by none of its own", i)
	}
	return nil
}

// program is program i, which is in the table or in a container at a byte.
func (x *bundled) program(i int, data []byte, at int) (*loader.Program, error) {
	p := x.Timed
	switch {
	case (p == nil) == (x.Container == 0):
		return nil, fail(headBytes, nil, "program %d has neither a container nor sizes, or both", i)
	case x.Container < 0 || x.Container > len(data)-at:
		return nil, fail(at, nil, "program %d: a container of %d bytes, %d are left", i, x.Container, len(data)-at)
	case p == nil:
		file := data[at : at+x.Container]
		var err error
		if p, err = loader.Read(x.Name, bytes.NewReader(file), int64(len(file))); err != nil {
			return nil, fail(at, err, "program %d: %v", i, err)
		}
	}
	p.Name = x.Name
	return p, nil
}

// checkDescriptors makes sure that program i has the descriptors that the table says of it, and
// that it can be linked. It ends ahead of a byte.
func (x *bundled) checkDescriptors(i int, p *loader.Program, end int) error {
	if p.TaskCount <= 0 {
		return fail(end, nil, "program %d has no descriptors", i)
	}
	for _, r := range x.Runs {
		if r.First < 0 || r.Tasks < 0 || r.First > p.TaskCount-r.Tasks {
			return fail(headBytes, nil, "program %d: descriptors %d to %d of %d", i, r.First, r.First+r.Tasks-1, p.TaskCount)
		}
	}
	if len(x.L2) > 0 && len(x.L2) != p.TaskCount {
		return fail(headBytes, nil, "program %d: the L2 of %d descriptors, it has %d", i, len(x.L2), p.TaskCount)
	}
	if _, err := p.Link(); err != nil {
		return fail(end, err, "program %d: %v", i, err)
	}
	return nil
}
