package keys

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"anesim/hw/evidence"
	"anesim/loader/layer"
	"anesim/loader/network/list"
)

// An Operation is a kind of layer, such as conv, that a user describes with keys and values, such
// as cout=64.
type Operation struct {
	Name string
	// Shape lists the keys that state the input's shape, for a layer that reads no other layer's
	// result.
	Shape []Key
	Keys  []Key

	// Evidence is the kind of evidence for the operation's descriptors. Limits describes the
	// largest layers that it accepts.
	Evidence evidence.Kind
	Limits   string

	inputs func(a *args) []layer.Shape
	build  func(a *args, in []layer.Shape) list.Layer
}

// A Key is the name of an argument of an operation, such as cout, with a help text that states
// the default.
type Key struct{ Name, Help string }

// Operations returns all operations, in the order in which help texts list them.
func Operations() []Operation { return slices.Clone(operations()) }

// operations returns all operations. They are built once, because the text of their limits
// takes time.
var operations = sync.OnceValue(func() []Operation {
	list := []Operation{
		newOperation("conv", convShape, convKeys, convInputShapes, newConvLayer),
		newOperation("deconv", convShape, deconvKeys, convInputShapes, newDeconvLayer),
		newOperation("matmul", productShape, matmulKeys, matmulInputShapes, newMatMulLayer),
		newOperation("linear", productShape, linearKeys, linearInputShapes, newLinearLayer),
	}
	for _, op := range []layer.Op{layer.Add, layer.Sub, layer.Mul, layer.Max, layer.Min, layer.RealDiv, layer.Average} {
		list = append(list, newOperation(op.String(), binaryShape, binaryKeys, binaryOpInputShapes, newBinaryLayerFunc(op)))
	}
	for _, op := range activations {
		list = append(list, newOperation(op.String(), tensorShape, parameters[op], singleInputShapes, newUnaryLayerFunc(op)))
	}
	return append(list,
		newOperation("pow", tensorShape, []Key{{"value", "the exponent, a number instead of a second input"}}, powInputShapes, newPowLayer),
		newOperation("prelu", tensorShape, nil, singleInputShapes, newUnaryLayerFunc(layer.PReLU)),
		newOperation("logical_not", tensorShape, nil, singleInputShapes, newUnaryLayerFunc(layer.LogicalNot)),
		newOperation("pool", tensorShape, poolKeys, singleInputShapes, newPoolLayer),
		newOperation("softmax", tensorShape, []Key{{"axis", "axes, like c or hw (c)"}}, singleInputShapes, newSoftmaxLayer),
		newOperation("reduce", tensorShape, reduceKeys, singleInputShapes, newReductionLayer),
		newOperation("layernorm", tensorShape, []Key{{"axis", "axes, like w or chw (w)"}, epsKey}, singleInputShapes, newLayerNorm),
		newOperation("concat", concatShape, nil, concatInputShapes, newConcatLayer),
		newOperation("transpose", tensorShape, transposeKeys, singleInputShapes, newTransposeLayer),
		newOperation("tile", tensorShape, tileKeys, singleInputShapes, newTileLayer),
		newOperation("slice", tensorShape, sliceKeys, singleInputShapes, newSliceLayer),
		newOperation("pad", tensorShape, padKeys, singleInputShapes, newPadLayer),
	)
})

// newOperation returns the operation with the given name and keys. Its evidence and limits come
// from the layer operation to which it is lowered.
func newOperation(name string, shape, keys []Key, inputs func(*args) []layer.Shape, build func(*args, []layer.Shape) list.Layer) Operation {
	op, ok := layer.ParseOp(map[string]string{"reduce": "reduce_sum"}[name])
	if !ok {
		op, _ = layer.ParseOp(name)
	}
	return Operation{name, shape, keys, op.Evidence(), op.Limits(), inputs, build}
}

