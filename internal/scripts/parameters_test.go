package scripts_test

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"anesim"
	"anesim/firmware/engine"
	"anesim/internal/firmware/command"
	"anesim/internal/firmware/driver"
	"anesim/internal/firmware/machine"
	"anesim/internal/firmware/traffic"
	"anesim/internal/scripts"
	"anesim/loader"
)

// A family is a layer with a key that one program serves for a range of sizes.
type family struct {
	key, layer string
	sizes      loader.Range
}

// families are layers of which one program serves a range of sizes.
var families = []family{
	{"k", "matmul m=16 n=32 rhs=runtime", loader.Range{Start: 32, Stop: 128, Step: 32}},
	{"n", "matmul m=16 k=32 rhs=runtime", loader.Range{Start: 32, Stop: 128, Step: 32}},
	{"n", "relu c=8 h=4 w=32", loader.Range{Start: 1, Stop: 4, Step: 1}},
	{"h", "conv cin=8 w=32 cout=16 k=3 pad=same", loader.Range{Start: 4, Stop: 16, Step: 1}},
	{"m", "linear k=64 n=32", loader.Range{Start: 5, Stop: 8, Step: 1}},
}

var (
	seed  = flag.Uint64("seed", 304, "of the random programs and sizes")
	pairs = flag.Int("pairs", 100, "pairs of a random program and a size that TestSizesAgreeOnEveryPath compares")
)

// randomFamily returns a random layer and the sizes that one program of it may serve: small sizes, or
// those of 32 and more from which a lowering often changes no longer.
func randomFamily(r *rand.Rand) (f family) {
	from, step := uint64(1+r.IntN(12)), uint64(1+r.IntN(4))
	small := loader.Range{Start: from, Stop: from + step*uint64(1+r.IntN(12)), Step: step}
	aligned := loader.Range{Start: 32, Stop: 32 * uint64(2+r.IntN(8)), Step: 32}
	large := loader.Range{Start: 32 + from, Stop: 32 + from + step*uint64(1+r.IntN(12)), Step: step}
	one := []string{"relu", "sigmoid", "tanh", "gelu", "silu", "softmax"}[r.IntN(6)]
	two := []string{"add", "sub", "mul", "max", "min"}[r.IntN(5)]
	switch r.IntN(11) {
	case 0:
		return family{"k", fmt.Sprintf("matmul m=%d n=%d rhs=runtime", 1+r.IntN(32), 32*(1+r.IntN(3))), aligned}
	case 1:
		return family{"n", fmt.Sprintf("matmul m=%d k=%d rhs=runtime", 1+r.IntN(32), 32*(1+r.IntN(3))), aligned}
	case 2:
		return family{"n", fmt.Sprintf("relu c=%d h=%d w=%d", 1+r.IntN(40), 1+r.IntN(9), 1+r.IntN(70)), small}
	case 3:
		return family{"h", fmt.Sprintf("conv cin=%d w=%d cout=%d k=%d pad=same", 1+r.IntN(40), 4+r.IntN(40), 1+r.IntN(40), 1+2*r.IntN(2)), small}
	case 4:
		return family{"h", fmt.Sprintf("conv cin=%d w=%d cout=%d k=3 stride=2 pad=1", 1+r.IntN(20), 8+r.IntN(40), 1+r.IntN(40)), large}
	case 5:
		return family{"w", fmt.Sprintf("conv cin=%d h=%d cout=%d k=%d pad=same", 1+r.IntN(20), 4+r.IntN(20), 1+r.IntN(40), 1+2*r.IntN(2)), aligned}
	case 6:
		return family{"h", fmt.Sprintf("%s c=%d w=%d", one, 1+r.IntN(40), 1+r.IntN(70)), large}
	case 7:
		return family{"w", fmt.Sprintf("%s c=%d h=%d", one, 1+r.IntN(40), 1+r.IntN(9)), aligned}
	case 8:
		return family{"n", fmt.Sprintf("%s c=%d h=%d w=%d", two, 1+r.IntN(40), 1+r.IntN(9), 1+r.IntN(70)), small}
	case 9:
		return family{"h", fmt.Sprintf("%s c=%d w=%d", two, 1+r.IntN(40), 1+r.IntN(70)), large}
	}
	return family{"m", fmt.Sprintf("linear k=%d n=%d", 1+r.IntN(100), 1+r.IntN(100)), small}
}

