package anesim_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/x448/float16"

	"anesim"
	"anesim/firmware/engine"
	"anesim/hw"
	"anesim/loader/lower"
	"anesim/loader/network"
)

func ExampleOpen() {
	m, err := anesim.Open("tools/anesim/examples/mobilenetv2.yaml")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Kind(), m.Name(), len(m.Network().Layers), "layers")
	// Output: network mobilenetv2 64 layers
}

func ExampleRead() {
	const net = `
inputs: {image: {c: 3, h: 32, w: 32}}
layers:
- {name: stem, op: conv, cout: 16, k: 3, pad: 1, act: relu}
- {name: pool, op: reduce, kind: mean, axis: hw}
`
	m, err := anesim.Read("small.yaml", strings.NewReader(net), int64(len(net)))
	if err != nil {
		log.Fatal(err)
	}
	res, err := m.Run(context.Background(), anesim.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, l := range res.Layers {
		fmt.Println(l.Layer.Name, l.Layer.Out, l.Modelled(), l.Report.MACs)
	}
	// Output:
	// stem {1 16 32 32} true 442368
	// pool {1 16 1 1} true 0
}

func ExampleLayer() {
	m, err := anesim.Layer("conv", "cin=2", "cout=2")
	if err != nil {
		log.Fatal(err)
	}
	fp16 := func(values ...float32) (list []float16.Float16) {
		for _, v := range values {
			list = append(list, float16.Fromfloat32(v))
		}
		return list
	}
	res, err := m.Run(context.Background(), anesim.Options{
		Values: true,
		Inputs: map[string][]float16.Float16{"x": fp16(1, 10), "weights": fp16(1, 2, 3, 4)},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Outputs[0].Port.Name, res.Outputs[0].Summary())
	// Output: y [21 43] in [21, 43]
}

// A mistake says what may have been meant.
func ExampleLayer_mistake() {
	_, err := anesim.Layer("conv", "cin=2", "cuot=2")
	var mistake *anesim.LayerError
	fmt.Println(errors.As(err, &mistake), mistake.Nearest)
	// Output: true [cout]
}

func ExampleIdentity() {
	res, err := anesim.Identity().Run(context.Background(), anesim.Options{Values: true, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	in, out := res.Inputs[0], res.Outputs[0]
	fmt.Println(in.Port.Name, "to", out.Port.Name, engine.Checksum(in.Data) == engine.Checksum(out.Data))
	// Output: t0 to t2 true
}

func ExampleFromProgram() {
	p, err := lower.ExampleProgram("add")
	if err != nil {
		log.Fatal(err)
	}
	res, err := anesim.FromProgram(p).Run(context.Background(), anesim.Options{Repeat: 2})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(res.Report.Descriptors), "descriptors of", len(res.Programs[0].Dispatches), "dispatches")
	// Output: 2 descriptors of 2 dispatches
}

// Where the cycles of a run went.
func ExampleResult_Causes() {
	m, err := anesim.Layer("conv", "cin=64", "h=28", "w=28", "cout=64", "k=3", "pad=1")
	if err != nil {
		log.Fatal(err)
	}
	res, err := m.Run(context.Background(), anesim.Options{})
	if err != nil {
		log.Fatal(err)
	}
	causes := res.Causes()
	t, interval := res.Time()
	fmt.Println(causes.Bound(), causes.Total() == res.Report.Cycles)
	fmt.Println(interval.Low < t && t < interval.High, interval.Rows >= 8)
	// Output:
	// compute true
	// true true
}

// What a run rests on and leaves out.
func ExampleResult_Limits() {
	const net = "inputs: {x: {c: 4, h: 8, w: 8}}\nlayers:\n- {op: relu}\n- {op: relu}\n"
	m, err := anesim.Read("net.yaml", strings.NewReader(net), int64(len(net)))
	if err != nil {
		log.Fatal(err)
	}
	res, err := m.Run(context.Background(), anesim.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, l := range res.Limits() {
		fmt.Printf("%s: %.40s...\n", l.Kind, l.What)
	}
	// Output: inferred: tensors stay in L2 between layers as in ...
}

// Cancelling a context ends a run between two descriptors.
func ExampleModel_Run_cancel() {
	ctx, cancel := context.WithCancel(context.Background())
	_, err := anesim.Identity().Run(ctx, anesim.Options{
		Repeat: 1000,
		Progress: func(p anesim.Progress) {
			if p.Stage == anesim.StageRun && p.Done == 10 {
				cancel()
			}
		},
	})
	fmt.Println(errors.Is(err, context.Canceled))
	// Output: true
}

func ExampleResult_Timeline() {
	h, err := engine.HostByName("macos-air")
	if err != nil {
		log.Fatal(err)
	}
	res, err := anesim.Identity().Run(context.Background(), anesim.Options{Host: h})
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range res.Timeline().Spans {
		fmt.Println(s.What)
	}
	// Output:
	// host
	// descriptor 0: transpose
	// descriptor 1: matmul
}

// A model runs on any chip. Rows of 8 elements take 64 bytes each in memory.
func ExampleModel_Run() {
	m, err := anesim.Layer("add", "c=16", "h=8", "w=8")
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range []hw.Chip{hw.M1(), hw.M1Max()} {
		res, err := m.Run(context.Background(), anesim.Options{Chip: c})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(res.Options.Chip.Name, len(res.Report.Descriptors), "descriptor,", res.Report.DMA.Total(), "bytes")
	}
	// Output:
	// m1 1 descriptor, 24576 bytes
	// m1max 1 descriptor, 24576 bytes
}

func ExampleRun() {
	p, err := lower.ExampleProgram("add")
	if err != nil {
		log.Fatal(err)
	}
	res, err := anesim.Run(p, anesim.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Report.Cycles > 0, len(res.Report.Faults), "faults")
	// Output: true 0 faults
}

func ExampleFromNetwork() {
	n, err := network.Read("two.yaml", []byte("inputs: {x: {c: 16, h: 8, w: 8}}\nlayers:\n- {name: a, op: relu}\n- {name: b, op: softmax, axis: c}\n"), network.Options{})
	if err != nil {
		log.Fatal(err)
	}
	m := anesim.FromNetwork(n)
	fmt.Println(m.Kind(), len(m.Network().Layers), "layers")
	// Output: network 2 layers
}

// InMemory keeps every tensor between layers out of L2.
func ExampleOpenOptions() {
	o := anesim.OpenOptions{InMemory: true}
	m, err := o.Open("tools/anesim/examples/mobilenetv2.yaml")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Network().InMemory)
	// Output: true
}

func ExampleProcedures() {
	m, err := anesim.Procedures(1, "relu c=16", "add c=16")
	if err != nil {
		log.Fatal(err)
	}
	programs, err := m.Programs(context.Background(), anesim.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(programs[0].Procedures)
	// Output: [relu add]
}

// A timer gives the figures of [anesim.Model.Run] in less time.
func ExampleNewTimer() {
	t, err := anesim.NewTimer(anesim.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, cout := range []string{"cout=64", "cout=128"} {
		m, err := anesim.Layer("conv", "cin=64", "h=28", "w=28", "k=3", "pad=1", cout)
		if err != nil {
			log.Fatal(err)
		}
		r, err := t.Time(context.Background(), m)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(cout, r.MACs, r.Cycles > 0)
	}
	// Output:
	// cout=64 28901376 true
	// cout=128 57802752 true
}

func ExampleThisTool() {
	fmt.Println(len(anesim.ThisTool().Constants), "digits name the constants")
	// Output: 12 digits name the constants
}