// The keys. Help texts state the default in parentheses.
var (
	tensorShape  = append(slices.Clip(extents), formKeys...)
	extents      = []Key{{"n", "batch (1)"}, {"c", "channels (1)"}, {"h", "height (1)"}, {"w", "width (1)"}}
	formKeys     = []Key{{"release", "newest, 2026 or 2023, the release of Apple's compiler to imitate (newest)"}, {"first", "input or output, the buffer that is numbered first (input)"}}
	convShape    = []Key{{"n", "batch (1)"}, {"cin", "input channels"}, {"h", "height (1)"}, {"w", "width (1)"}}
	productShape = []Key{{"m", "rows"}, {"k", "reduction"}, {"c", "matrices (1)"}}
	binaryShape  = append(slices.Clip(tensorShape), Key{"broadcast", "axes of the second operand that repeat, like hw or nhw"})
	concatShape  = []Key{{"n", "batch (1)"}, {"parts", "channels of each input, like 64+32"}, {"c", "without parts, channels of each of two inputs"}, {"h", "height (1)"}, {"w", "width (1)"}}

	biasKey    = Key{"bias", "true adds a constant to each channel"}
	actKey     = Key{"act", "none, relu or another operation of one input, applied to the result (none)"}
	epsKey     = Key{"eps", "added before the root"}
	windowKeys = []Key{
		{"k", "height and width of the window"}, {"kh", "height of the window"}, {"kw", "width of the window"},
		{"stride", "both strides (1)"}, {"sy", "vertical stride"}, {"sx", "horizontal stride"},
		{"pad", "zeros on every side, top,bottom,left,right, same or valid (valid)"},
		{"dilation", "distance between two taps, in rows and columns (1)"},
	}
	convKeys   = append(append([]Key{{"cout", "output channels (cin where groups=cin)"}}, windowKeys...), Key{"groups", "groups, or cin (1)"}, biasKey, actKey)
	deconvKeys = append(append([]Key{{"cout", "output channels"}}, windowKeys[:len(windowKeys)-1]...), biasKey, actKey)
	matmulKeys = []Key{
		{"n", "columns"}, {"rhs", "constant or runtime (constant)"}, biasKey, actKey,
		{"tx", "true if the left side is stored as k rows of m"}, {"ty", "true if the right side is stored as n rows of k"},
	}
	linearKeys = []Key{{"n", "columns"}, biasKey, actKey}
	binaryKeys = []Key{{"second", "runtime, constant (one value for each channel), scalar or itself"}, {"value", "the scalar"}, actKey}
	poolKeys   = append([]Key{{"kind", "max or avg (max)"}}, windowKeys...)
	reduceKeys = []Key{{"kind", "sum, mean, max or min (sum)"}, {"axis", "axes, like hw (hw)"}}

	transposeKeys = []Key{{"perm", "input axes in the order of the result, like whc, 0,3,2,1 or nhw (whc)"}}
	tileKeys      = []Key{{"reps", "number of copies along each axis, like 1x1x375x1"}, actKey}
	alphaKey      = Key{"alpha", "the slope below 0 (0.01)"}
	padKeys       = []Key{{"pad", "rows and columns on every side, or top,bottom,left,right (1)"}, {"fill", "value, edge or reflect (value)"}, {"value", "the value, for fill=value (0)"}}
	sliceKeys     = []Key{{"axis", "c, h or w (c)"}, {"begin", "first element (0)"}, {"size", "elements"}, {"skew", "columns by which a row begins before the one above (0)"}}
)

// activations lists the operations of one input that can also end a layer.
var activations = []layer.Op{
	layer.ReLU, layer.Sigmoid, layer.Tanh, layer.GELU, layer.SiLU, layer.Exp, layer.Sqrt, layer.Rsqrt,
	layer.Abs, layer.Square, layer.Cube, layer.LeakyReLU, layer.ReLU6, layer.Clip, layer.ELU, layer.SELU,
	layer.HardSigmoid, layer.HardSwish, layer.Softplus, layer.Softsign, layer.Sign, layer.Ceil, layer.Floor,
	layer.Frac, layer.Log, layer.Inverse, layer.Sin, layer.Cos, layer.Atan, layer.Erf,
}