// randomSize returns a size that the program of f has, or with even odds any between its first and its last,
// often between two steps, or once in twenty times one that is far outside.
func (f *family) randomSize(r *rand.Rand) uint64 {
	if r.IntN(20) == 0 {
		return []uint64{0, f.sizes.Start - 1, f.sizes.Stop + f.sizes.Step, math.MaxUint64}[r.IntN(4)]
	}
	if r.IntN(2) == 0 {
		return f.sizes.Start + f.sizes.Step*r.Uint64N((f.sizes.Stop-f.sizes.Start)/f.sizes.Step+1)
	}
	return f.sizes.Start + r.Uint64N(f.sizes.Stop-f.sizes.Start+1)
}

// An outcome is what a call with a size costs and computes.
type outcome struct {
	cycles uint64
	crc    string
}

func outcomeOf(res *engine.Result) (o outcome) {
	o.cycles = uint64(res.Report.Cycles)
	for _, out := range res.Outputs {
		o.crc += engine.Checksum(out.Data) + " "
	}
	return o
}

// A device is a booted machine with an open client, and the models that are loaded on it.
type device struct {
	*machine.Machine
	client *driver.Client
	models []*anesim.Model
}

func openDevice(t *testing.T, o machine.Options) *device {
	t.Helper()
	m, err := machine.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	d := &device{Machine: m}
	if r := d.send(command.Control, command.Boot, -1, nil); r.Status != command.OK {
		t.Fatal(r.Why)
	}
	d.open(t)
	return d
}

// open makes the device's client a new one.
func (d *device) open(t *testing.T) {
	t.Helper()
	client, ret := d.Driver().NewUserClient(driver.Control, driver.Entitlements(driver.KernelEntitlements()), false)
	if ret != driver.Success {
		t.Fatal(ret)
	}
	d.client = client
	if ret := d.call("ANE_DeviceOpen", driver.OpenRequest()); ret != driver.Success {
		t.Fatal(ret)
	}
}

// send sends a command to the program in a slot, without a client.
func (d *device) send(ch command.Channel, id command.ID, slot int, body []byte) command.Reply {
	return d.Send(ch, &command.Message{Header: command.Header{ID: id, Priority: 5, Program: int32(slot)}, Body: body})
}

// call calls a selector of the driver with a struct of its size.
func (d *device) call(name string, in []byte) driver.Return { return call(d.client, name, in, nil) }

// call calls a selector as a client. If wake is not nil, it gets the completion of the request.
func call(c *driver.Client, name string, in []byte, wake func(driver.Completion)) driver.Return {
	table := driver.Selectors(driver.Control)
	s := table[slices.IndexFunc(table, func(s driver.Selector) bool { return s.Name == name })]
	in = append(in, make([]byte, int(s.StructIn)-len(in))...)
	return c.Call(s.Number, driver.Arguments{Scalars: make([]uint64, s.ScalarsIn), Struct: in, ScalarsOut: s.ScalarsOut, StructOut: s.StructOut, Wake: wake}).Return
}

// load loads a model into the next slot, and prepares it.
func (d *device) load(t *testing.T, model *anesim.Model) {
	t.Helper()
	slot := len(d.models)
	d.models = append(d.models, model)
	at, err := d.Add(fmt.Sprint("model ", slot), model)
	if err != nil {
		t.Fatal(err)
	}
	if ret := d.call("ANE_ProgramCreate", binary.LittleEndian.AppendUint64(nil, at)); ret != driver.Success {
		t.Fatal(ret)
	}
	if ret := d.call("ANE_ProgramPrepare", binary.LittleEndian.AppendUint64(nil, uint64(slot+1))); ret != driver.Success {
		t.Fatal(ret)
	}
}

