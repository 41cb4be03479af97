package network

import (
	"regexp"
	"strconv"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	ox "anesim/internal/network/onnxtest"
	"anesim/loader/internal/cost"
)

// largest are the sizes that take the place of those in a file.
var largest = [...]int{1 << 14, 1<<16 + 1, 1 << 20, 1<<24 - 1, 1 << 29, 1 << 31, 1 << 40}

// folded is what a reader allocates in all, of a small file that states large shapes: constants
// of 512 MB and what goes with them.
var folded = cost.Rule{Bytes: 1 << 30, PerByte: 1 << 14}

// enlargeNumber returns a text in which one number is replaced by a large one. The number is
// selected by its index, which starts again at 0 after the last number.
func enlargeNumber(data []byte, at, size int) []byte {
	places := numberInText.FindAllIndex(data, -1)
	if len(places) == 0 {
		return data
	}
	p := places[at%len(places)]
	out := append([]byte{}, data[:p[0]]...)
	return append(strconv.AppendInt(out, int64(largest[size%len(largest)]), 10), data[p[1]:]...)
}

var numberInText = regexp.MustCompile(`\b[0-9]+\b`)

// enlargeVarint returns a message in which one varint is replaced by a large one. The varint is
// selected by its index, counted through all nested messages. The second result is the number of
// varints that were visited.
func enlargeVarint(data []byte, at, size int) (out []byte, seen int) {
	for rest := data; len(rest) > 0; {
		num, typ, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return data, 0
		}
		k := protowire.ConsumeFieldValue(num, typ, rest[n:])
		if k < 0 {
			return data, 0
		}
		value := rest[n : n+k]
		rest = rest[n+k:]
		out = protowire.AppendTag(out, num, typ)
		switch typ {
		case protowire.VarintType:
			if seen == at {
				value = protowire.AppendVarint(nil, uint64(largest[size%len(largest)]))
			}
			seen++
		case protowire.BytesType:
			body, _ := protowire.ConsumeBytes(value)
			inner, more := enlargeVarint(body, at-seen, size)
			seen += more
			value = protowire.AppendBytes(nil, inner)
		}
		out = append(out, value...)
	}
	return out, seen
}

// checkEnlarged enlarges one number of a file and checks that reading the file stays within the
// memory rule.
func checkEnlarged(t *testing.T, data []byte, text bool, at, size int, read func([]byte) error) {
	t.Helper()
	var large []byte
	if text {
		large = enlargeNumber(data, at, size)
	} else {
		_, n := enlargeVarint(data, -1, 0)
		large, _ = enlargeVarint(data, at%max(1, n), size)
	}
	if err := folded.Check(len(large), func() { _ = read(large) }); err != nil {
		t.Errorf("%v: %q", err, large[:min(len(large), 4<<10)])
	}
}

// TestLargeNumbers makes every number of a file large, one after the other: of a file for each
// reader, with operators that repeat, pad and pick.
func TestLargeNumbers(t *testing.T) {
	onnx := func(data []byte) error { _, err := ReadONNX(data, Options{}); return err }
	mil := func(data []byte) error { _, err := ReadMIL(data, Options{}); return err }
	coreML := func(data []byte) error { _, err := ReadCoreML(data, Options{}); return err }
	yaml := func(data []byte) error { _, err := ReadYAML(data); return err }
	graph := ox.Model(
		ox.Input("x", 1, 4, 8, 8), ox.Input("z", 1, 1, 8, 1), ox.Constant("w", []int{8, 4, 3, 3}), ox.Ints("s", 1, 4, 8, 8), ox.Ints("r", 1, 1, 2, 2),
		ox.Ints("p", 0, 0, 1, 1, 0, 0, 1, 1), ox.Constant("one", nil, 1), ox.Ints("i", 0, 2, 4, 6, 7),
		ox.Node("Add", "a", []string{"x", "z"}), ox.Node("Conv", "c", []string{"x", "w"}, ox.List("dilations", 2, 2), ox.List("pads", 1, 1, 1, 1)),
		ox.Node("Expand", "e", []string{"z", "s"}), ox.Node("Tile", "t", []string{"x", "r"}), ox.Node("Pad", "q", []string{"x", "p", "one"}),
		ox.Node("Gather", "g", []string{"x", "i"}, ox.Int("axis", 3)), ox.Node("AveragePool", "v", []string{"x"}, ox.List("kernel_shape", 3, 3), ox.List("pads", 1, 1, 1, 1)),
		ox.Node("ConvTranspose", "d", []string{"x", "k"}, ox.List("strides", 2, 2), ox.List("dilations", 2, 2)), ox.Constant("k", []int{4, 1, 2, 2}, make([]float32, 16)...),
		ox.Node("ConstantOfShape", "f", []string{"s"}), ox.Node("Trilu", "l", []string{"x"}), ox.Output("a"))
	for _, c := range []struct {
		name string
		data []byte
		text bool
		read func([]byte) error
	}{
		{"ONNX", graph, false, onnx},
		{"MIL", []byte(small), true, mil},
		{"layers of Core ML", newLayersModel(), false, coreML},
		{"YAML", []byte("inputs: {x: {c: 4, h: 8, w: 8}}\nlayers:\n- {op: conv, cout: 4, k: 3, pad: same}\n- {op: slice, axis: w, size: 4}\n- {op: relu}\n"), true, yaml},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := len(numberInText.FindAll(c.data, -1))
			if !c.text {
				_, n = enlargeVarint(c.data, -1, 0)
			}
			for at := range n {
				for size := range largest {
					checkEnlarged(t, c.data, c.text, at, size, c.read)
				}
			}
		})
	}
}
