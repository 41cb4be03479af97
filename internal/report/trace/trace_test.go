package trace_test

import (
	"bytes"
	"encoding/csv"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"anesim"
	"anesim/firmware/engine"
	"anesim/internal/material"
	"anesim/internal/report/trace"
	"anesim/internal/samples"
)

const tracedNetwork = `inputs: {x: {c: 16, h: 8, w: 8}}
layers:
  - {name: first, op: conv, cout: 32, k: 3, pad: 1}
  - {name: second, op: conv, cout: 32, k: 1}
  - {name: last, op: softmax, axis: c}
`

// A message is a decoded protocol-buffer message: numbers and bytes by field.
type message struct {
	numbers map[protowire.Number][]uint64
	bytes   map[protowire.Number][][]byte
}

func decode(t *testing.T, data []byte) message {
	t.Helper()
	m := message{map[protowire.Number][]uint64{}, map[protowire.Number][][]byte{}}
	for len(data) > 0 {
		num, wire, n := protowire.ConsumeTag(data)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		data = data[n:]
		var v uint64
		var b []byte
		switch wire {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(data)
		case protowire.Fixed64Type:
			v, n = protowire.ConsumeFixed64(data)
		case protowire.BytesType:
			b, n = protowire.ConsumeBytes(data)
		default:
			t.Fatalf("field %d has wire type %d", num, wire)
		}
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		if wire == protowire.BytesType {
			m.bytes[num] = append(m.bytes[num], b)
		} else {
			m.numbers[num] = append(m.numbers[num], v)
		}
		data = data[n:]
	}
	return m
}

func (m message) number(f protowire.Number) uint64 {
	if v := m.numbers[f]; len(v) > 0 {
		return v[0]
	}
	return 0
}

func (m message) text(f protowire.Number) string {
	if v := m.bytes[f]; len(v) > 0 {
		return string(v[0])
	}
	return ""
}

// A slice is one of a trace's, closed.
type slice struct {
	track, category, name string
	from, to              uint64
	depth                 int
	args                  map[string]uint64 // of whole numbers
	out, in               []uint64
}

// readTrace decodes a trace and fails the test if it breaks a rule of track events: a track is
// described before it is used, times on a track never decrease, and slices nest and end.
func readTrace(t *testing.T, data []byte) (slices []slice, counters map[string][]float64) {
	t.Helper()
	tracks, units := map[uint64]string{}, map[uint64]string{}
	last, open := map[uint64]uint64{}, map[uint64][]slice{}
	counters = map[string][]float64{}
	for i, b := range decode(t, data).bytes[1] {
		p := decode(t, b)
		if p.number(10) == 0 {
			t.Fatal("a packet has no sequence")
		}
		if i == 0 && p.number(13)&1 == 0 {
			t.Error("the sequence does not say that its state is clear")
		}
		if d := p.bytes[60]; len(d) > 0 {
			x := decode(t, d[0])
			uuid := x.number(1)
			if _, twice := tracks[uuid]; twice || uuid == 0 {
				t.Errorf("track %d described twice", uuid)
			}
			tracks[uuid] = x.text(2)
			if parent := x.number(5); parent != 0 {
				if _, ok := tracks[parent]; !ok {
					t.Errorf("track %s has an unknown parent", tracks[uuid])
				}
			}
			if c := x.bytes[8]; len(c) > 0 {
				units[uuid] = decode(t, c[0]).text(6)
			}
			continue
		}
		e, at := decode(t, p.bytes[11][0]), p.number(8)
		on := e.number(11)
		name, ok := tracks[on]
		if !ok {
			t.Fatalf("event on track %d, which nothing describes", on)
		}
		if at < last[on] {
			t.Fatalf("track %s goes back from %d to %d ns", name, last[on], at)
		}
		last[on] = at
		switch e.number(9) {
		case 1:
			s := slice{track: name, category: e.text(22), name: e.text(23), from: at, depth: len(open[on]), args: map[string]uint64{}, out: e.numbers[47], in: e.numbers[48]}
			for _, b := range e.bytes[4] {
				a := decode(t, b)
				if v, ok := a.numbers[3]; ok {
					s.args[a.text(10)] = v[0]
				}
			}
			open[on] = append(open[on], s)
		case 2:
			n := len(open[on]) - 1
			if n < 0 {
				t.Fatalf("track %s: an end without a begin", name)
			}
			s := open[on][n]
			s.to = at
			slices, open[on] = append(slices, s), open[on][:n]
		case 4:
			if units[on] == "" {
				t.Errorf("counter %s has no unit", name)
			}
			counters[name] = append(counters[name], math.Float64frombits(e.number(44)))
		default:
			t.Fatalf("event of type %d", e.number(9))
		}
	}
	for on, list := range open {
		if len(list) > 0 {
			t.Errorf("track %s: %d slices never end", tracks[on], len(list))
		}
	}
	return slices, counters
}

