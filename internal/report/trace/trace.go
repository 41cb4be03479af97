package trace

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"math"

	"anesim"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/internal/report"
)

// Tracks of a trace in display order.
const (
	trackProcess track = iota + 1
	trackPower
	trackPoints
	trackHost
	trackDispatches
	trackLayers
	trackDescriptors
	trackMAC
	trackPlanar
	trackL2
	trackTileIn
	trackTileOut
	trackKernel
	trackWatts
	trackRateIn
	trackRateOut
	trackTFLOPS
	trackEngines
	trackL2Fill
	trackKernelFill
	trackFirstOfLoad // tracks of a load follow
)

// aboutBytes is the description of the tracks with memory traffic.
const aboutBytes = "Bytes of a descriptor, drawn over its whole length. The model times all of a descriptor's traffic together and does not report when each transfer runs."

var traceTracks = [...]struct {
	of                      track
	name, unit, description string
}{
	{trackPower, "power domains", "", "On, idling, off or waking."},
	{trackPoints, "points", "", "Points, drawn one after the other."},
	{trackHost, "host", "", ""},
	{trackDispatches, "dispatches", "", ""},
	{trackLayers, "layers", "", "Flows lead from the layer that makes a tensor to those that read it."},
	{trackDescriptors, "descriptors", "", "Below each descriptor, its cycles by cause. The model reports their numbers, but not their order within the descriptor; causes are drawn in the order in which they first occur."},
	{trackMAC, "MAC array", "", "Cycles in which the array computes."},
	{trackPlanar, "planar engine", "", "Cycles in which the planar engine computes."},
	{trackL2, "L2", "", "Cycles in which L2 is read or written and nothing else is done."},
	{trackTileIn, "tile DMA in", "", aboutBytes},
	{trackTileOut, "tile DMA out", "", aboutBytes},
	{trackKernel, "kernel DMA", "", aboutBytes},
	{trackWatts, "power", "W", ""},
	{trackRateIn, "memory to engine", "GB/s", "Of the descriptor as a whole."},
	{trackRateOut, "engine to memory", "GB/s", "Of the descriptor as a whole."},
	{trackTFLOPS, "arithmetic", "TFLOP/s", "Of the descriptor as a whole."},
	{trackEngines, "active MAC engines", "engines", ""},
	{trackL2Fill, "L2 fill", "bytes", "Bytes of L2 that hold the descriptor's tensors and tiles and, in a network, tensors kept for later descriptors."},
	{trackKernelFill, "kernel memory fill", "bytes", "Weights of the descriptor in each MAC engine; what does not fit is streamed."},
}

// counters lists the counter tracks that are set to zero when the engine stops working.
var counters = [...]track{trackWatts, trackRateIn, trackRateOut, trackTFLOPS, trackEngines, trackL2Fill, trackKernelFill}

// Write writes a trace of the run over wall time for Perfetto (ui.perfetto.dev), as
// protocol-buffer TrackEvents. Times are rounded to nanoseconds, but each slice has its exact
// cycles and bytes as arguments. If a brief run does not list all descriptors (see
// [anesim.Options.Brief]), Write runs the program again.
func Write(w io.Writer, r *anesim.Result) error {
	return WriteAll(w, r.Model.Name()+" on "+r.Options.Chip.Name, func(yield func(string, *anesim.Result) bool) { yield("", r) })
}