// parameters holds the keys of activations that have parameters.
var parameters = map[layer.Op][]Key{
	layer.Rsqrt:     {epsKey},
	layer.LeakyReLU: {alphaKey},
	layer.ELU:       {{"alpha", "the scale below 0, in alpha*(exp(x)-1) (1)"}},
	layer.Clip:      {{"low", "lower bound (-1)"}, {"high", "upper bound (1)"}},
}

// Find returns the operation with the given name. The second result is false if there is none.
func Find(name string) (*Operation, bool) {
	for _, o := range operations() {
		if o.Name == name {
			return &o, true
		}
	}
	return nil, false
}

// Names returns the names of all operations, in the order of [Operations].
func Names() []string {
	var names []string
	for _, o := range operations() {
		names = append(names, o.Name)
	}
	return names
}

// AllKeys returns the keys that [Operation.Single] accepts: the keys of the input's shape and the
// keys of the operation. A key that is in both lists appears once.
func (o *Operation) AllKeys() []Key {
	keys := slices.Clone(o.Shape)
	for _, k := range o.Keys {
		if !slices.ContainsFunc(keys, func(x Key) bool { return x.Name == k.Name }) {
			keys = append(keys, k)
		}
	}
	return keys
}

func keyNames(keys []Key) []string {
	var names []string
	for _, k := range keys {
		names = append(names, k.Name)
	}
	return names
}

// Single builds a stand-alone layer from the keys in values, which must include the keys of the
// input's shape. It returns a *[KeyError] if a key is unknown, missing or invalid. It returns the
// error of [list.CheckShape] for an input out of range, or of [layer.Layer.Validate] for the layer.
func (o *Operation) Single(values map[string]string) (*list.Layer, error) {
	a := &args{op: o.Name, known: keyNames(o.AllKeys()), values: values}
	return o.newLayerFromKeys(a, o.inputs)
}

// After builds a layer from the keys in values. inputs holds the shapes of the tensors that it
// reads. After returns the same errors as [Operation.Single], except that a layer may exceed a
// limit of the engine. Such a layer is returned without an error, and its Reason says why the
// engine cannot run it.
func (o *Operation) After(inputs []layer.Shape, values map[string]string) (*list.Layer, error) {
	a := &args{op: o.Name, known: keyNames(o.Keys), values: values}
	l, err := o.newLayerFromKeys(a, func(a *args) []layer.Shape { return inputs })
	var limit *layer.LimitError
	if errors.As(err, &limit) && list.CheckShape(l.Out) == nil {
		l.Reason = err.Error()
		return l, nil
	}
	return l, err
}

func (o *Operation) newLayerFromKeys(a *args, inputs func(*args) []layer.Shape) (*list.Layer, error) {
	a.checkUnknownKeys()
	in := inputs(a)
	for _, s := range in {
		if err := list.CheckShape(s); err != nil && a.err == nil {
			a.err = fmt.Errorf("%s: %w", o.Name, err)
		}
	}
	if a.err != nil {
		return nil, a.err
	}
	l := o.build(a, in)
	if a.err != nil {
		return nil, a.err
	}
	l.Op = o.Name
	l.Lower.Release = a.releaseValue()
	l.Lower.OutputFirst = a.choiceValue("first", "input", "output") == "output"
	if a.err != nil {
		return nil, a.err
	}
	return &l, l.Infer()
}

// ParseKeys splits words such as "cout=64" into keys and values. It returns a *[KeyError] for a
// word without a key or value, and for a key that is given twice, but not for an unknown key.
func (o *Operation) ParseKeys(words []string) (map[string]string, error) {
	values := make(map[string]string)
	for _, w := range words {
		k, v, ok := strings.Cut(w, "=")
		switch {
		case !ok || k == "" || v == "":
			return nil, &KeyError{o.Name, w, "missing key or value; want key=value", keyNames(o.AllKeys())}
		case values[k] != "":
			return nil, &KeyError{o.Name, k, "duplicate key", keyNames(o.AllKeys())}
		}
		values[k] = v
	}
	return values, nil
}
