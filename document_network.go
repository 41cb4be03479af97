package anesim

import (
	"fmt"
	"strconv"

	"anesim/hw/clock"
	"anesim/loader/lower"
	"anesim/loader/network"
)

// A NetworkDocument is the JSON of a network's run.
type NetworkDocument struct {
	Header
	Network     string            `json:"network"`
	File        string            `json:"file"`
	Chip        string            `json:"chip"`
	Host        string            `json:"host"`
	Peak        Rates             `json:"peak"` // of the chip
	Programs    []ProgramDocument `json:"programs"`
	Layers      []LayerDocument   `json:"layers"`
	Cycles      CyclesDocument    `json:"cycles"`
	Total       WallDocument      `json:"total"`
	Power       []SpanDocument    `json:"power"`
	NotModelled []MissingDocument `json:"not_modelled"`
	Outputs     []OutputDocument  `json:"outputs"`
	Repeat      *RepeatDocument   `json:"repeat,omitempty"` // where there are several dispatches
	State       *StateDocument    `json:"state,omitempty"`  // where there is any
	Calls       []CallDocument    `json:"calls,omitempty"`  // of a program with state
	Faults      []FaultDocument   `json:"faults"`
	Limits      []LimitDocument   `json:"limits"`
	Synthetic   []string          `json:"synthetic_inputs,omitempty"`
	Notes       []string          `json:"notes"`
}

// A ProgramDocument is one of a network's programs. First and Last name its layers; Why
// says what ended the program before it, where that was no layer that is not modelled;
// File is where it was written.
type ProgramDocument struct {
	First        string `json:"first"`
	Last         string `json:"last"`
	Layers       int    `json:"layers"`
	Descriptors  int    `json:"descriptors"`
	ScratchBytes uint64 `json:"scratch_bytes"`
	Why          string `json:"why,omitempty"`
	File         string `json:"file,omitempty"`
}

// A LayerDocument is a network's layer. A layer that is not modelled has zeros for
// numbers. Program counts from 1 and is 0 for none; Kernel is taps, /stride and :groups,
// or "-".
type LayerDocument struct {
	Name        string         `json:"name"`
	Op          string         `json:"op"`
	Activation  string         `json:"activation,omitempty"`
	In          [4]int         `json:"in"`
	Out         [4]int         `json:"out"`
	Kernel      string         `json:"kernel"`
	Folded      []string       `json:"folded"`
	Program     int            `json:"program"`
	Modelled    bool           `json:"modelled"`
	Descriptors int            `json:"descriptors"`
	Bound       string         `json:"bound"`
	Cycles      CyclesDocument `json:"cycles"`
	TFLOPS      float64        `json:"tflops"`
	CRC32       string         `json:"crc32,omitempty"`
	Note        string         `json:"note,omitempty"`
	Caveat      string         `json:"caveat,omitempty"`
	Total       TotalDocument  `json:"total"`
}

// A MissingDocument is a layer that is in no total.
type MissingDocument struct {
	Name   string `json:"name"`
	Op     string `json:"op"`
	Reason string `json:"reason"`
}

// NetworkDocument is the JSON of the result of a network.
func (r *Result) NetworkDocument() *NetworkDocument {
	line, a := r.Timeline(), r.Causes()
	d := &NetworkDocument{
		Header: NewHeader(), Network: r.Model.name, Chip: r.Options.Chip.Name, Host: r.Options.Host.Name, Peak: Peak(&r.Options.Chip),
		Programs: []ProgramDocument{}, Layers: []LayerDocument{}, Cycles: cycles(&a), Total: r.wall(line), Power: spans(line),
		NotModelled: []MissingDocument{}, Outputs: r.outputs(), Repeat: r.repeat(), State: r.state(), Calls: r.calls(), Faults: r.faults(), Limits: r.limits(),
		Synthetic: r.Synthetic, Notes: []string{r.Residency().What},
	}
	for k := range r.Programs {
		d.Programs = append(d.Programs, r.programDocument(&r.Programs[k]))
	}
	for i := range r.Layers {
		d.Layers = append(d.Layers, layerDocument(&r.Layers[i]))
	}
	for _, l := range r.Missing() {
		d.NotModelled = append(d.NotModelled, MissingDocument{l.Layer.Name, l.Layer.Op, l.Reason})
	}
	if n := len(d.NotModelled); n == 1 {
		d.Notes = append(d.Notes, "not modelled: 1 layer, in no total")
	} else if n > 1 {
		d.Notes = append(d.Notes, fmt.Sprintf("not modelled: %d layers, in no total", n))
	}
	return d
}

func (r *Result) programDocument(p *ProgramResult) ProgramDocument {
	d := ProgramDocument{Layers: len(p.Runs), Descriptors: p.Program.TaskCount, Why: p.Why}
	if len(p.Runs) > 0 {
		d.First, d.Last = r.Layers[p.First].Layer.Name, r.Layers[p.First+len(p.Runs)-1].Layer.Name
	}
	if s, ok := p.Program.Segment("__DATA", "__bss"); ok {
		d.ScratchBytes = s.Size
	}
	return d
}

func layerDocument(l *LayerResult) LayerDocument {
	x := l.Layer
	d := LayerDocument{
		Name: x.Name, Op: x.Op, In: extents(x.Lower.In), Out: extents(x.Out), Kernel: windowOf(x),
		Folded: append([]string{}, x.Folded...), Program: l.Program, Modelled: l.Modelled(), Note: l.Note, Caveat: l.Caveat,
	}
	if x.Lower.Activation != 0 {
		d.Activation = x.Lower.Activation.String()
	}
	if rep := l.Report; rep != nil {
		a := rep.Accounting()
		d.Descriptors, d.TFLOPS = rep.Count(), tflops(rep.MACs, rep.Time)
		if d.Descriptors > 0 {
			d.Bound = a.Bound()
		}
		d.Cycles, d.Total = cycles(&a), total(rep)
	}
	if l.Data != nil {
		d.CRC32 = Checksum(l.Data)
	}
	return d
}

func extents(s lower.Shape) [4]int { return [4]int{s.N, s.C, s.H, s.W} }

// windowOf is a convolution's or a pool's window, like 3x3/2 with a stride and :32 with
// groups.
func windowOf(l *network.Layer) string {
	w := &l.Lower.Window
	if w.Kh == 0 {
		return "-"
	}
	s := fmt.Sprintf("%dx%d", w.Kh, w.Kw)
	if w.Sy > 1 || w.Sx > 1 {
		s += "/" + strconv.Itoa(w.Sy)
		if w.Sx != w.Sy {
			s += "x" + strconv.Itoa(w.Sx)
		}
	}
	if l.Lower.Groups > 1 {
		s += ":" + strconv.Itoa(l.Lower.Groups)
	}
	return s
}

// tflops counts a multiply-accumulate as two operations.
func tflops(macs uint64, t clock.Nanoseconds) float64 {
	if t == 0 {
		return 0
	}
	return 2 * float64(macs) / float64(t) / 1e3
}
