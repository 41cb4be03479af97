package network

import (
	"bytes"
	bin "encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"anesim/loader"
	"anesim/loader/lower/join"
)

// A bundle is what [Network.Lower] gives, as bytes: a table in JSON behind its length, then
// the containers of the programs, one after the other.
type bundle struct {
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

// EncodeBundle is the programs and reasons of a lowering as bytes.
func (n *Network) EncodeBundle(programs []Program, reasons []string) ([]byte, error) {
	b := bundle{Reasons: reasons, Programs: []bundled{}}
	var containers [][]byte
	for i := range programs {
		p := &programs[i]
		x := bundled{p.Name, p.First, p.Runs, p.Why, p.L2, p.Spilled, p.into, 0, nil}
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

// A BundleError is a bundle that cannot be read, or is not of the network.
type BundleError struct {
	Off  int // byte
	What string
	Err  error
}

func (e *BundleError) Error() string { return fmt.Sprintf("bundle byte %#x: %s", e.Off, e.What) }

// Unwrap returns the cause.
func (e *BundleError) Unwrap() error { return e.Err }

// DecodeBundle is the programs and reasons that EncodeBundle was given, of this network;
// its layers note what others do for them, as after Lower. Errors are a *BundleError.
func (n *Network) DecodeBundle(data []byte) ([]Program, []string, error) {
	const head = 8
	fail := func(off int, err error, format string, args ...any) ([]Program, []string, error) {
		return nil, nil, &BundleError{off, fmt.Sprintf(format, args...), err}
	}
	if len(data) < head {
		return fail(0, nil, "%d bytes, want %d or more", len(data), head)
	}
	size := bin.LittleEndian.Uint64(data)
	if size > uint64(len(data)-head) {
		return fail(0, nil, "a table of %d bytes, %d follow", size, len(data)-head)
	}
	var b bundle
	if err := json.Unmarshal(data[head:head+int(size)], &b); err != nil {
		return fail(head, err, "the table: %v", err)
	}
	if len(b.Reasons) != len(n.Layers) {
		return fail(head, nil, "reasons of %d layers, the network has %d", len(b.Reasons), len(n.Layers))
	}
	at, next := head+int(size), 0
	var programs []Program
	for i := range b.Programs {
		x := &b.Programs[i]
		if x.First < next || len(x.Runs) == 0 || len(x.Runs) > len(n.Layers)-x.First || len(x.Into) != 0 && len(x.Into) != len(x.Runs) {
			return fail(head, nil, "program %d has %d layers from %d on, and %d of them elsewhere", i, len(x.Runs), x.First, len(x.Into))
		}
		next = x.First + len(x.Runs)
		if slices.ContainsFunc(x.Into, func(by int) bool { return by < 0 || by >= len(x.Runs) }) {
			return fail(head, nil, "program %d has a layer done by none of its own", i)
		}
		p := x.Timed
		switch {
		case (p == nil) == (x.Container == 0):
			return fail(head, nil, "program %d has neither a container nor sizes, or both", i)
		case x.Container < 0 || x.Container > len(data)-at:
			return fail(at, nil, "program %d: a container of %d bytes, %d are left", i, x.Container, len(data)-at)
		case p == nil:
			file := data[at : at+x.Container]
			var err error
			if p, err = loader.Read(x.Name, bytes.NewReader(file), int64(len(file))); err != nil {
				return fail(at, err, "program %d: %v", i, err)
			}
			at += x.Container
		}
		p.Name = x.Name
		if p.TaskCount <= 0 {
			return fail(at, nil, "program %d has no descriptors", i)
		}
		for _, r := range x.Runs {
			if r.First < 0 || r.Tasks < 0 || r.First > p.TaskCount-r.Tasks {
				return fail(head, nil, "program %d: descriptors %d to %d of %d", i, r.First, r.First+r.Tasks-1, p.TaskCount)
			}
		}
		if len(x.L2) > 0 && len(x.L2) != p.TaskCount {
			return fail(head, nil, "program %d: the L2 of %d descriptors, it has %d", i, len(x.L2), p.TaskCount)
		}
		if _, err := p.Link(); err != nil {
			return fail(at, err, "program %d: %v", i, err)
		}
		programs = append(programs, Program{p, x.First, x.Runs, x.Why, x.L2, x.Spilled, x.Into})
	}
	if at != len(data) {
		return fail(at, nil, "%d bytes follow the programs", len(data)-at)
	}
	for i := range programs {
		n.noteFolded(&programs[i])
	}
	return programs, b.Reasons, nil
}

// noteFolded tells the layers of a program that do others' work so.
func (n *Network) noteFolded(p *Program) {
	for i, by := range p.into {
		if l := &n.Layers[p.First+by]; i != by && !slices.Contains(l.Folded, n.Layers[p.First+i].Name) {
			l.Folded = append(l.Folded, n.Layers[p.First+i].Name)
		}
	}
}