// runUnderLoad calls a model with a size for a time.
func runUnderLoad(t *testing.T, model *anesim.Model, key string, size uint64, d time.Duration) (*traffic.Result, error) {
	s := &traffic.Script{Duration: d, Clients: []traffic.ScriptClient{{Name: "a", Model: "m", Bind: map[string][]uint64{key: {size}}}}}
	l, err := scripts.RunClients(t.Context(), s, func(*traffic.ScriptClient) (*anesim.Model, error) { return model, nil })
	if err != nil {
		return nil, err
	}
	return l.Result, nil
}

// compare runs the program in a slot with a size on all four ways, and reports whether it has that size.
func (d *device) compare(t *testing.T, slot int, f *family, size uint64) (served bool) {
	name, model := fmt.Sprintf("%s over %+v, %s=%d", f.layer, f.sizes, f.key, size), d.models[slot]
	res, failed := model.Run(t.Context(), anesim.Options{Values: true, Seed: 1, Bind: map[string]uint64{f.key: size}})
	duration := time.Millisecond
	if failed == nil {
		// Three calls, each when the one before it returns: the engine does not go to sleep.
		duration = time.Duration(2.5 * float64(res.Report.Time))
	}
	switch l, err := runUnderLoad(t, model, f.key, size, duration); {
	case (err == nil) != (failed == nil):
		t.Errorf("%s under load: %v; run: %v", name, err, failed)
	case err == nil:
		calls := l.Clients[0].Latencies
		for _, took := range calls {
			if math.Abs(float64(took-res.Report.Time)) > 1e-6*float64(res.Report.Time) {
				t.Errorf("%s under load: a call takes %v; run --bind has %v", name, took, res.Report.Time)
			}
		}
		if got, want := float64(l.Energy), 3*float64(res.Report.Energy); len(calls) != 3 || math.Abs(got-want) > 1e-6*want {
			t.Errorf("%s under load: %d calls, %g nJ; want 3, %g", name, len(calls), got, want)
		}
	}
	ring := command.Call{OutputSets: 1, Partitions: 1, Requests: 1, LiveIns: []command.LiveIn{{Name: f.key, Value: size}}}
	request := driver.Request{Token: uint64(slot + 1), Priority: 5, LiveIns: ring.LiveIns}
	for _, way := range []struct {
		name string
		call func() (ok, malformed bool)
	}{
		{"the ring", func() (bool, bool) {
			reply := d.send(command.Execution, command.ProcedureCall, slot, ring.Append(nil))
			return reply.Status == command.OK, reply.Status == command.Malformed && strings.Contains(reply.Why, fmt.Sprintf("%s is %d; want %d to %d", f.key, size, f.sizes.Start, f.sizes.Stop))
		}},
		{"selector 2", func() (bool, bool) {
			ret := d.call("ANE_ProgramSendRequest", request.Append(nil))
			return ret == driver.Success, ret == driver.BadArgument
		}},
	} {
		before := d.Queue().Stats()
		ok, malformed := way.call()
		if failed != nil {
			if ok || !malformed || d.Queue().Stats() != before {
				t.Errorf("%s by %s: ok %v, malformed %v; run: %v", name, way.name, ok, malformed, failed)
			}
			continue
		}
		got, err := d.Result(int32(slot))
		if !ok || err != nil {
			t.Errorf("%s by %s: ok %v, %v", name, way.name, ok, err)
			continue
		}
		if got, want := outcomeOf(got), outcomeOf(&res.Programs[0].Result); got != want {
			t.Errorf("%s by %s: %+v; run --bind has %+v", name, way.name, got, want)
		}
	}
	return failed == nil
}

