package network

import (
	"math"
	"slices"
	"testing"
	"time"

	ox "anesim/internal/network/onnxtest"
	"anesim/loader/network/list"
)

// TestExtremeAttributes reads windows whose attributes have any magnitude, with computed weights,
// which are rewritten as slices and paddings. Each must be read or refused without a panic, within a
// second, and at least some of both.
func TestExtremeAttributes(t *testing.T) {
	values := []int{math.MinInt64, -1, 0, 1, 2, 1 << 20, 1 << 40, 1 << 62, math.MaxInt64}
	image, filter := ox.Input("x", 1, 2, 4, 4), ox.Input("w", 2, 2, 3, 3)
	read, refused := 0, 0
	try := func(op string, inputs []string, attributes ...ox.Message) {
		t.Helper()
		at := time.Now()
		net, err := ReadONNX(ox.Model(image, filter, ox.Output("y"), ox.Node(op, "y", inputs, attributes...)), Options{})
		if took := time.Since(at); took > time.Second {
			t.Errorf("%s took %v: %v", op, took, err)
		}
		if err != nil || slices.ContainsFunc(net.Layers, func(l list.Layer) bool { return l.Reason != "" }) {
			refused++
		} else {
			read++
		}
	}
	for _, v := range values {
		for _, op := range []string{"Conv", "ConvTranspose"} {
			for _, name := range []string{"strides", "dilations", "kernel_shape"} {
				try(op, []string{"x", "w"}, ox.List(name, v, v))
				try(op, []string{"x", "w"}, ox.List(name, v, 1))
			}
			try(op, []string{"x", "w"}, ox.Int("group", v))
			for _, u := range values {
				try(op, []string{"x", "w"}, ox.List("pads", v, u, v, u))
				try(op, []string{"x", "w"}, ox.List("strides", v, v), ox.List("output_shape", u, u))
				try(op, []string{"x", "w"}, ox.List("strides", v, v), ox.List("output_padding", u, u))
			}
		}
		for _, u := range values {
			try("LpPool", []string{"x"}, ox.Int("p", v), ox.List("kernel_shape", u, u), ox.Int("ceil_mode", 1))
		}
	}
	if read < 20 || refused < 20 {
		t.Errorf("%d windows were read and %d refused; want at least 20 of each", read, refused)
	}
	t.Logf("%d windows were read and %d refused", read, refused)
}