func writeTrace(t *testing.T, res *anesim.Result) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := trace.Write(&b, res); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Slices sum to the report, in exact cycles and bytes by their arguments and in time to
// the ns that a slice's ends are rounded to.
func TestTraceSumsToTheReport(t *testing.T) {
	h, err := engine.HostByName("linux")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []anesim.Options{{}, {Host: h, Repeat: 3, Idle: 150 * time.Millisecond}} {
		res := samples.Run(t, samples.Read(t, tracedNetwork), o)
		slices, counters := readTrace(t, writeTrace(t, res))
		cycles, traffic, causes := map[string]uint64{}, map[string]uint64{}, map[string]uint64{}
		ns, count := map[string]uint64{}, map[string]int{}
		for _, s := range slices {
			if s.depth == 0 {
				ns[s.track] += s.to - s.from
				count[s.track]++
			}
			if s.category == "cause" {
				causes[s.name] += s.args["cycles"]
				continue
			}
			cycles[s.track] += s.args["cycles"]
			traffic[s.track] += s.args["bytes"]
		}
		r, a := res.Report, res.Causes()
		for cause, n := range a.All() {
			if causes[cause.String()] != uint64(n) {
				t.Errorf("%d cycles of %v, the report has %d", causes[cause.String()], cause, n)
			}
		}
		for _, c := range []struct {
			what      string
			got, want uint64
		}{
			{"cycles of descriptors", cycles["descriptors"], uint64(r.Cycles)},
			{"cycles of units", cycles["MAC array"] + cycles["planar engine"], uint64(a.Compute)},
			{"cycles of the L2", cycles["L2"], uint64(a.L2ReadStall + a.L2WriteStall)},
			{"bytes in", traffic["tile DMA in"], r.DMA.Source1 + r.DMA.Source2},
			{"bytes of coefficients", traffic["kernel DMA"], r.DMA.Kernel},
			{"bytes out", traffic["tile DMA out"], r.DMA.Destination},
		} {
			if c.got != c.want {
				t.Errorf("%s: %d in the trace, %d in the report", c.what, c.got, c.want)
			}
		}
		if count["descriptors"] != len(r.Descriptors) {
			t.Errorf("%d slices of %d descriptors", count["descriptors"], len(r.Descriptors))
		}
		if n := len(counters["power"]); n <= len(r.Descriptors) {
			t.Errorf("%d values of power for %d descriptors", n, len(r.Descriptors))
		}
		for track, want := range map[string]float64{
			"descriptors": float64(r.Time), "layers": float64(r.Time), "host": float64(res.Host()), "power domains": float64(res.Wall()),
		} {
			if got := float64(ns[track]); math.Abs(got-want) > float64(count[track]) {
				t.Errorf("track %s: %.0f ns, the report has %.3f", track, got, want)
			}
		}
	}
}

