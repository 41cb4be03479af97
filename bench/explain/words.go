package explain

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"anesim"
	"anesim/loader/layer"
)

// layerWords are the operation and keys that [Layer] makes the layer of, nil where none
// make just this one.
func layerWords(l *layer.Layer) []string {
	w := layerText{}
	switch l.Op {
	case layer.Convolution, layer.Deconvolution:
		w.conv(l)
	case layer.MatMul, layer.Linear:
		w.product(l)
	case layer.Add, layer.Sub, layer.Mul, layer.Max, layer.Min, layer.RealDiv, layer.Average:
		w.binary(l)
	case layer.Softmax, layer.LayerNorm:
		w.tensor(l)
		w.add("axis", axesText(l.Axes))
		w.number("eps", l.Epsilon)
	case layer.ReduceSum, layer.ReduceMean, layer.ReduceMax, layer.ReduceMin:
		w.tensor(l)
		w.words[0] = "reduce"
		w.add("kind", strings.TrimPrefix(l.Op.String(), "reduce_"))
		w.add("axis", axesText(l.Axes))
	case layer.Pool:
		w.tensor(l)
		w.window(&l.Window, 1)
	case layer.Concat:
		w.words = []string{l.Op.String()}
		w.count("n", l.In.N)
		parts := make([]string, len(l.Parts))
		for i, c := range l.Parts {
			parts[i] = strconv.Itoa(c)
		}
		w.add("parts", strings.Join(parts, "+"))
		w.count("h", l.In.H)
		w.count("w", l.In.W)
	default:
		w.tensor(l)
		w.number("eps", l.Epsilon)
		w.number("alpha", l.Alpha)
		w.number("low", l.Low)
		w.number("high", l.High)
	}
	if l.Activation != 0 {
		w.add("act", l.Activation.String())
	}
	m, err := anesim.Layer(w.words[0], w.words[1:]...)
	if err != nil || !reflect.DeepEqual(m.Network().Layers[0].Lower, *l) {
		return nil // of a form that no key says, such as one that only a network gives
	}
	return w.words
}

// A layerText is an operation and keys in the making. Keys at what they are when they are
// left out are left out.
type layerText struct{ words []string }

func (w *layerText) add(key, value string) { w.words = append(w.words, key+"="+value) }

func (w *layerText) count(key string, n int) {
	if n > 1 {
		w.add(key, strconv.Itoa(n))
	}
}

func (w *layerText) number(key string, v float32) {
	if v != 0 {
		w.add(key, strconv.FormatFloat(float64(v), 'g', -1, 32))
	}
}

func (w *layerText) flag(key string, v bool) {
	if v {
		w.add(key, "true")
	}
}

func (w *layerText) tensor(l *layer.Layer) {
	w.words = []string{l.Op.String()}
	w.count("n", l.In.N)
	w.count("c", l.In.C)
	w.count("h", l.In.H)
	w.count("w", l.In.W)
}

func (w *layerText) conv(l *layer.Layer) {
	w.words = []string{l.Op.String()}
	w.count("n", l.In.N)
	w.add("cin", strconv.Itoa(l.In.C))
	w.count("h", l.In.H)
	w.count("w", l.In.W)
	w.add("cout", strconv.Itoa(l.Cout))
	w.window(&l.Window, max(1, l.Dilation))
	w.count("dilation", l.Dilation)
	w.count("groups", l.Groups)
	w.flag("bias", l.Bias)
}

func (w *layerText) window(x *layer.Window, dilation int) {
	kh, kw := (x.Kh-1)/dilation+1, (x.Kw-1)/dilation+1
	if kh == kw {
		w.add("k", strconv.Itoa(kh))
	} else {
		w.add("kh", strconv.Itoa(kh))
		w.add("kw", strconv.Itoa(kw))
	}
	if x.Sy == x.Sx {
		w.count("stride", x.Sy)
	} else {
		w.add("sy", strconv.Itoa(x.Sy))
		w.add("sx", strconv.Itoa(x.Sx))
	}
	switch {
	case x.Py == x.Qy && x.Py == x.Px && x.Py == x.Qx:
		if x.Py > 0 {
			w.add("pad", strconv.Itoa(x.Py))
		}
	default:
		w.add("pad", fmt.Sprintf("%d,%d,%d,%d", x.Py, x.Qy, x.Px, x.Qx))
	}
}

func (w *layerText) product(l *layer.Layer) {
	w.words = []string{l.Op.String()}
	w.count("c", l.In.C)
	w.add("m", strconv.Itoa(l.In.H))
	w.add("k", strconv.Itoa(l.In.W))
	w.add("n", strconv.Itoa(l.Columns))
	if l.Second == layer.Runtime {
		w.add("rhs", "runtime")
	}
	w.flag("tx", l.TransposeX)
	w.flag("ty", l.TransposeY)
	w.flag("bias", l.Bias)
}

func (w *layerText) binary(l *layer.Layer) {
	w.tensor(l)
	switch l.Second {
	case layer.Constant:
		w.add("second", "constant")
	case layer.Scalar:
		w.add("second", "scalar")
	case layer.Itself:
		w.add("second", "itself")
	case layer.Runtime:
		axes := layer.Axes(0)
		for _, x := range [...]struct {
			axis      layer.Axes
			of, other int
		}{{layer.AxisC, l.In.C, l.SecondShape.C}, {layer.AxisH, l.In.H, l.SecondShape.H}, {layer.AxisW, l.In.W, l.SecondShape.W}} {
			if x.other == 1 && x.of > 1 {
				axes |= x.axis
			}
		}
		if axes != 0 {
			w.add("broadcast", axesText(axes))
		}
	}
}

func axesText(set layer.Axes) string {
	s := ""
	for i, axis := range [...]layer.Axes{layer.AxisC, layer.AxisH, layer.AxisW} {
		if set&axis != 0 {
			s += "chw"[i : i+1]
		}
	}
	return s
}