// WriteAll writes several results, such as the points of a sweep, one after the other into one
// Perfetto trace called name. The sequence yields pairs of a name and a result. A result whose name
// is not empty is enclosed in a slice with that name.
func WriteAll(w io.Writer, name string, results iter.Seq2[string, *anesim.Result]) error {
	t := &tracer{traceWriter: newTraceWriter(w)}
	t.describeProcess(trackProcess, name)
	for rank, k := range traceTracks {
		t.describeTrack(k.of, trackProcess, rank, k.name, k.description, k.unit)
	}
	for name, r := range results {
		t.result, t.line.Waiting, t.flows = r, r.Waiting(), newFlows(r)
		if name != "" {
			t.beginSlice(trackPoints, roundTime(t.line.End), "point", name, nil, nil, argument{"cycles", uint64(r.Report.Cycles)}, argument{"energy nJ", float64(r.Report.Energy)})
		}
		calls := make(map[*anesim.ProgramResult]uint64)
		t.occupied = make(map[*anesim.ProgramResult][]int)
		for d, p := range r.Dispatches() {
			if t.occupied[p] == nil {
				t.occupied[p] = p.Occupancy()
			}
			if err := t.drawDispatch(d, p, calls[p]); err != nil {
				return err
			}
			calls[p]++
		}
		if name != "" {
			t.endSlice(trackPoints, roundTime(t.line.End))
		}
	}
	t.resetCounters(roundTime(t.line.End))
	return t.w.Flush()
}

func roundTime(t clock.Nanoseconds) uint64 { return uint64(math.Round(float64(t))) }

// A tracer writes the dispatches of one result after the other to a trace.
type tracer struct {
	*traceWriter
	result *anesim.Result
	line   anesim.Timeline
	flows  flows
	// occupied holds the bytes of L2 that each descriptor of a program uses.
	occupied map[*anesim.ProgramResult][]int
}

// A flows holds the edges from a layer that writes a tensor to the layers that read it. Edges are
// numbered; in and out list the numbers by layer. Layers without descriptors have none.
type flows struct {
	out, in map[*anesim.LayerResult][]uint64
	edges   uint64
}

// newFlows returns the edges between the layers of a result. A layer without descriptors may be
// computed by those of the previous layer; its edges then belong to that layer.
func newFlows(r *anesim.Result) flows {
	f := flows{out: map[*anesim.LayerResult][]uint64{}, in: map[*anesim.LayerResult][]uint64{}}
	if r.Model.Kind() != anesim.KindNetwork {
		return f
	}
	does := make([]*anesim.LayerResult, len(r.Layers))
	for k := range r.Programs {
		p := &r.Programs[k]
		for i, run := range p.Runs {
			switch l := &r.Layers[p.First+i]; {
			case !l.Modelled():
			case run.Tasks > 0:
				does[p.First+i] = l
			// A merged layer has no descriptors. Its arrows start where its work is done.
			case i > 0:
				does[p.First+i] = does[p.First+i-1]
			}
		}
	}
	makes := map[string]*anesim.LayerResult{}
	for i := range r.Layers {
		to := does[i]
		for _, name := range r.Layers[i].Layer.Inputs {
			if from := makes[name]; from != nil && to != nil && from != to {
				f.out[from] = append(f.out[from], f.edges)
				f.in[to] = append(f.in[to], f.edges)
				f.edges++
			}
		}
		makes[r.Layers[i].Layer.Output] = to
	}
	return f
}

// newFlowIDs returns an ID for each edge. The IDs are unique in the trace, so an edge has a
// different ID in each call.
func (f *flows) newFlowIDs(edges []uint64, call uint64) []uint64 {
	var list []uint64
	for _, e := range edges {
		list = append(list, call*f.edges+e+1)
	}
	return list
}

// drawDispatch writes the slices and counters of dispatch d of program p, including the idle gap
// before it.
func (t *tracer) drawDispatch(d *anesim.Dispatch, p *anesim.ProgramResult, call uint64) error {
	counted := t.result.Counted(p, d)
	t.line.Spans = t.line.Spans[:0]
	t.line.Add(&counted, p.Host)
	waits := t.line.Spans[:len(t.line.Spans)-countSpans(&counted)]
	begun := false
	for i := range waits {
		s := &waits[i]
		from, to := roundTime(s.At), roundTime(s.At+s.For)
		rail := s.What
		switch s.What {
		case anesim.SpanHost, anesim.SpanDispatch:
			t.beginSlice(trackDispatches, from, "dispatch", p.Program.Name, nil, nil,
				argument{"call", call + 1}, argument{"energy nJ", float64(counted.Energy)})
			begun, rail = true, "on"
			if s.For > 0 {
				t.drawSlice(trackHost, from, to, "host", "host")
			}
		}
		if s.For > 0 {
			t.resetCounters(from)
			t.setCounter(trackWatts, from, s.Watts())
			t.drawSlice(trackPower, from, to, "power", rail)
		}
	}
	if !begun { // a timeline of a dispatch always has one of the two
		return nil
	}
	spans := t.line.Spans[len(waits):]
	if len(spans) > 0 {
		t.drawSlice(trackPower, roundTime(spans[0].At), roundTime(t.line.End), "power", "on")
	}
	var err error
	if d.Rest.Count > 0 {
		err = t.replayAndDraw(p, spans[0].At)
	} else {
		t.drawListedDescriptors(&counted, p, spans, call)
	}
	t.endSlice(trackDispatches, roundTime(t.line.End))
	return err
}