// Random pairs of a program and a size, no two alike, have the same cycles and values whether the size
// comes with run --bind, with a command on the ring or with a request through the driver, and under load
// their calls take the time and the energy of that run. A size that the program does not have is refused
// by all four, and runs nothing. The long job compares 1,000 pairs.
func TestSizesAgreeOnEveryPath(t *testing.T) {
	r := rand.New(rand.NewPCG(12, *seed))
	type pair struct {
		key, layer string
		size       uint64
	}
	tried := map[pair]bool{}
	fixed, served, refused, programs := families, 0, 0, 0
	for served < *pairs && !t.Failed() {
		d := openDevice(t, machine.Options{Engine: engine.Options{Values: true, Seed: 1}})
		for len(d.models) < 40 && served < *pairs { // the controller has 64 slots
			var f family
			if len(fixed) > 0 {
				f, fixed = fixed[0], fixed[1:]
			} else {
				f = randomFamily(r)
			}
			words := strings.Fields(f.layer)
			model, _, err := anesim.LayerOver(t.Context(), f.key, f.sizes, words[0], words[1:]...)
			if err != nil && slices.Contains(families, f) {
				t.Fatal(err)
			}
			if err != nil {
				continue // the lowering changes with the size, so one program cannot serve the range
			}
			d.load(t, model)
			programs++
			for range 12 {
				p := pair{f.key, f.layer, f.randomSize(r)}
				if tried[p] {
					continue
				}
				tried[p] = true
				if d.compare(t, len(d.models)-1, &f, p.size) {
					served++
				} else {
					refused++
				}
			}
		}
	}
	t.Logf("seed %d: %d programs, %d different pairs, and %d that are refused", *seed, programs, served, refused)
	if refused < served/8 || programs < served/12 {
		t.Errorf("%d refusals and %d programs are too few to show anything", refused, programs)
	}
}

// A client whose calls take sizes in turn keeps the engine busy for the sum of the times that its
// program has with each of them.
func TestLoadOfSizesInTurn(t *testing.T) {
	for _, f := range families {
		words := strings.Fields(f.layer)
		model, _, err := anesim.LayerOver(t.Context(), f.key, f.sizes, words[0], words[1:]...)
		if err != nil {
			t.Fatal(err)
		}
		sizes := []uint64{f.sizes.Stop, f.sizes.Start, f.sizes.Start + f.sizes.Step}
		var times []float64
		for _, v := range sizes {
			res, err := model.Run(t.Context(), anesim.Options{Bind: map[string]uint64{f.key: v}})
			if err != nil {
				t.Fatal(err)
			}
			times = append(times, float64(res.Report.Time))
		}
		s := &traffic.Script{Duration: 100e3, Clients: []traffic.ScriptClient{
			{Name: "sizes", Model: "m", Arrival: "fixed", Rate: 2e5, Bind: map[string][]uint64{f.key: sizes}},
			{Name: "one", Model: "m", Arrival: "fixed", Rate: 1e5, Bind: map[string][]uint64{f.key: {sizes[1]}}},
		}}
		l, err := scripts.RunClients(context.Background(), s, func(*traffic.ScriptClient) (*anesim.Model, error) { return model, nil })
		if err != nil {
			t.Fatal(err)
		}
		want := 0.0
		for i := range l.Result.Clients[0].Latencies {
			want += times[i%3]
		}
		want += float64(len(l.Result.Clients[1].Latencies)) * times[1]
		if got := float64(l.Result.Busy); len(l.Result.Clients[0].Latencies) < 20 || math.Abs(got-want) > 1e-6*want {
			t.Errorf("%s: busy for %g ns; want %g, of %d and %d calls", f.layer, got, want, len(l.Result.Clients[0].Latencies), len(l.Result.Clients[1].Latencies))
		}
	}
}
