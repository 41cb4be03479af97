package report

import (
	"fmt"
	"io"
	"math"

	"github.com/google/pprof/profile"

	"anesim"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/internal/scripts"
)

// WriteProfile writes a gzipped profile of the engine for "go tool pprof". From its root, a stack
// consists of the network, the layer, the descriptor, and one of three things: a cause of cycles, a
// part of the energy, or a path to memory. The argument file is the name of the model's file.
// Layers have line numbers if they are known.
//
// The sample types are cycles, time in ns, energy in nJ and traffic in bytes. Repeated dispatches
// of a descriptor are summed. Descriptors that a brief run does not list (see
// [anesim.Options.Brief]) are summed by operation and shape. The samples sum to the report's totals
// for the engine, which include the fixed energy of dispatches but not the host, idling and waking.
func WriteProfile(w io.Writer, r *anesim.Result, file string) error {
	return WriteProfiles(w, r.Model.Name(), file, []ProfilePart{{Result: r, Times: 1}}, 0)
}

// A ProfilePart is one of several results in a profile, such as a client of a load or a point of a
// sweep.
type ProfilePart struct {
	Name   string // name of a frame between the root and the model's frames; "" for none
	Result *anesim.Result
	Times  int // number of runs, each like Result
}

// WriteProfiles writes one profile of several results, in the form described for [WriteProfile].
// The root of all stacks is a frame called name. The argument file is the name of the models' file.
// The argument waiting is the energy that the engine draws between runs, which gets its own sample.
func WriteProfiles(w io.Writer, name, file string, parts []ProfilePart, waiting clock.Nanojoules) error {
	b := newProfileBuilder(name, file)
	for i := range parts {
		p := &parts[i]
		b.part, b.result, b.times = p.Name, p.Result, float64(p.Times)
		for _, d := range sumDescriptors(p.Result) {
			b.addDescriptor(&d)
		}
		// A long program lists only its first descriptors. The groups hold the others, so the sums are
		// complete.
		for _, g := range p.Result.Report.Rest.Groups {
			b.addDescriptor(&descriptorSum{
				DescriptorReport: hw.DescriptorReport{Op: g.Op, Shape: g.Shape, Cycles: g.Cycles, Parts: g.Parts, DMA: g.DMA}, count: g.Count,
			})
		}
		if n := p.Result.Report.Dispatch; n > 0 {
			b.addSample(b.newSampleStack(nil, "energy: dispatch"), 0, 0, b.nJ.roundNext(float64(n)*b.times), 0)
		}
		b.time += clock.Nanoseconds(p.Result.Report.Time * clock.Nanoseconds(p.Times))
		if i == 0 {
			b.profile.Comments = []string{fmt.Sprintf("%s on chip %s, modelled by anesim with constants %s", name, p.Result.Options.Chip.Name, anesim.ThisTool().Constants)}
		}
	}
	if waiting > 0 {
		b.part, b.result = "", nil
		b.addSample(b.newSampleStack(nil, "energy: waiting"), 0, 0, b.nJ.roundNext(float64(waiting)), 0)
	}
	b.profile.DurationNanos = int64(math.Round(float64(b.time)))
	// pprof refuses an invalid profile with less of a reason.
	if err := b.profile.CheckValid(); err != nil {
		return err
	}
	return b.profile.Write(w)
}

// A descriptorSum holds the sums of one descriptor over all dispatches of its program, or of a
// group of descriptors that the result does not list.
type descriptorSum struct {
	hw.DescriptorReport     // of the first dispatch, with the sums of all
	program             int // from 0
	layer               *anesim.LayerResult
	count               int // number of descriptors in an unlisted group; 0 for a listed descriptor
}

// frameName returns the name of the stack frame for d, such as "td 3: conv".
func (d *descriptorSum) frameName() string {
	if d.count == 0 {
		return fmt.Sprintf("td %d: %v", d.Index, d.Op)
	}
	if s := &d.Shape; *s != (hw.Shape{}) {
		return fmt.Sprintf("%d tds that are not listed: %v, %dx%dx%d to %dx%dx%d", d.count, d.Op, s.Cin, s.Hin, s.Win, s.Cout, s.Hout, s.Wout)
	}
	return fmt.Sprintf("%d tds that are not listed: %v, of other shapes", d.count, d.Op)
}

// sumDescriptors sums each listed descriptor over all dispatches, including dispatches that are not
// listed because they are like the last one. It returns the sums in the order in which the
// descriptors first ran.
func sumDescriptors(r *anesim.Result) []descriptorSum {
	type place struct{ program, index int }
	at := make(map[place]int)
	programs := make(map[*anesim.ProgramResult]int)
	for k := range r.Programs {
		programs[&r.Programs[k]] = k
	}
	var list []descriptorSum
	for disp, p := range r.Dispatches() {
		counted := r.Counted(p, disp)
		runs := 1
		if disp == &p.Dispatches[len(p.Dispatches)-1] {
			// The last listed dispatch stands for those that are like it.
			runs += p.Again
		}
		for i := range counted.Descriptors {
			d := &counted.Descriptors[i]
			key := place{programs[p], d.Index}
			more := runs
			j, ok := at[key]
			if !ok {
				j, more = len(list), runs-1
				at[key] = j
				list = append(list, descriptorSum{DescriptorReport: *d, program: key.program, layer: r.LayerOf(p, d)})
			}
			sum := &list[j]
			sum.Cycles.AddRuns(&d.Cycles, more)
			sum.Parts.AddRuns(&d.Parts, more)
			sum.DMA.AddRuns(&d.DMA, more)
		}
	}
	return list
}

