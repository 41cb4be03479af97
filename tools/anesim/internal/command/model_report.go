package command

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"anesim"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/loader/lower"
	"anesim/loader/network"
)

// leftOut says what the totals of a network leave out.
const leftOut = "tensors between layers go to memory and back: what a compiler keeps in the L2 is left out"

type jsonModel struct {
	Schema      int           `json:"schema"`
	Network     string        `json:"network"`
	File        string        `json:"file"`
	Chip        string        `json:"chip"`
	Host        string        `json:"host"`
	Programs    []jsonProgram `json:"programs"`
	Layers      []jsonLayer   `json:"layers"`
	Total       jsonWall      `json:"total"`
	Power       []jsonSpan    `json:"power"`
	NotModelled []jsonMissing `json:"not_modelled"`
	Outputs     []jsonOutput  `json:"outputs"`
	Synthetic   []string      `json:"synthetic_inputs,omitempty"`
	Notes       []string      `json:"notes"`
}

type jsonProgram struct {
	First        string `json:"first"`
	Last         string `json:"last"`
	Layers       int    `json:"layers"`
	Descriptors  int    `json:"descriptors"`
	ScratchBytes uint64 `json:"scratch_bytes"`
	Why          string `json:"why,omitempty"`
	File         string `json:"file,omitempty"`
}

type jsonLayer struct {
	Name        string    `json:"name"`
	Op          string    `json:"op"`
	In          [4]int    `json:"in"`
	Out         [4]int    `json:"out"`
	Kernel      string    `json:"kernel"`
	Folded      []string  `json:"folded"`
	Program     int       `json:"program"`
	Modelled    bool      `json:"modelled"`
	Descriptors int       `json:"descriptors"`
	Bound       string    `json:"bound"`
	TFLOPS      float64   `json:"tflops"`
	CRC32       string    `json:"crc32,omitempty"`
	Note        string    `json:"note,omitempty"`
	Caveat      string    `json:"caveat,omitempty"`
	Total       jsonTotal `json:"total"`
}

type jsonMissing struct {
	Name   string `json:"name"`
	Op     string `json:"op"`
	Reason string `json:"reason"`
}

func dims(s lower.Shape) [4]int { return [4]int{s.N, s.C, s.H, s.W} }

func dimsText(s lower.Shape) string {
	if s.N == 0 {
		return "?"
	}
	if s.N == 1 {
		return extent(s.C, s.H, s.W)
	}
	return fmt.Sprintf("%dx%s", s.N, extent(s.C, s.H, s.W))
}

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

func tflops(macs uint64, t clock.Nanoseconds) float64 {
	if t == 0 {
		return 0
	}
	return 2 * float64(macs) / float64(t) / 1e3
}

// total adds the layers up, and the dispatches of the programs.
func (r *modelRun) total(l *anesim.Timeline) jsonWall {
	var t jsonTotal
	for i := range r.layers {
		x := r.layers[i].report
		if x == nil {
			continue
		}
		t.Cycles += uint64(x.Cycles)
		t.TimeNs += float64(x.Time)
		t.EnergyNJ += float64(x.Energy)
		t.MACs += x.MACs
		t.DMABytes += x.DMA.Total()
		low, high := x.Interval()
		t.TimeLow += float64(low)
		t.TimeHigh += float64(high)
		t.Saved += uint64(x.Saved())
	}
	parts := r.parts()
	t.Energy = energyOf(&parts, r.dispatch)
	t.WallNs = t.TimeNs + float64(r.host)
	t.Dispatch = float64(r.dispatch)
	t.EnergyNJ += t.Dispatch
	return onTheWall(t, l)
}

// parts is the layers' energy by what takes it.
func (r *modelRun) parts() (e hw.EnergyParts) {
	for i := range r.layers {
		if x := r.layers[i].report; x != nil {
			p := x.Parts()
			e.Add(&p)
		}
	}
	return e
}

// missing lists the layers that are not modelled.
func (r *modelRun) missing() []jsonMissing {
	list := []jsonMissing{}
	for i := range r.layers {
		if l := &r.layers[i]; l.report == nil {
			list = append(list, jsonMissing{l.Name, l.Op, l.reason})
		}
	}
	return list
}

