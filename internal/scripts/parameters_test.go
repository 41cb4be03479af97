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

var seed = flag.Uint64("seed", 304, "of the random programs and sizes")

// randomFamily returns a random layer and the sizes that one program of it serves.
func randomFamily(r *rand.Rand) (f family) {
	from, step := uint64(1+r.IntN(12)), uint64(1+r.IntN(4))
	small := loader.Range{Start: from, Stop: from + step*uint64(1+r.IntN(6)), Step: step}
	wide := loader.Range{Start: 32, Stop: 32 * uint64(2+r.IntN(6)), Step: 32}
	switch r.IntN(5) {
	case 0:
		return family{"k", fmt.Sprintf("matmul m=%d n=%d rhs=runtime", 1+r.IntN(32), 32*(1+r.IntN(3))), wide}
	case 1:
		return family{"n", fmt.Sprintf("matmul m=%d k=%d rhs=runtime", 1+r.IntN(32), 32*(1+r.IntN(3))), wide}
	case 2:
		return family{"n", fmt.Sprintf("relu c=%d h=%d w=%d", 1+r.IntN(40), 1+r.IntN(9), 1+r.IntN(70)), small}
	case 3:
		return family{"h", fmt.Sprintf("conv cin=%d w=%d cout=%d k=%d pad=same", 1+r.IntN(40), 4+r.IntN(40), 1+r.IntN(40), 1+2*r.IntN(2)), small}
	}
	return family{"m", fmt.Sprintf("linear k=%d n=%d", 1+r.IntN(100), 1+r.IntN(100)), small}
}