// A rounder rounds a sequence of numbers to integers. It carries the rounding error along, so that
// the integers add up to the rounded sum of the numbers.
type rounder struct {
	sum   float64
	given int64
}

// roundNext rounds the next number v of the sequence.
func (r *rounder) roundNext(v float64) int64 {
	r.sum += v
	n := int64(math.Round(r.sum)) - r.given
	r.given += n
	return n
}

// A profileBuilder collects the samples of a profile for go tool pprof.
type profileBuilder struct {
	name      string
	part      string
	result    *anesim.Result
	times     float64
	time      clock.Nanoseconds
	file      string
	profile   *profile.Profile
	locations map[profileFrame]*profile.Location
	ns, nJ    rounder
}

type profileFrame struct {
	name string
	line int64
}

func newProfileBuilder(name, file string) *profileBuilder {
	p := &profile.Profile{
		SampleType: []*profile.ValueType{
			{Type: "cycles", Unit: "count"}, {Type: "time", Unit: "nanoseconds"},
			{Type: "energy", Unit: "nJ"}, {Type: "traffic", Unit: "bytes"},
		},
		DefaultSampleType: "time",
		PeriodType:        &profile.ValueType{Type: "cycles", Unit: "count"}, Period: 1,
		// The profile contains all names, so pprof need not look them up in a binary.
		Mapping: []*profile.Mapping{{ID: 1, File: name, HasFunctions: true, HasFilenames: true, HasLineNumbers: true}},
	}
	return &profileBuilder{name: name, file: file, profile: p, locations: map[profileFrame]*profile.Location{}}
}

// addDescriptor adds a sample for each cause of the descriptor's cycles, each part of its energy
// and each path of its traffic.
func (b *profileBuilder) addDescriptor(d *descriptorSum) {
	hz := b.result.Options.Chip.Clock.Value
	for cause, n := range d.Cycles.All() {
		if n > 0 {
			ns := b.ns.roundNext(float64(n) / hz * 1e9 * b.times)
			b.addSample(b.newSampleStack(d, "cycles: "+cause.String()), int64(n)*int64(b.times), ns, 0, 0)
		}
	}
	e := EnergyOf(&d.Parts, 0)
	for name, nJ := range e.All() {
		if nJ > 0 {
			b.addSample(b.newSampleStack(d, "energy: "+name), 0, 0, b.nJ.roundNext(float64(nJ)*b.times), 0)
		}
	}
	for _, way := range [...]struct {
		name  string
		bytes uint64
	}{
		{"source 1", d.DMA.Source1}, {"source 2", d.DMA.Source2}, {"kernel", d.DMA.Kernel}, {"destination", d.DMA.Destination},
	} {
		if way.bytes > 0 {
			b.addSample(b.newSampleStack(d, "traffic: "+way.name), 0, 0, 0, int64(way.bytes)*int64(b.times))
		}
	}
}

func (b *profileBuilder) addSample(stack []*profile.Location, cycles, ns, nJ, bytes int64) {
	b.profile.Sample = append(b.profile.Sample, &profile.Sample{Location: stack, Value: []int64{cycles, ns, nJ, bytes}})
}

// newSampleStack returns the stack of a sample in the order of pprof: the frame leaf, a frame for
// the descriptor d unless d is nil, the frame of its layer, and the name of the profile.
func (b *profileBuilder) newSampleStack(d *descriptorSum, leaf string) []*profile.Location {
	stack := []*profile.Location{b.findLocation(leaf, 0)}
	if d != nil {
		name := d.frameName()
		if len(b.result.Programs) > 1 {
			name = fmt.Sprintf("program %d %s", d.program+1, name)
		}
		stack = append(stack, b.findLocation(name, 0))
		if d.layer != nil && b.result.Model.Kind() == anesim.KindNetwork {
			stack = append(stack, b.findLocation(d.layer.Layer.Name, int64(d.layer.Layer.Line)))
		}
	}
	if b.part != "" {
		if b.result != nil && b.part != b.result.Model.Name() {
			stack = append(stack, b.findLocation(b.result.Model.Name(), 0))
		}
		stack = append(stack, b.findLocation(b.part, 0))
	}
	return append(stack, b.findLocation(b.name, 0))
}

// findLocation returns the location in the profile for a frame. If there is none, it adds one.
func (b *profileBuilder) findLocation(name string, line int64) *profile.Location {
	frame := profileFrame{name, line}
	if l, ok := b.locations[frame]; ok {
		return l
	}
	id := uint64(len(b.profile.Location) + 1)
	f := &profile.Function{ID: id, Name: name, SystemName: name, Filename: b.file, StartLine: line}
	l := &profile.Location{ID: id, Mapping: b.profile.Mapping[0], Address: id, Line: []profile.Line{{Function: f, Line: line}}}
	b.profile.Function = append(b.profile.Function, f)
	b.profile.Location = append(b.profile.Location, l)
	b.locations[frame] = l
	return l
}

// WriteLoadProfile writes a profile of the load l for "go tool pprof". It contains the work of the
// engine, by client, and the energy that the engine draws while it waits. The argument file is the
// name of the models' file.
func WriteLoadProfile(w io.Writer, l *scripts.Load, file string) error {
	var parts []ProfilePart
	for i := range l.Config.Clients {
		calls, turns := len(l.Result.Clients[i].Latencies), l.Turns[i]
		for k, res := range turns {
			if n := (calls + len(turns) - 1 - k) / len(turns); n > 0 { // calls with this size
				parts = append(parts, ProfilePart{l.Config.Clients[i].Name, res, n})
			}
		}
	}
	return WriteProfiles(w, "load", file, parts, l.Result.WaitEnergy)
}
