package command

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/x448/float16"

	"anesim"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/host"
)

// writeTable is the report for people.
func writeTable(w io.Writer, res *anesim.Result, o *anesim.Options, f *runFlags) error {
	p, r := res.Program, res.Report
	fmt.Fprintf(w, "%s  %s, %d descriptors, chip %s at %.3f GHz\n\n",
		p.Name, p.Form, len(r.Descriptors), o.Chip.Name, o.Chip.Clock.Value/1e9)

	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "td\top\tin\tout\tkernel\tengines\tcycles\tcompute\tbound by\tDMA bytes\ttime\tinterval\tenergy\tvendor us\t")
	for i := range r.Descriptors {
		d := &r.Descriptors[i]
		fmt.Fprintf(t, "%d\t%v\t%s\t%s\t%s\t%s\t%d\t%.1f%%\t%s\t%d\t%v\t%s\t%v\t%s\t\n",
			d.Index, d.Op,
			extent(d.Shape.Cin, d.Shape.Hin, d.Shape.Win), extent(d.Shape.Cout, d.Shape.Hout, d.Shape.Wout),
			kernelOf(d), engines(d), d.Cycles.Total(), percent(d.Cycles.Compute, d.Cycles.Total()), bound(d),
			d.DMA.Total(), d.Time, interval(d), d.Energy, vendor(d))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	low, high := r.Interval()
	fmt.Fprintf(w, "\ntotal: %d cycles, %v of engine time (%v to %v), %d MACs%s, %d DMA bytes, %v (%v of it the dispatch)\n",
		r.Cycles, r.Time, low, high, r.MACs, rate(r), r.DMA.Total(), r.Energy, r.Dispatch)
	host := hostTime(&f.preset, res)
	wall := onTheWall(jsonTotal{WallNs: float64(r.Time + host), EnergyNJ: float64(r.Energy)}, timeline(res, host, &o.Chip))
	writeWall(w, &wall, host, f.preset.Name, &o.Chip)
	stalls(w, r)
	parts := r.Parts()
	energies(w, &parts, r.Dispatch)
	advice(w, r)
	if f.counters {
		writeCounters(w, r)
	}
	writePorts(w, res, o)
	for _, x := range r.Faults {
		fmt.Fprintf(w, "FAULT: %v\n", x)
	}
	if f.constants {
		return writeConstants(w, &o.Chip, &f.preset)
	}
	return nil
}

func extent(c, h, w int) string { return fmt.Sprintf("%dx%dx%d", c, h, w) }

func kernelOf(d *hw.DescriptorReport) string {
	if d.Op != hw.Conv && d.Op != hw.MatMul {
		return "-"
	}
	k := fmt.Sprintf("%dx%d", d.Shape.Kh, d.Shape.Kw)
	if d.Shape.Groups > 1 {
		k += fmt.Sprintf("/%d", d.Shape.Groups)
	}
	return k
}

func engines(d *hw.DescriptorReport) string {
	if d.Engines == 0 {
		return "planar"
	}
	return fmt.Sprintf("%d (%d tiles)", d.Engines, d.Tiles)
}

func bound(d *hw.DescriptorReport) string { return strings.ReplaceAll(d.Cycles.Bound(), "_", " ") }

// interval is how far below and above its time a measurement of the descriptor may lie.
func interval(d *hw.DescriptorReport) string {
	low, high := d.Interval()
	if d.Time == 0 {
		return "-"
	}
	return fmt.Sprintf("-%.0f +%.0f%%", 100*(1-float64(low/d.Time)), 100*(float64(high/d.Time)-1))
}

// advice says what bounds the descriptors that take most of the time, one for each cause,
// and what would relieve them.
func advice(w io.Writer, r *hw.Report) {
	const least = 10 // per cent of the cycles
	list := make([]*hw.DescriptorReport, len(r.Descriptors))
	for i := range list {
		list[i] = &r.Descriptors[i]
	}
	slices.SortStableFunc(list, func(a, b *hw.DescriptorReport) int { return cmp.Compare(b.Cycles.Total(), a.Cycles.Total()) })
	said := make(map[string]bool)
	for _, d := range list {
		share, cause := percent(d.Cycles.Total(), r.Cycles), d.Cycles.Bound()
		if share < least {
			return
		}
		if !said[cause] {
			fmt.Fprintf(w, "td %d, %.0f%% of the cycles: %s\n", d.Index, share, d.Advice())
		}
		said[cause] = true
	}
}

func vendor(d *hw.DescriptorReport) string {
	if d.Exe.Stored == 0 {
		return fmt.Sprintf("(%d)", d.Exe.Model)
	}
	if d.Exe.Stored != d.Exe.Model {
		return fmt.Sprintf("%d (%d)", d.Exe.Stored, d.Exe.Model)
	}
	return fmt.Sprint(d.Exe.Stored)
}

func percent[T ~uint64](part, whole T) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

func rate(r *hw.Report) string {
	if r.MACs == 0 || r.Time == 0 {
		return ""
	}
	return fmt.Sprintf(" (%.3f TFLOP/s)", 2*float64(r.MACs)/float64(r.Time)/1e3)
}