// A tensor's flow leaves the layer that makes it and ends at one that reads it, later.
func TestTraceFlows(t *testing.T) {
	res := samples.Run(t, samples.Read(t, tracedNetwork), anesim.Options{Repeat: 2})
	slices, _ := readTrace(t, writeTrace(t, res))
	type end struct {
		name string
		at   uint64
	}
	from, met := map[uint64]end{}, map[string]int{}
	for _, s := range slices {
		for _, id := range s.out {
			from[id] = end{s.name, s.to}
		}
		for _, id := range s.in {
			a, ok := from[id]
			if !ok || a.at > s.from {
				t.Errorf("flow %d ends at %s before it leaves %q", id, s.name, a.name)
			}
			met[a.name+" to "+s.name]++
		}
	}
	if len(met) != 2 || met["first to second"] != 2 || met["second to last"] != 2 {
		t.Errorf("flows %v", met)
	}
}

// The same run gives the same bytes.
func TestTraceIsDeterministic(t *testing.T) {
	m := samples.Read(t, tracedNetwork)
	if !bytes.Equal(writeTrace(t, samples.Run(t, m, anesim.Options{})), writeTrace(t, samples.Run(t, m, anesim.Options{}))) {
		t.Error("two traces of one network differ")
	}
}

// perfettoFields is the part of Perfetto's description of a trace that a trace here has:
// message, field, number, type, label.
const perfettoFields = `
Trace packet 1 TracePacket repeated
TracePacket timestamp 8 uint64
TracePacket trusted_packet_sequence_id 10 uint32
TracePacket track_event 11 TrackEvent
TracePacket sequence_flags 13 uint32
TracePacket track_descriptor 60 TrackDescriptor
TrackDescriptor uuid 1 uint64
TrackDescriptor name 2 string
TrackDescriptor process 3 ProcessDescriptor
TrackDescriptor parent_uuid 5 uint64
TrackDescriptor counter 8 CounterDescriptor
TrackDescriptor child_ordering 11 ChildTracksOrdering
TrackDescriptor sibling_order_rank 12 int32
TrackDescriptor description 14 string
ProcessDescriptor pid 1 int32
ProcessDescriptor process_name 6 string
CounterDescriptor unit_name 6 string
TrackEvent debug_annotations 4 DebugAnnotation repeated
TrackEvent type 9 Type
TrackEvent track_uuid 11 uint64
TrackEvent categories 22 string repeated
TrackEvent name 23 string
TrackEvent double_counter_value 44 double
TrackEvent flow_ids 47 fixed64 repeated
TrackEvent terminating_flow_ids 48 fixed64 repeated
DebugAnnotation uint_value 3 uint64
DebugAnnotation double_value 5 double
DebugAnnotation string_value 6 string
DebugAnnotation name 10 string
`

