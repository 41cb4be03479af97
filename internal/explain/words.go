package explain

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"anesim"
	"anesim/loader/layer"
)

// formatLayer returns the arguments from which [anesim.Layer] builds layer l: its operation,
// followed by its keys. It returns nil if no keys describe l.
func formatLayer(l *layer.Layer) []string {
	w := layerText{}
	switch l.Op {
	case layer.Convolution, layer.Deconvolution:
		w.addConv(l)
	case layer.MatMul, layer.Linear:
		w.addMatMul(l)
	case layer.Add, layer.Sub, layer.Mul, layer.Max, layer.Min, layer.RealDiv, layer.Average:
		w.addBinary(l)
	case layer.Softmax, layer.LayerNorm:
		w.addTensor(l)
		w.addKey("axis", formatAxes(l.Axes))
		w.addNumber("eps", l.Epsilon)
	case layer.ReduceSum, layer.ReduceMean, layer.ReduceMax, layer.ReduceMin:
		w.addTensor(l)
		w.words[0] = "reduce"
		w.addKey("kind", strings.TrimPrefix(l.Op.String(), "reduce_"))
		w.addKey("axis", formatAxes(l.Axes))
	case layer.Pool:
		w.addTensor(l)
		w.addWindow(&l.Window, 1)
	case layer.Concat:
		w.words = []string{l.Op.String()}
		w.addCount("n", l.In.N)
		parts := make([]string, len(l.Parts))
		for i, c := range l.Parts {
			parts[i] = strconv.Itoa(c)
		}
		w.addKey("parts", strings.Join(parts, "+"))
		w.addCount("h", l.In.H)
		w.addCount("w", l.In.W)
	default:
		w.addTensor(l)
		w.addNumber("eps", l.Epsilon)
		w.addNumber("alpha", l.Alpha)
		w.addNumber("low", l.Low)
		w.addNumber("high", l.High)
	}
	if l.Activation != 0 {
		w.addKey("act", l.Activation.String())
	}
	m, err := anesim.Layer(w.words[0], w.words[1:]...)
	if err != nil || !reflect.DeepEqual(m.Network().Layers[0].Lower, *l) {
		return nil // the layer has a form that no keys describe, such as one that occurs only in networks
	}
	return w.words
}

// A layerText collects the operation and the keys of a layer. It leaves out keys with default
// values.
type layerText struct{ words []string }

func (w *layerText) addKey(key, value string) { w.words = append(w.words, key+"="+value) }

func (w *layerText) addCount(key string, n int) {
	if n > 1 {
		w.addKey(key, strconv.Itoa(n))
	}
}

func (w *layerText) addNumber(key string, v float32) {
	if v != 0 {
		w.addKey(key, strconv.FormatFloat(float64(v), 'g', -1, 32))
	}
}

func (w *layerText) addFlag(key string, v bool) {
	if v {
		w.addKey(key, "true")
	}
}

func (w *layerText) addTensor(l *layer.Layer) {
	w.words = []string{l.Op.String()}
	w.addCount("n", l.In.N)
	w.addCount("c", l.In.C)
	w.addCount("h", l.In.H)
	w.addCount("w", l.In.W)
}

func (w *layerText) addConv(l *layer.Layer) {
	w.words = []string{l.Op.String()}
	w.addCount("n", l.In.N)
	w.addKey("cin", strconv.Itoa(l.In.C))
	w.addCount("h", l.In.H)
	w.addCount("w", l.In.W)
	w.addKey("cout", strconv.Itoa(l.Cout))
	w.addWindow(&l.Window, max(1, l.Dilation))
	w.addCount("dilation", l.Dilation)
	w.addCount("groups", l.Groups)
	w.addFlag("bias", l.Bias)
}

func (w *layerText) addWindow(x *layer.Window, dilation int) {
	kh, kw := (x.Kh-1)/dilation+1, (x.Kw-1)/dilation+1
	if kh == kw {
		w.addKey("k", strconv.Itoa(kh))
	} else {
		w.addKey("kh", strconv.Itoa(kh))
		w.addKey("kw", strconv.Itoa(kw))
	}
	if x.Sy == x.Sx {
		w.addCount("stride", x.Sy)
	} else {
		w.addKey("sy", strconv.Itoa(x.Sy))
		w.addKey("sx", strconv.Itoa(x.Sx))
	}
	switch {
	case x.Py == x.Qy && x.Py == x.Px && x.Py == x.Qx:
		if x.Py > 0 {
			w.addKey("pad", strconv.Itoa(x.Py))
		}
	default:
		w.addKey("pad", fmt.Sprintf("%d,%d,%d,%d", x.Py, x.Qy, x.Px, x.Qx))
	}
}

func (w *layerText) addMatMul(l *layer.Layer) {
	w.words = []string{l.Op.String()}
	w.addCount("c", l.In.C)
	w.addKey("m", strconv.Itoa(l.In.H))
	w.addKey("k", strconv.Itoa(l.In.W))
	w.addKey("n", strconv.Itoa(l.Columns))
	if l.Second == layer.Runtime {
		w.addKey("rhs", "runtime")
	}
	w.addFlag("tx", l.TransposeX)
	w.addFlag("ty", l.TransposeY)
	w.addFlag("bias", l.Bias)
}

func (w *layerText) addBinary(l *layer.Layer) {
	w.addTensor(l)
	switch l.Second {
	case layer.Constant:
		w.addKey("second", "constant")
	case layer.Scalar:
		w.addKey("second", "scalar")
	case layer.Itself:
		w.addKey("second", "itself")
	case layer.Runtime:
		axes, batch := layer.Axes(0), ""
		if l.SecondShape.N == 1 && l.In.N > 1 {
			batch = "n"
		}
		for _, x := range [...]struct {
			axis      layer.Axes
			of, other int
		}{{layer.AxisC, l.In.C, l.SecondShape.C}, {layer.AxisH, l.In.H, l.SecondShape.H}, {layer.AxisW, l.In.W, l.SecondShape.W}} {
			if x.other == 1 && x.of > 1 {
				axes |= x.axis
			}
		}
		if text := batch + formatAxes(axes); text != "" {
			w.addKey("broadcast", text)
		}
	}
}

func formatAxes(set layer.Axes) string {
	s := ""
	for i, axis := range [...]layer.Axes{layer.AxisC, layer.AxisH, layer.AxisW} {
		if set&axis != 0 {
			s += "chw"[i : i+1]
		}
	}
	return s
}