func (r *modelRun) notes() []string {
	notes := []string{leftOut}
	if n := len(r.missing()); n > 0 {
		notes = append(notes, fmt.Sprintf("not modelled: %s, in no total", plural(n, "layer")))
	}
	return notes
}

func (r *modelRun) jsonPrograms() []jsonProgram {
	list := []jsonProgram{}
	for k := range r.programs {
		p := &r.programs[k]
		j := jsonProgram{
			First: r.layers[p.First].Name, Last: r.layers[p.First+len(p.Runs)-1].Name,
			Layers: len(p.Runs), Descriptors: p.TaskCount, Why: p.Why,
		}
		if s, ok := p.Segment("__DATA", "__bss"); ok {
			j.ScratchBytes = s.Size
		}
		if k < len(r.files) {
			j.File = r.files[k]
		}
		list = append(list, j)
	}
	return list
}

func (r *modelRun) jsonLayers() []jsonLayer {
	list := []jsonLayer{}
	for i := range r.layers {
		l := &r.layers[i]
		j := jsonLayer{
			Name: l.Name, Op: l.Op, In: dims(l.Lower.In), Out: dims(l.Out), Kernel: windowOf(l.Layer),
			Folded: append([]string{}, l.Folded...), Program: l.program, Modelled: l.report != nil, Note: l.note, Caveat: l.caveat,
		}
		if x := l.report; x != nil {
			a, parts := x.Accounting(), x.Parts()
			j.Descriptors, j.Bound, j.TFLOPS = len(x.Descriptors), a.Bound(), tflops(x.MACs, x.Time)
			j.Total = jsonTotal{
				Cycles: uint64(x.Cycles), TimeNs: float64(x.Time), WallNs: float64(x.Time),
				EnergyNJ: float64(x.Energy), MACs: x.MACs, DMABytes: x.DMA.Total(),
				Energy: energyOf(&parts, x.Dispatch), Saved: uint64(x.Saved()),
			}
			low, high := x.Interval()
			j.Total.TimeLow, j.Total.TimeHigh = float64(low), float64(high)
		}
		if l.data != nil {
			j.CRC32 = checksum(l.data)
		}
		list = append(list, j)
	}
	return list
}

func (r *modelRun) writeJSON(w io.Writer) error {
	line := r.timeline()
	out := jsonModel{
		Schema: schema, Network: r.net.Name, File: r.file, Chip: r.options.Chip.Name, Host: r.preset.Name,
		Programs: r.jsonPrograms(), Layers: r.jsonLayers(), Total: r.total(line), Power: jsonSpans(line), NotModelled: r.missing(), Outputs: []jsonOutput{},
		Synthetic: r.synthetic, Notes: r.notes(),
	}
	for _, o := range r.outputs {
		out.Outputs = append(out.Outputs, jsonOutput{o.Port.Name, o.Port.Shape, checksum(o.Data)})
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(out)
}

func (r *modelRun) writeCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	c.Write([]string{
		"name", "op", "in", "out", "kernel", "folded", "descriptors", "cycles", "bound", "dma_bytes",
		"time_ns", "energy_nj", "macs", "tflops", "not_modelled", "program",
	})
	for i, l := range r.jsonLayers() {
		x := &r.layers[i]
		row := []string{l.Name, l.Op, dimsText(x.Lower.In), dimsText(x.Out), l.Kernel, strings.Join(l.Folded, " ")}
		if l.Modelled {
			row = append(row, strconv.Itoa(l.Descriptors), strconv.FormatUint(l.Total.Cycles, 10), l.Bound,
				strconv.FormatUint(l.Total.DMABytes, 10), number(l.Total.TimeNs), number(l.Total.EnergyNJ),
				strconv.FormatUint(l.Total.MACs, 10), number(l.TFLOPS))
		} else {
			row = append(row, make([]string, 8)...)
		}
		c.Write(append(row, x.reason, strconv.Itoa(x.program)))
	}
	c.Flush()
	return c.Error()
}