// countSpans returns the number of spans that an [anesim.Timeline] has for the descriptors of a
// dispatch.
func countSpans(d *anesim.Dispatch) int {
	if d.Rest.Count > 0 {
		return len(d.Descriptors) + 1
	}
	return len(d.Descriptors)
}

// drawListedDescriptors writes a slice for each listed descriptor of dispatch d, with the times in
// spans.
func (t *tracer) drawListedDescriptors(d *anesim.Dispatch, p *anesim.ProgramResult, spans []anesim.Span, call uint64) {
	var layer *anesim.LayerResult
	for i := range spans {
		x := &d.Descriptors[i]
		from, to := roundTime(spans[i].At), roundTime(spans[i].At+spans[i].For)
		if l := t.result.LayerOf(p, x); l != nil && l != layer {
			if layer != nil {
				t.endSlice(trackLayers, from)
			}
			layer = l
			t.beginSlice(trackLayers, from, "layer", l.Layer.Name, t.flows.newFlowIDs(t.flows.out[l], call), t.flows.newFlowIDs(t.flows.in[l], call),
				argument{"op", l.Layer.Op}, argument{"line", uint64(l.Layer.Line)})
		}
		if list := t.occupied[p]; x.Index < len(list) {
			t.setCounter(trackL2Fill, from, float64(list[x.Index]))
		}
		t.drawDescriptor(x, &spans[i], from, to)
	}
	if layer != nil {
		t.endSlice(trackLayers, roundTime(t.line.End))
	}
}

// replayAndDraw runs program p again and writes a slice for each of its descriptors when the
// descriptor ends. The first descriptor starts at the time start. It is used for results that do
// not list all descriptors.
func (t *tracer) replayAndDraw(p *anesim.ProgramResult, start clock.Nanoseconds) error {
	ctx, stopRun := context.WithCancel(context.Background())
	defer stopRun()
	err := t.result.Replay(ctx, p.Program, func(x *hw.DescriptorReport, l2 int) {
		if t.err != nil { // nothing more is written
			stopRun()
			return
		}
		s := anesim.Span{At: start, For: x.Time, Energy: x.Energy}
		start += x.Time
		from := roundTime(s.At)
		t.setCounter(trackL2Fill, from, float64(l2))
		t.drawDescriptor(x, &s, from, roundTime(s.At+s.For))
	})
	return cmp.Or(t.err, err)
}

// resetCounters sets the counters of the engine's work to zero from the time at (in nanoseconds)
// on.
func (t *tracer) resetCounters(at uint64) {
	for _, k := range counters {
		t.setCounter(k, at, 0)
	}
}

// drawSlice writes a slice on a track that extends between two times in nanoseconds.
func (t *tracer) drawSlice(on track, from, to uint64, category, name string, args ...argument) {
	t.beginSlice(on, from, category, name, nil, nil, args...)
	t.endSlice(on, to)
}

// causeOrder lists causes of cycles in the order in which they occur in a descriptor. A descriptor
// starts, waits for weights and input, computes, and waits for its results to be stored.
var causeOrder = [...]hw.Cause{
	hw.CauseOverhead, hw.CauseKernelStall, hw.CauseInputStall, hw.CauseCompute, hw.CauseL2ReadStall,
	hw.CauseL2WriteStall, hw.CauseThrottle, hw.CauseOutputStall, hw.CauseIdle,
}

