package anesim_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim"
	ox "anesim/internal/network/onnxtest"
	"anesim/internal/report"
	"anesim/loader/network"
)

// A row of a table that the engine's own result chooses: the host finds the largest of a
// product and looks the row up, and the engine goes on with it.
func TestHostStages(t *testing.T) {
	const places, width = 6, 8
	identity, table := make([]float32, places*places), make([]float32, places*width)
	for i := range places {
		identity[i*places+i] = 2
	}
	for i := range table {
		table[i] = float32(i)
	}
	n, err := network.ReadONNX(ox.Model(
		ox.Input("x", 1, places), ox.Constant("w", []int{places, places}, identity...), ox.Constant("rows", []int{places, width}, table...),
		ox.Node("MatMul", "scores", []string{"x", "w"}),
		ox.Node("ArgMax", "place", []string{"scores"}, ox.Int("axis", 1), ox.Int("keepdims", 0)),
		ox.Node("Gather", "row", []string{"rows", "place"}), ox.Node("Relu", "y", []string{"row"}),
		ox.Output("y"), ox.Output("place"),
	), network.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float16.Float16, places)
	x[4] = float16.Fromfloat32(1)
	res, err := anesim.FromNetwork(n).Run(context.Background(), anesim.Options{Values: true, Inputs: map[string][]float16.Float16{"x": x}})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Outputs) != 2 || len(res.Programs) != 2 {
		t.Fatalf("%d outputs, %d programs", len(res.Outputs), len(res.Programs))
	}
	for i, v := range res.Outputs[0].Data {
		if v.Float32() != float32(4*width+i) {
			t.Errorf("element %d is %v", i, v)
		}
	}
	if p := res.Outputs[1]; len(p.Numbers) != 1 || p.Numbers[0] != 4 {
		t.Errorf("place %v", p.Numbers)
	}
	d := report.NewNetwork(res)
	if c := d.Coverage; c.Done != 4 || c.Hosted != 2 || len(d.NotModelled) != 0 {
		t.Errorf("%+v", c)
	}
	sum := 0.0
	for _, l := range d.Layers {
		if l.HostNs > 0 {
			sum += float64(l.HostNs)
			if l.HostWhy == "" {
				t.Errorf("%s has no reason", l.Name)
			}
		}
	}
	if d.StagesNs <= 0 || math.Abs(sum-float64(d.StagesNs)) > 1e-6 || math.Abs(float64(d.Total.WallNs-d.Total.TimeNs-d.StagesNs)) > 1e-6 {
		t.Errorf("stages take %v, their layers %v; the wall %v of %v", d.StagesNs, sum, d.Total.WallNs, d.Total.TimeNs)
	}
	spans := 0.0
	for _, s := range d.Power {
		spans += float64(s.ForNs)
	}
	if math.Abs(spans-float64(d.Total.WallNs)) > 1e-6 {
		t.Errorf("spans of %v on a wall of %v", spans, d.Total.WallNs)
	}
}

// A place that a table does not have gives no values, and says which stage it was.
func TestHostStageFails(t *testing.T) {
	n, err := network.ReadONNX(ox.Model(
		ox.Input("x", 1, 4), ox.Constant("rows", []int{2, 8}, make([]float32, 16)...),
		ox.Node("ArgMax", "place", []string{"x"}, ox.Int("axis", 1), ox.Int("keepdims", 0)),
		ox.Node("Gather", "row", []string{"rows", "place"}), ox.Node("Relu", "y", []string{"row"}), ox.Output("y"),
	), network.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float16.Float16, 4)
	x[3] = float16.Fromfloat32(1)
	res, err := anesim.FromNetwork(n).Run(context.Background(), anesim.Options{Values: true, Inputs: map[string][]float16.Float16{"x": x}})
	if err != nil || len(res.Outputs) != 0 {
		t.Fatalf("%v, %d outputs", err, len(res.Outputs))
	}
	note := ""
	for _, l := range res.Layers {
		note += l.Note
	}
	if !strings.Contains(note, "index 3 is out of range for an axis of 2 elements") {
		t.Errorf("note %q", note)
	}
}