func (r *modelRun) writeTable(w io.Writer) error {
	missing := r.missing()
	chip := &r.options.Chip
	fmt.Fprintf(w, "%s  %s, %s, chip %s at %.3f GHz\n\n", legible(r.net.Name), plural(len(r.layers), "layer"),
		plural(len(r.programs), "program"), chip.Name, chip.Clock.Value/1e9)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "layer\top\tin\tout\tkernel\ttds\tcycles\tbound by\tDMA bytes\ttime\tenergy\tTFLOP/s")
	for i, l := range r.jsonLayers() {
		x := &r.layers[i]
		op := l.Op
		if x.Lower.Activation != 0 {
			op += "+" + x.Lower.Activation.String()
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t", legible(l.Name), legible(op), dimsText(x.Lower.In), dimsText(x.Out), l.Kernel)
		if !l.Modelled {
			fmt.Fprintln(t, "-\tnot modelled\t\t\t\t\t")
			continue
		}
		rate := "-"
		if l.Total.MACs > 0 {
			rate = fmt.Sprintf("%.3f", l.TFLOPS)
		}
		fmt.Fprintf(t, "%d\t%d\t%s\t%d\t%v\t%v\t%s\n", l.Descriptors, l.Total.Cycles, strings.ReplaceAll(l.Bound, "_", " "),
			l.Total.DMABytes, x.report.Time, x.report.Energy, rate)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	r.writeTotals(w, missing)
	return nil
}

func (r *modelRun) dispatches() string {
	if len(r.programs) == 1 {
		return "the dispatch"
	}
	return fmt.Sprintf("%d dispatches", len(r.programs))
}

// writePrograms says which layers each program has, and why it is not more.
func (r *modelRun) writePrograms(w io.Writer) {
	for k, p := range r.jsonPrograms() {
		fmt.Fprintf(w, "program %d: %s", k+1, legible(p.First))
		if p.Layers > 1 {
			fmt.Fprintf(w, " to %s", legible(p.Last))
		}
		fmt.Fprintf(w, ", %s, %s, %d bytes of scratch", plural(p.Layers, "layer"), plural(p.Descriptors, "descriptor"), p.ScratchBytes)
		if p.Why != "" {
			fmt.Fprintf(w, "; not one with the program before: %s", legible(p.Why))
		}
		if p.File != "" {
			fmt.Fprintf(w, "; written to %s", p.File)
		}
		fmt.Fprintln(w)
	}
}

func (r *modelRun) writeTotals(w io.Writer, missing []jsonMissing) {
	t := r.total(r.timeline())
	time := clock.Nanoseconds(t.TimeNs)
	fmt.Fprintf(w, "\ntotal: %d cycles, %v of engine time (%v to %v), %d MACs (%.3f TFLOP/s), %d DMA bytes, %v (%v of it %s)\n",
		t.Cycles, time, clock.Nanoseconds(t.TimeLow), clock.Nanoseconds(t.TimeHigh), t.MACs, tflops(t.MACs, time), t.DMABytes, clock.Nanojoules(t.EnergyNJ), clock.Nanojoules(t.Dispatch), r.dispatches())
	writeWall(w, &t, r.host, r.preset.Name, &r.options.Chip)
	parts := r.parts()
	energies(w, &parts, r.dispatch)
	r.writePrograms(w)
	fmt.Fprintf(w, "note: %s\n", leftOut)
	for _, name := range r.synthetic {
		fmt.Fprintf(w, "input   %s  pseudo-random, seed %d\n", name, r.options.Seed)
	}
	for _, o := range r.outputs {
		fmt.Fprintf(w, "output  %s %v  crc32 %s  %s\n", o.Port.Name, o.Port.Shape, checksum(o.Data), summary(o.Data))
	}
	for i := range r.layers {
		if l := &r.layers[i]; l.caveat != "" {
			fmt.Fprintf(w, "caveat  %s: %s\n", legible(l.Name), l.caveat)
		}
	}
	for i := range r.layers {
		if l := &r.layers[i]; l.note != "" {
			fmt.Fprintf(w, "no values: %s: %s\n", legible(l.Name), l.note)
		}
	}
	if len(missing) == 0 {
		return
	}
	fmt.Fprintf(w, "not modelled: %s, in no total\n", plural(len(missing), "layer"))
	for _, m := range missing {
		fmt.Fprintf(w, "  %s (%s): %s\n", legible(m.Name), legible(m.Op), legible(strings.TrimPrefix(m.Reason, m.Op+": ")))
	}
}