// drawDescriptor writes the slice of a descriptor, a slice for each unit of the engine that works
// in it, and the counters.
func (t *tracer) drawDescriptor(d *hw.DescriptorReport, s *anesim.Span, from, to uint64) {
	rate := func(n uint64) float64 { return report.NewRates(0, n, d.Working()).GBPerS }
	t.setCounter(trackWatts, from, d.Watts())
	t.setCounter(trackRateIn, from, rate(d.DMA.Read()))
	t.setCounter(trackRateOut, from, rate(d.DMA.Destination))
	t.setCounter(trackTFLOPS, from, report.NewRates(d.MACs, 0, d.Working()).TFLOPS)
	t.setCounter(trackEngines, from, float64(d.Engines))
	t.setCounter(trackKernelFill, from, float64(kernelFillBytes(d, &t.result.Options.Chip)))

	x := &d.Shape
	t.beginSlice(trackDescriptors, from, "descriptor", fmt.Sprintf("td %d: %v", d.Index, d.Op), nil, nil,
		argument{"index", uint64(d.Index)}, argument{"offset", uint64(d.Offset)},
		argument{"in", fmt.Sprintf("%dx%dx%d", x.Cin, x.Hin, x.Win)}, argument{"out", fmt.Sprintf("%dx%dx%d", x.Cout, x.Hout, x.Wout)},
		argument{"kernel", fmt.Sprintf("%dx%d", x.Kh, x.Kw)}, argument{"groups", uint64(x.Groups)},
		argument{"engines", uint64(d.Engines)}, argument{"tiles", uint64(d.Tiles)},
		argument{"cycles", uint64(d.Cycles.Total())}, argument{"bound by", d.Cycles.Bound()},
		argument{"saved cycles", uint64(d.Saved)}, argument{"multiply-accumulates", d.MACs},
		argument{"bytes", d.DMA.Total()}, argument{"energy nJ", float64(d.Energy)})
	at := clock.Cycles(0)
	hz := clock.Hertz(t.result.Options.Chip.Clock.Value)
	for _, cause := range causeOrder {
		n := *d.Cycles.Of(cause)
		if n == 0 {
			continue
		}
		// Times are rounded from the start of the descriptor, not added up, so that no slice ends after
		// the descriptor that holds it.
		begin := min(to, roundTime(s.At+hz.Time(at)))
		at += n
		end := min(to, roundTime(s.At+hz.Time(at)))
		t.drawSlice(trackDescriptors, begin, end, "cause", cause.String(), argument{"cycles", uint64(n)})
		unit := track(0)
		switch {
		case cause == hw.CauseCompute && d.Planar:
			unit = trackPlanar
		case cause == hw.CauseCompute:
			unit = trackMAC
		case cause == hw.CauseL2ReadStall, cause == hw.CauseL2WriteStall:
			unit = trackL2
		default:
			continue
		}
		t.drawSlice(unit, begin, end, "unit", cause.String(), argument{"cycles", uint64(n)}, argument{"descriptor", uint64(d.Index)})
	}
	t.endSlice(trackDescriptors, to)
	for _, way := range [...]struct {
		on    track
		bytes uint64
	}{{trackTileIn, d.DMA.Source1 + d.DMA.Source2}, {trackTileOut, d.DMA.Destination}, {trackKernel, d.DMA.Kernel}} {
		if way.bytes > 0 {
			t.drawSlice(way.on, from, to, "traffic", fmt.Sprintf("%d B", way.bytes), argument{"bytes", way.bytes}, argument{"descriptor", uint64(d.Index)})
		}
	}
}

// kernelFillBytes returns how many bytes of weights each MAC engine holds during descriptor d. It
// is at most the size of the kernel memory, because larger weights are streamed through it.
func kernelFillBytes(d *hw.DescriptorReport, chip *hw.Chip) uint64 {
	return min(d.DMA.Kernel/uint64(max(1, d.Engines)), uint64(chip.KernelMemory.Value))
}