// A thousand random pairs of a program and a size have the same cycles and values whether the size
// comes with run --bind, with a command on the ring or with a request through the driver, and under load
// their calls take the time and the energy of that run. A size that the program does not have is refused
// by all four, and runs nothing.
func TestSizesAgreeOnEveryPath(t *testing.T) {
	ctx := t.Context()
	m, err := machine.New(ctx, machine.Options{Engine: engine.Options{Values: true, Seed: 1}})
	if err != nil {
		t.Fatal(err)
	}
	send := func(ch command.Channel, id command.ID, slot int, body []byte) command.Reply {
		return m.Send(ch, &command.Message{Header: command.Header{ID: id, Priority: 5, Program: int32(slot)}, Body: body})
	}
	if r := send(command.Control, command.Boot, -1, nil); r.Status != command.OK {
		t.Fatal(r.Why)
	}
	client, ret := m.Driver().NewUserClient(driver.Control, driver.Entitlements(driver.KernelEntitlements()), false)
	if ret != driver.Success {
		t.Fatal(ret)
	}
	selector := func(name string, in []byte) driver.Results {
		t.Helper()
		table := driver.Selectors(driver.Control)
		s := table[slices.IndexFunc(table, func(s driver.Selector) bool { return s.Name == name })]
		in = append(in, make([]byte, int(s.StructIn)-len(in))...)
		return client.Call(s.Number, driver.Arguments{Scalars: make([]uint64, s.ScalarsIn), Struct: in, ScalarsOut: s.ScalarsOut, StructOut: s.StructOut})
	}
	if r := selector("ANE_DeviceOpen", driver.OpenRequest()); r.Return != driver.Success {
		t.Fatal(r.Return)
	}
	r := rand.New(rand.NewPCG(12, *seed))
	pool := slices.Clone(families)
	for range 120 {
		pool = append(pool, randomFamily(r))
	}
	var models []*anesim.Model
	families := pool[:0]
	for _, f := range pool {
		if len(families) == 60 {
			break // the controller has 64 slots
		}
		words := strings.Fields(f.layer)
		model, _, err := anesim.LayerOver(ctx, f.key, f.sizes, words[0], words[1:]...)
		if err != nil && len(families) >= 5 {
			continue // the lowering changes with the size, so one program cannot serve the range
		}
		if err != nil {
			t.Fatal(err)
		}
		i := len(families)
		families, models = append(families, f), append(models, model)
		at, err := m.Add(fmt.Sprintf("%d: %s of %s", i, f.key, f.layer), model)
		if err != nil {
			t.Fatal(err)
		}
		if r := selector("ANE_ProgramCreate", binary.LittleEndian.AppendUint64(nil, at)); r.Return != driver.Success {
			t.Fatal(r.Return)
		}
		if r := selector("ANE_ProgramPrepare", binary.LittleEndian.AppendUint64(nil, uint64(i+1))); r.Return != driver.Success {
			t.Fatal(r.Return)
		}
	}
	type outcome struct {
		cycles uint64
		crc    string
	}
	figures := func(res *engine.Result) (o outcome) {
		o.cycles = uint64(res.Report.Cycles)
		for _, out := range res.Outputs {
			o.crc += engine.Checksum(out.Data) + " "
		}
		return o
	}
	whole := map[string]outcome{}
	loads := 0
	refused := 0
	for range 1000 {
		i := r.IntN(len(families))
		f := &families[i]
		size := f.sizes.Start + r.Uint64N(f.sizes.Stop-f.sizes.Start+1) // often between two steps
		if r.IntN(2) == 0 {
			size = f.sizes.Start + f.sizes.Step*r.Uint64N((f.sizes.Stop-f.sizes.Start)/f.sizes.Step+1)
		}
		if r.IntN(20) == 0 {
			size = []uint64{0, f.sizes.Start - 1, f.sizes.Stop + f.sizes.Step, math.MaxUint64}[r.IntN(4)]
		}
		name := fmt.Sprintf("program %d, %s, %s=%d", i, f.layer, f.key, size)
		run := func() (outcome, error) {
			if o, ok := whole[name]; ok {
				return o, nil
			}
			res, err := models[i].Run(ctx, anesim.Options{Values: true, Seed: 1, Bind: map[string]uint64{f.key: size}})
			if err != nil {
				return outcome{}, err
			}
			whole[name] = figures(&res.Programs[0].Result)
			// Three calls, each when the one before it returns: the engine does not go to sleep.
			s := &traffic.Script{Duration: time.Duration(2.5 * float64(res.Report.Time)), Clients: []traffic.ScriptClient{{Name: "a", Model: "m", Bind: map[string][]uint64{f.key: {size}}}}}
			l, err := scripts.RunClients(ctx, s, func(*traffic.ScriptClient) (*anesim.Model, error) { return models[i], nil })
			if err != nil {
				return outcome{}, err
			}
			loads++
			calls := len(l.Result.Clients[0].Latencies)
			for _, took := range l.Result.Clients[0].Latencies {
				if math.Abs(float64(took-res.Report.Time)) > 1e-6*float64(res.Report.Time) {
					t.Errorf("%s under load: a call takes %v; run --bind has %v", name, took, res.Report.Time)
				}
			}
			if got, want := float64(l.Result.Energy), float64(calls)*float64(res.Report.Energy); calls != 3 || math.Abs(got-want) > 1e-6*want {
				t.Errorf("%s under load: %d calls, %g nJ; want %g", name, calls, got, want)
			}
			return whole[name], nil
		}
		want, failed := run()
		ring := command.Call{OutputSets: 1, Partitions: 1, Requests: 1, LiveIns: []command.LiveIn{{Name: f.key, Value: size}}}
		request := driver.Request{Token: uint64(i + 1), Priority: 5, LiveIns: ring.LiveIns}
		for path, call := range map[string]func() (ok, malformed bool){
			"the ring": func() (bool, bool) {
				reply := send(command.Execution, command.ProcedureCall, i, ring.Append(nil))
				return reply.Status == command.OK, reply.Status == command.Malformed && strings.Contains(reply.Why, fmt.Sprintf("%s is %d; want %d to %d", f.key, size, f.sizes.Start, f.sizes.Stop))
			},
			"selector 2": func() (bool, bool) {
				ret := selector("ANE_ProgramSendRequest", request.Append(nil)).Return
				return ret == driver.Success, ret == driver.BadArgument
			},
		} {
			before := m.Queue().Stats()
			ok, malformed := call()
			if failed != nil && path == "the ring" {
				s := &traffic.Script{Duration: time.Millisecond, Clients: []traffic.ScriptClient{{Name: "a", Model: "m", Bind: map[string][]uint64{f.key: {size}}}}}
				if _, err := scripts.RunClients(ctx, s, func(*traffic.ScriptClient) (*anesim.Model, error) { return models[i], nil }); err == nil {
					t.Errorf("%s under load is accepted; run: %v", name, failed)
				}
			}
			if failed != nil {
				refused++
				if ok || !malformed || m.Queue().Stats() != before {
					t.Errorf("%s by %s: ok %v, malformed %v; run: %v", name, path, ok, malformed, failed)
				}
				continue
			}
			res, err := m.Result(int32(i))
			if !ok || err != nil {
				t.Errorf("%s by %s: ok %v, %v", name, path, ok, err)
				continue
			}
			if got := figures(res); got != want {
				t.Errorf("%s by %s: %+v; run --bind has %+v", name, path, got, want)
			}
		}
	}
	t.Logf("seed %d: %d programs, %d pairs that differ, %d of them under load, %d refusals", *seed, len(families), len(whole), loads, refused)
	if refused < 100 || len(whole) < 60 || loads != len(whole) {
		t.Errorf("%d refusals, %d sizes and %d loads are too few to show anything", refused, len(whole), loads)
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