// stalls says where all the cycles went.
func stalls(w io.Writer, r *hw.Report) {
	a := r.Accounting()
	var parts []string
	for _, c := range [...]struct {
		name string
		n    uint64
	}{
		{"compute", uint64(a.Compute)}, {"input stall", uint64(a.InputStall)}, {"output stall", uint64(a.OutputStall)},
		{"kernel stall", uint64(a.KernelStall)}, {"throttle", uint64(a.Throttle)}, {"L2 read stall", uint64(a.L2ReadStall)},
		{"L2 write stall", uint64(a.L2WriteStall)}, {"overhead", uint64(a.Overhead)}, {"idle", uint64(a.Idle)},
	} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d (%.1f%%)", c.name, c.n, percent(c.n, uint64(r.Cycles))))
		}
	}
	if len(parts) == 0 {
		return
	}
	fmt.Fprintf(w, "cycles: %s", strings.Join(parts, ", "))
	if n := r.Saved(); n > 0 {
		fmt.Fprintf(w, "; running beside each other saves %d", n)
	}
	fmt.Fprintln(w)
}

// energies says what took all the energy.
func energies(w io.Writer, e *hw.EnergyParts, dispatch clock.Nanojoules) {
	total := e.Total() + dispatch
	var parts []string
	for _, c := range [...]struct {
		name string
		n    clock.Nanojoules
	}{
		{"multiply-accumulates", e.MAC}, {"table look-ups", e.Table}, {"L2", e.L2}, {"memory", e.DRAM},
		{"powered engines", e.Active}, {"dispatch", dispatch},
	} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %v (%.1f%%)", c.name, c.n, 100*float64(c.n/total)))
		}
	}
	if len(parts) > 0 {
		fmt.Fprintf(w, "energy: %s\n", strings.Join(parts, ", "))
	}
}

func writeCounters(w io.Writer, r *hw.Report) {
	for i := range r.Descriptors {
		d := &r.Descriptors[i]
		fmt.Fprintf(w, "\ncounters of descriptor %d\n", d.Index)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for name, v := range d.Counters.All() {
			fmt.Fprintf(t, "  %s\t%d\n", name, v)
		}
		t.Flush()
	}
}

// writePorts says what went in and what came out.
func writePorts(w io.Writer, res *anesim.Result, o *anesim.Options) {
	if !o.Values {
		fmt.Fprintln(w, "values: not asked for (--timing-only)")
		return
	}
	synthetic := make(map[string]bool)
	for _, name := range res.Synthetic {
		synthetic[name] = true
	}
	for _, in := range res.Inputs {
		how := "given"
		if synthetic[in.Port.Name] {
			how = fmt.Sprintf("pseudo-random, seed %d", o.Seed)
		}
		fmt.Fprintf(w, "input   %s %v  %s\n", in.Port.Name, in.Port.Shape, how)
	}
	if len(res.Outputs) == 0 {
		if len(res.Report.Faults) == 0 {
			fmt.Fprintf(w, "values: none: %s\n", whyNoOutputs(res))
		}
		return
	}
	for i := range res.Report.Descriptors {
		if d := &res.Report.Descriptors[i]; d.Caveat != "" {
			fmt.Fprintf(w, "caveat  descriptor %d: %s\n", d.Index, d.Caveat)
		}
	}
	for _, out := range res.Outputs {
		fmt.Fprintf(w, "output  %s %v  crc32 %s  %s%s\n",
			out.Port.Name, out.Port.Shape, checksum(out.Data), summary(out.Data), equals(res, out))
	}
}

// whyNoOutputs is the first reason that a run has no values.
func whyNoOutputs(res *anesim.Result) string {
	if f := res.Report.Faults; len(f) > 0 {
		return f[0].String()
	}
	for i := range res.Report.Descriptors {
		if d := &res.Report.Descriptors[i]; d.Note != "" {
			return fmt.Sprintf("descriptor %d: %s", d.Index, d.Note)
		}
	}
	return "the program has no output port"
}

// summary is the first elements and the range of a tensor.
func summary(data []float16.Float16) string {
	const shown = 4
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, h := range data {
		v := float64(h.Float32())
		lo, hi = min(lo, v), max(hi, v)
	}
	var b strings.Builder
	b.WriteByte('[')
	for i, h := range data[:min(shown, len(data))] {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%g", h.Float32())
	}
	if len(data) > shown {
		b.WriteString(" ...")
	}
	fmt.Fprintf(&b, "] in [%g, %g]", lo, hi)
	return b.String()
}

// equals says when an output is an input, bit for bit: what an identity layer shows.
func equals(res *anesim.Result, out anesim.Output) string {
	for _, in := range res.Inputs {
		if len(in.Data) != len(out.Data) || len(out.Data) == 0 {
			continue
		}
		same := true
		for i := range in.Data {
			same = same && in.Data[i] == out.Data[i]
		}
		if same {
			return fmt.Sprintf("  equals %s in all %d elements", in.Port.Name, len(in.Data))
		}
	}
	return ""
}

func writeConstants(w io.Writer, c *hw.Chip, h *host.Host) error {
	fmt.Fprintf(w, "\nconstants of %s\n", c.Name)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for name, k := range c.Constants() {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\n", name, number(k.Value), k.Unit, k.Evidence, k.Source)
	}
	for name, k := range hostConstants(h) {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\n", name, number(k.Value), k.Unit, k.Evidence, k.Source)
	}
	return t.Flush()
}