// perfetto returns the description of Perfetto's messages in the form of the protocol-buffer
// library.
func perfetto(t *testing.T) protoreflect.MessageDescriptor {
	t.Helper()
	types := map[string]descriptorpb.FieldDescriptorProto_Type{
		"uint64": descriptorpb.FieldDescriptorProto_TYPE_UINT64, "uint32": descriptorpb.FieldDescriptorProto_TYPE_UINT32, "int32": descriptorpb.FieldDescriptorProto_TYPE_INT32,
		"fixed64": descriptorpb.FieldDescriptorProto_TYPE_FIXED64, "double": descriptorpb.FieldDescriptorProto_TYPE_DOUBLE, "string": descriptorpb.FieldDescriptorProto_TYPE_STRING,
		"Type": descriptorpb.FieldDescriptorProto_TYPE_INT32, "ChildTracksOrdering": descriptorpb.FieldDescriptorProto_TYPE_INT32, // enumerations, by number
	}
	file := &descriptorpb.FileDescriptorProto{Name: proto.String("trace.proto"), Syntax: proto.String("proto2")}
	messages := map[string]*descriptorpb.DescriptorProto{}
	for line := range strings.Lines(strings.TrimSpace(perfettoFields)) {
		w := strings.Fields(line)
		m := messages[w[0]]
		if m == nil {
			m = &descriptorpb.DescriptorProto{Name: proto.String(w[0])}
			messages[w[0]], file.MessageType = m, append(file.MessageType, m)
		}
		n, err := strconv.ParseInt(w[2], 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		f := &descriptorpb.FieldDescriptorProto{Name: proto.String(w[1]), Number: proto.Int32(int32(n)), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
		if len(w) > 4 {
			f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		}
		if k, ok := types[w[3]]; ok {
			f.Type = k.Enum()
		} else {
			f.Type, f.TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), proto.String("."+w[3])
		}
		m.Field = append(m.Field, f)
	}
	d, err := protodesc.NewFile(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d.Messages().ByName("Trace")
}

// The protocol-buffer library reads a trace by Perfetto's description and knows every field
// of it.
func TestTraceIsPerfettos(t *testing.T) {
	description := perfetto(t)
	var load bytes.Buffer
	if err := trace.WriteLoad(&load, runLoad(t)); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"network": writeTrace(t, samples.Run(t, samples.Read(t, tracedNetwork), anesim.Options{Repeat: 2})), "load": load.Bytes(),
	} {
		m := dynamicpb.NewMessage(description)
		if err := proto.Unmarshal(data, m); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		seen := map[protoreflect.FullName]int{}
		var known func(m protoreflect.Message)
		known = func(m protoreflect.Message) {
			if b := m.GetUnknown(); len(b) > 0 {
				t.Fatalf("%s: %s has what no field of it is: %x", name, m.Descriptor().FullName(), b)
			}
			m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
				seen[f.FullName()]++
				switch {
				case f.Kind() != protoreflect.MessageKind:
				case f.IsList():
					for i := range v.List().Len() {
						known(v.List().Get(i).Message())
					}
				default:
					known(v.Message())
				}
				return true
			})
		}
		known(m)
		for _, field := range []protoreflect.FullName{"TracePacket.track_event", "TrackDescriptor.counter", "TrackEvent.double_counter_value", "DebugAnnotation.uint_value"} {
			if seen[field] == 0 {
				t.Errorf("%s: no %s", name, field)
			}
		}
	}
}

// The fields are those of Perfetto's whole description, where it is at hand.
func TestTraceFieldsArePerfettos(t *testing.T) {
	rows, err := csv.NewReader(bytes.NewReader(material.Read(t, "formats/perfetto-fields.csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	theirs := map[string]bool{}
	for _, r := range rows[1:] {
		line := strings.Join(r[:4], " ")
		if r[4] == "repeated" {
			line += " repeated"
		}
		theirs[line] = true
	}
	for line := range strings.Lines(strings.TrimSpace(perfettoFields)) {
		if line = strings.TrimSpace(line); !theirs[line] {
			t.Errorf("Perfetto's description has no %q", line)
		}
	}
}

// Several results stand one behind the other, each with its name.
func TestTracesOfSeveral(t *testing.T) {
	results := map[string]*anesim.Result{}
	names := []string{"small", "large"}
	for i, name := range names {
		m, err := anesim.Layer("conv", "cin=16", "cout=16", "k=3", "h="+strconv.Itoa(8<<i), "w=8")
		if err != nil {
			t.Fatal(err)
		}
		results[name] = samples.Run(t, m, anesim.Options{})
	}
	var b bytes.Buffer
	if err := trace.WriteAll(&b, "two", func(yield func(string, *anesim.Result) bool) {
		_ = yield(names[0], results[names[0]]) && yield(names[1], results[names[1]])
	}); err != nil {
		t.Fatal(err)
	}
	slices, counters := readTrace(t, b.Bytes())
	found, end := 0, uint64(0)
	for _, s := range slices {
		if s.track != "points" {
			continue
		}
		r := results[s.name].Report
		if s.name != names[found] || s.args["cycles"] != uint64(r.Cycles) || s.from < end || math.Abs(float64(s.to-s.from)-float64(r.Time)) > 1 {
			t.Errorf("point %d is %+v, its report has %d cycles and %v", found, s, r.Cycles, r.Time)
		}
		end = s.to
		found++
	}
	if found != len(names) {
		t.Errorf("%d points", found)
	}
	for _, name := range []string{"L2 fill", "kernel memory fill"} {
		if list := counters[name]; len(list) < 3 || list[0] <= 0 || list[len(list)-1] != 0 {
			t.Errorf("%s is %v", name, list)
		}
	}
}
