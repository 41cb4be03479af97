package anesim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"anesim/hw/execycles"
	"anesim/internal/network/keys"
)

// randomLayer returns a random operation and keys. The engine does not support every layer that it
// returns.
func randomLayer(r *rand.Rand) (op string, keys []string) {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	add := func(name string, v any) { keys = append(keys, fmt.Sprintf("%s=%v", name, v)) }
	switch n := r.IntN(10); {
	case n < 6:
		op = "conv"
		cin := 1 + r.IntN(96)
		add("cin", cin)
		add("h", 1+r.IntN(40))
		add("w", 1+r.IntN(40))
		add("k", 1+r.IntN(5))
		add("stride", 1+r.IntN(3))
		add("pad", pick("same", "valid", "1"))
		switch r.IntN(8) {
		case 0:
			add("groups", "cin")
		case 1:
			add("dilation", 2)
			add("cout", 1+r.IntN(64))
		default:
			add("cout", 1<<r.IntN(8)+r.IntN(2)*r.IntN(64))
		}
		add("bias", pick("true", "false"))
		add("act", pick("none", "relu", "sigmoid"))
	case n < 7:
		op = "deconv"
		add("cin", 1+r.IntN(24))
		add("cout", 1+r.IntN(24))
		add("h", 1+r.IntN(12))
		add("w", 1+r.IntN(12))
		add("k", 1+r.IntN(4))
		add("stride", 1+r.IntN(2))
	case n < 9:
		op = pick("matmul", "linear")
		add("m", 1+r.IntN(200))
		add("k", 1+r.IntN(200))
		add("n", 1+r.IntN(200))
		add("bias", pick("true", "false"))
		add("act", pick("none", "relu", "gelu"))
	default:
		op = pick("add", "mul", "relu", "gelu", "softmax", "layernorm", "pool", "prelu", "pow")
		add("c", 1+r.IntN(64))
		add("h", 1+r.IntN(16))
		add("w", 1+r.IntN(16))
		if op == "pool" {
			add("k", 2)
			add("kind", pick("max", "avg"))
		}
		if op == "add" || op == "mul" {
			add("second", pick("runtime", "constant"))
		}
	}
	return op, keys
}

// A layer that is only timed has no weights and no container; its figures are those of the
// program that has them, descriptor by descriptor. So are a timer's, which uses one engine
// for all.
func TestTimingWithoutWeights(t *testing.T) {
	points := 200
	if os.Getenv("LONG") != "" {
		points = 2000
	}
	ctx := context.Background()
	timer, err := NewTimer(Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(17, 1))
	timed := 0
	// Every operation, and rows on both sides of where products change their form.
	var fixed [][]string
	for _, m := range []string{"1", "8", "16", "24", "32", "64", "128", "256"} {
		fixed = append(fixed, []string{"linear", "m=" + m, "k=64", "n=96", "bias=true"}, []string{"matmul", "m=" + m, "k=64", "n=96", "act=gelu"})
	}
	for _, op := range keys.Names() {
		fixed = append(fixed, []string{op, "c=16", "h=8", "w=8"}, []string{op, "cin=16", "cout=32", "h=8", "w=8", "k=3", "act=sigmoid"})
	}
	for i := range points + len(fixed) {
		var op string
		var keys []string
		if i < len(fixed) {
			op, keys = fixed[i][0], fixed[i][1:]
		} else {
			op, keys = randomLayer(r)
		}
		name := op + " " + strings.Join(keys, " ")
		m, err := Layer(op, keys...)
		if err != nil {
			continue
		}
		o := Options{Seed: 1, Workers: 1}
		programs, whole := m.Programs(ctx, o)
		res, sizes := m.Run(ctx, o)
		if m, err = Layer(op, keys...); err != nil {
			t.Fatal(err)
		}
		fast, direct := timer.Time(ctx, m)
		if text := fmt.Sprint(whole); text != fmt.Sprint(sizes) || text != fmt.Sprint(direct) {
			t.Errorf("%s: %v with weights, %v without, %v by a timer", name, whole, sizes, direct)
			continue
		}
		if whole != nil {
			continue
		}
		compiled := o
		compiled.Target = execycles.H13 // of a layer; estimates of the program do not tell if they are 0
		full, err := FromProgram(programs[0]).Run(ctx, compiled)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		timed++
		if !reflect.DeepEqual(full.Report, res.Report) || !reflect.DeepEqual(full.Report, fast) {
			t.Errorf("%s: with weights %+v\nwithout %+v", name, full.Report, fast)
		}
		low, err := m.lowerOrReuse(ctx, &o, true)
		if err != nil {
			t.Fatal(err)
		}
		if !low.sizes {
			t.Fatalf("%s: a timer made weights", name)
		}
		if got, want := string(low.programs[0].Text), string(programs[0].Text); got != want {
			t.Errorf("%s: the text of the program without weights differs", name)
		}
	}
	if timed < points/2 {
		t.Errorf("only %d of %d points are layers", timed, points)
	}
}

// A network that is only timed is cut into the same programs with the same figures.
func TestNetworkTimingWithoutWeights(t *testing.T) {
	for _, name := range []string{"resnet50", "mobilenetv2", "transformer", "decode"} {
		m, err := Open(filepath.Join("tools/anesim/examples", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		ctx, o := context.Background(), Options{Seed: 1}
		whole, err := m.Programs(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		m.lowered = nil
		low, err := m.lowerOrReuse(ctx, &o, true)
		if err != nil {
			t.Fatal(err)
		}
		if len(low.programs) != len(whole) {
			t.Fatalf("%s: %d programs without weights, %d with", name, len(low.programs), len(whole))
		}
		for i, p := range whole {
			q := low.programs[i].Program
			if string(p.Text) != string(q.Text) || p.BARs != q.BARs || p.TextAddr != q.TextAddr || p.TaskCount != q.TaskCount || !reflect.DeepEqual(p.Ports, q.Ports) {
				t.Errorf("%s: program %d without weights is another", name, i)
			}
			for k := range p.Segments {
				a, b := p.Segments[k], q.Segments[k]
				a.Data, b.Data, b.Unmade = nil, nil, false
				if !reflect.DeepEqual(a, b) {
					t.Errorf("%s: program %d: segment %+v without weights, %+v with", name, i, b, a)
				}
			}
		}
	}
}

func BenchmarkPoint(b *testing.B) {
	t, err := NewTimer(Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		m, err := Layer("conv", "cin=128", "h=28", "w=28", "cout=128", "k=3", "pad=same")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := t.Time(context.Background(), m); err != nil {
			b.Fatal(err)
		}
	}
}