// What the host works out of values that the engine made is what the operator is defined as.
func TestStagesAreTheirDefinitions(t *testing.T) {
	in := []float64{3, -1, 2, 5, 5, 0, -4, 7, 1, 7, -2, 6}
	whole := func(name string, dims []int, v ...int) ox.Message { return ox.Whole(name, 7, 8, dims, v...) }
	for _, tc := range []struct {
		op     string
		inputs []string
		parts  []ox.Message
		attrs  []ox.Message
		want   []float64
	}{
		{"TopK", []string{"v", "k"}, []ox.Message{whole("k", []int{1}, 2)}, []ox.Message{ox.Int("axis", 1)}, []float64{5, 5, 7, 7}},
		{"GatherElements", []string{"v", "at"}, []ox.Message{whole("at", []int{2, 2}, 5, -1, 0, 1)}, []ox.Message{ox.Int("axis", 1)}, []float64{0, 0, -4, 7}},
		{"GatherND", []string{"v", "at"}, []ox.Message{whole("at", []int{2, 2}, 1, 3, 0, -6)}, nil, []float64{7, 3}},
		{"ScatterElements", []string{"v", "at", "with"}, []ox.Message{whole("at", []int{1, 2}, 2, 0), ox.Constant("with", []int{1, 2}, 9, 8)},
			[]ox.Message{ox.Int("axis", 1)}, []float64{8, -1, 9, 5, 5, 0, -4, 7, 1, 7, -2, 6}},
		{"ScatterND", []string{"v", "at", "with"}, []ox.Message{whole("at", []int{2, 2}, 1, 0, 0, 5), ox.Constant("with", []int{2}, 1, 2)},
			[]ox.Message{ox.Text("reduction", "add")}, []float64{3, -1, 2, 5, 5, 2, -3, 7, 1, 7, -2, 6}},
		{"Hardmax", []string{"v"}, nil, []ox.Message{ox.Int("axis", 1)}, []float64{0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0}},
		{"Trilu", []string{"v", "k"}, []ox.Message{whole("k", nil, 1)}, nil, []float64{0, -1, 2, 5, 5, 0, 0, 0, 1, 7, -2, 6}},
		{"ReverseSequence", []string{"v", "lengths"}, []ox.Message{whole("lengths", []int{2}, 3, 6)}, []ox.Message{ox.Int("time_axis", 1), ox.Int("batch_axis", 0)},
			[]float64{2, -1, 3, 5, 5, 0, 6, -2, 7, 1, 7, -4}},
		{"Compress", []string{"v", "keep"}, []ox.Message{ox.Whole("keep", 9, 1, []int{6}, 0, 1, 0, 0, 1, 0)}, []ox.Message{ox.Int("axis", 1)}, []float64{-1, 5, 7, -2}},
	} {
		parts := append([]ox.Message{ox.Input("x", 2, 6), ox.Node("Mul", "v", []string{"x", "two"}), ox.Constant("two", nil, 2),
			ox.Node(tc.op, "y", tc.inputs, tc.attrs...), ox.Output("y")}, tc.parts...)
		n, err := network.ReadONNX(ox.Model(parts...), network.Options{})
		if err != nil {
			t.Errorf("%s: %v", tc.op, err)
			continue
		}
		var x []float16.Float16
		for _, v := range in {
			x = append(x, float16.Fromfloat32(float32(v/2)))
		}
		res, err := anesim.FromNetwork(n).Run(t.Context(), anesim.Options{Values: true, Inputs: map[string][]float16.Float16{"x": x}})
		if err != nil || len(res.Outputs) != 1 {
			t.Errorf("%s: %v, %d outputs, reasons %q", tc.op, err, len(res.Outputs), reasonsOf(res))
			continue
		}
		var got []float64
		for _, h := range res.Outputs[0].Data {
			got = append(got, float64(h.Float32()))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.op, got, tc.want)
		}
	}
}

// Outputs have the shape that their values give them, none of them too. What the engine reads
// has its largest shape, with zeros, and a note says so; its result has the actual rows.
func TestSizesThatDependOnValues(t *testing.T) {
	const rows, width = 4, 2
	n, err := network.ReadONNX(ox.Model(
		ox.Input("x", rows, width), ox.Constant("zero", nil, 0), ox.Constant("two", []int{width, width}, 2, 0, 0, 2), ox.Whole("0", 7, 8, nil, 0),
		ox.Node("ReduceMax", "score", []string{"x"}, ox.List("axes", 1), ox.Int("keepdims", 0)), ox.Node("Greater", "good", []string{"score", "zero"}),
		ox.Node("Compress", "kept", []string{"x", "good"}, ox.Int("axis", 0)), ox.Node("Shape", "size", []string{"kept"}),
		ox.Node("MatMul", "product", []string{"kept", "two"}), ox.Output("kept"), ox.Output("size"), ox.Output("product"),
	), network.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if note := strings.Join(n.Notes, "\n"); !strings.Contains(note, `layer product reads "kept" at its largest, 4 along axis 0`) {
		t.Errorf("notes %q", note)
	}
	for _, tc := range []struct {
		x             []float32
		kept, product []float64
	}{
		{[]float32{1, 2, -1, -2, 3, 4, -5, 5}, []float64{1, 2, 3, 4, -5, 5}, []float64{2, 4, 6, 8, -10, 10}},
		{[]float32{-1, -2, -1, -2, -3, -4, -5, 0}, nil, nil},
	} {
		var x []float16.Float16
		for _, v := range tc.x {
			x = append(x, float16.Fromfloat32(v))
		}
		res, err := anesim.FromNetwork(n).Run(t.Context(), anesim.Options{Values: true, Inputs: map[string][]float16.Float16{"x": x}})
		if err != nil || len(res.Outputs) != 3 {
			t.Fatalf("%v, %d outputs, reasons %q", err, len(res.Outputs), reasonsOf(res))
		}
		kept, size, product := &res.Outputs[0], &res.Outputs[1], &res.Outputs[2]
		if got := floats(kept.Data); !slices.Equal(kept.Shape(), []int{len(tc.kept) / width, width}) || !slices.Equal(got, tc.kept) {
			t.Errorf("of %v are kept %v, %v; want %v", tc.x, kept.Shape(), got, tc.kept)
		}
		if want := []float64{float64(len(tc.kept) / width), width}; !slices.Equal(size.Numbers, want) {
			t.Errorf("of %v the size is %v, want %v", tc.x, size.Numbers, want)
		}
		if got := floats(product.Data); !slices.Equal(got, tc.product) {
			t.Errorf("of %v the product is %v, want %v", tc.x, got, tc.product)
		}
		if d := report.NewNetwork(res); !slices.Equal(d.Outputs[0].Shape, kept.Shape()) {
			t.Errorf("the document says shape %v, want %v", d.Outputs[0].Shape, kept.Shape())
		}
	}
}
