package neural

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"anesim/internal/network/coreml"
	"anesim/internal/network/graph"
	"anesim/internal/network/wire"
	"anesim/loader/network/internal/ops"
	"anesim/loader/network/list"
)

// opset selects the version of ONNX's operators that the nodes use.
const opset = 20

// maxNames bounds the inputs and outputs of all layers.
const maxNames = 1 << 18

// A reader converts the layers of a network to nodes.
type reader struct {
	model  *graph.Model
	exact  bool                   // arrays have the axes that the file declares
	flat   map[*graph.Value]bool  // tensors with axes sequence, channel, height and width, which lack the batch
	colors map[string]string      // order of the channels, by image
	images map[string]*graph.Port // by name
	made   map[string]bool        // names of tensors
	// probabilities names the layer, or its result, that a classifier turns into a probability for each label.
	// It is "" for the last layer, whose result is last.
	probabilities, last string
	results             map[string]string // first result of each layer, by the layer's name

	names  int // inputs and outputs of layers
	filled int // elements of constants that the file does not have
	// preprocessed holds the tensor that layers read instead of an image, by its name.
	preprocessed map[string]*graph.Value
}

// Read converts the network of layers in m, whose field Layers must be set, to a graph. A layer that it
// does not understand becomes a node of the operator "coreml." with the layer's type, which nothing
// implements, and whose attribute "why" gives the reason. The error is a *[wire.FormatError].
func Read(m *coreml.Model) (*graph.Model, error) {
	r := &reader{
		model: &graph.Model{Graph: graph.Graph{Consts: map[string]*graph.Const{}}, Values: map[string]*graph.Value{}},
		flat:  map[*graph.Value]bool{}, colors: map[string]string{}, images: map[string]*graph.Port{}, made: map[string]bool{},
		preprocessed: map[string]*graph.Value{}, results: map[string]string{},
	}
	var layers, preprocessing []wire.Message
	exactImages := false
	err := m.Layers.Fields(func(f wire.Field) error {
		switch f.Num {
		case 1, 2:
			if err := f.Want(protowire.BytesType); err != nil {
				return err
			}
			if f.Num == 2 {
				preprocessing = append(preprocessing, f.Body)
			} else {
				layers = append(layers, f.Body)
			}
			if len(layers)+len(preprocessing) > list.MaxLayers {
				return &wire.FormatError{Off: int64(f.Off), What: fmt.Sprintf("network exceeds the limit of %d layers", list.MaxLayers)}
			}
		case 5:
			r.exact = f.N != 0
		case 6:
			exactImages = f.N != 0
		case 200:
			return f.Text(&r.probabilities)
		}
		return nil // others are for training on the device and the labels of a classifier
	})
	if err != nil {
		return nil, err
	}
	for _, in := range m.Inputs {
		r.addInput(in, exactImages)
	}
	for _, p := range preprocessing {
		if err := r.readPreprocessing(p, m.Inputs); err != nil {
			return nil, err
		}
	}
	for _, l := range layers {
		if err := r.readLayer(l); err != nil {
			return nil, err
		}
	}
	r.addResults(m.Outputs)
	for _, v := range r.model.Values { // shapes are inferred again when sizes are known
		if v.Const == nil {
			v.Forget()
		}
	}
	return r.model, nil
}

// addInput adds an input of the network.
func (r *reader) addInput(in coreml.Feature, exactImages bool) {
	var dims []int
	flat := !r.exact
	switch channels := map[string]int{"gray": 1, "rgb": 3, "bgr": 3}[in.Color]; {
	case in.Type == "image" && channels > 0:
		dims = []int{1, channels, int(in.Dims[0]), int(in.Dims[1])}
		flat = !exactImages
	case in.Type == "image":
	case r.exact:
		for _, d := range in.Dims {
			dims = append(dims, clamp(d))
		}
	// Unless a model asks for exact shapes, one axis is that of channels, three are channels, rows and
	// columns, and five have sequence and batch before these.
	case len(in.Dims) == 1:
		dims = []int{1, clamp(in.Dims[0]), 1, 1}
	case len(in.Dims) == 3:
		dims = []int{1, clamp(in.Dims[0]), clamp(in.Dims[1]), clamp(in.Dims[2])}
	case len(in.Dims) == 5 && in.Dims[1] == 1:
		dims = []int{clamp(in.Dims[0]), clamp(in.Dims[2]), clamp(in.Dims[3]), clamp(in.Dims[4])}
	}
	p := graph.Port{Name: in.Name, Type: graph.Float}
	for _, d := range dims {
		p.Dims = append(p.Dims, graph.Dim{Size: int64(d)})
	}
	v := r.findOrAddValue(in.Name)
	v.Type = p.Type
	if graph.FitsEngine(dims) {
		v.Dims = dims
	}
	r.flat[v], r.made[in.Name] = flat, true
	r.model.Inputs = append(r.model.Inputs, p)
	if in.Type == "image" {
		r.images[in.Name], r.colors[in.Name] = &p, in.Color
	}
}

// addResults adds the outputs of the network. A classifier has labels and their probabilities instead,
// which no layer computes; its output is the tensor that they are made of.
func (r *reader) addResults(outputs []coreml.Feature) {
	for _, out := range outputs {
		if !r.made[out.Name] {
			continue
		}
		r.addResult(out.Name)
	}
	if len(r.model.Results) > 0 {
		return
	}
	name := r.probabilities
	if !r.made[name] {
		name = cmp.Or(r.results[name], r.last)
	}
	if name != "" { // a network without layers has no output
		r.addResult(name)
	}
}

func (r *reader) addResult(name string) {
	r.model.Outputs = append(r.model.Outputs, r.findOrAddValue(name))
	r.model.Results = append(r.model.Results, graph.Port{Name: name, Type: graph.Float})
}

// findOrAddValue returns the tensor with the given name. The first call for a name adds it.
func (r *reader) findOrAddValue(name string) *graph.Value {
	v := r.model.Values[name]
	if v == nil {
		v = &graph.Value{Name: name}
		r.model.Values[name] = v
	}
	return v
}

// A layer holds the state of converting one layer. It keeps the first reason for which that fails.
type layer struct {
	*reader
	*message // its parameters
	name     string
	off      int
	in       []*graph.Value
	outputs  int           // number of results
	dims     []int         // the result's shape that the file states, or nil
	nodes    []*graph.Node // emitted so far
	consts   []*graph.Value
	why      error
	steps    int
}

// readLayer converts a message NeuralNetworkLayer.
func (r *reader) readLayer(body wire.Message) error {
	x := &layer{reader: r, off: body.Off}
	var f failure
	var in, out []string
	kind := kind{}
	count := 0
	var params wire.Message
	err := body.Fields(func(f wire.Field) error {
		switch f.Num {
		case 1:
			return f.Text(&x.name)
		case 2, 3:
			var s string
			err := f.Text(&s)
			if r.names++; r.names > maxNames {
				return &wire.FormatError{Off: int64(f.Off), What: fmt.Sprintf("network exceeds the limit of %d inputs and outputs of layers", maxNames)}
			}
			if f.Num == 2 {
				in = append(in, s)
			} else {
				out = append(out, s)
			}
			return err
		case 5:
			if err := f.Want(protowire.BytesType); err != nil || len(out) > 1 {
				return err
			}
			x.dims = readStatedShape(f.Body)
		}
		// The parameters of a layer are a field whose number tells its type; all types begin at 100.
		if f.Num >= 100 {
			if count++; f.Wire != protowire.BytesType {
				return f.Want(protowire.BytesType)
			}
			kind, params = kinds[f.Num], f.Body
			if kind.name == "" {
				kind.name = fmt.Sprintf("type %d", f.Num)
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case count != 1:
		return &wire.FormatError{Off: int64(body.Off), What: fmt.Sprintf("layer %q has %d types; want 1", x.name, count)}
	case len(out) == 0:
		return &wire.FormatError{Off: int64(body.Off), What: fmt.Sprintf("layer %q has no output", x.name)}
	}
	for _, s := range in {
		if !r.made[s] {
			return &wire.FormatError{Off: int64(body.Off), What: fmt.Sprintf("layer %q reads tensor %q, which no input and no earlier layer has written", x.name, s)}
		}
		v := r.preprocessed[s]
		if v == nil {
			v = r.findOrAddValue(s)
		}
		x.in = append(x.in, v)
	}
	x.outputs = len(out)
	x.name = cmp.Or(x.name, out[0])
	for _, s := range out {
		if r.made[s] {
			return &wire.FormatError{Off: int64(body.Off), What: fmt.Sprintf("layer %q writes tensor %q, which an input or an earlier layer has written", x.name, s)}
		}
		r.made[s] = true
		r.last = s
	}
	r.results[x.name] = out[0]
	x.message = newMessage(params, &f)
	if f.err != nil {
		return f.err
	}
	results := x.convert(&kind)
	// A malformed message ends the reading. A layer that cannot be converted only becomes one that the
	// engine does not run.
	var malformed *wire.FormatError
	if errors.As(x.why, &malformed) {
		malformed.What = fmt.Sprintf("layer %q (%s): %s", x.name, kind.name, malformed.What)
		return malformed
	}
	if f.err != nil {
		return f.err
	}
	if x.why != nil {
		x.refuse(kind.name, out)
		return nil
	}
	x.addNodes(results, out)
	return nil
}

// readStatedShape reads a message Tensor, and returns its shape, or nil if it is not a valid one.
func readStatedShape(body wire.Message) []int {
	m := newMessage(body, &failure{})
	dims := m.integers(2)
	if m.err != nil || len(dims) == 0 || !graph.FitsEngine(dims) {
		return nil
	}
	return dims
}

// convert converts the layer, and returns its results. It sets x.why if it cannot.
func (x *layer) convert(kind *kind) []*graph.Value {
	if kind.rule == nil {
		x.refusef("layers of this type are not supported")
		return nil
	}
	for _, v := range x.in {
		if v.Dims == nil && v.Const == nil {
			x.refusef("shape of input %q is unknown", v.Name)
			return nil
		}
	}
	if n := len(x.in); n < kind.least || kind.most >= 0 && n > max(kind.most, kind.least) {
		x.refusef("%d inputs are not supported", n)
		return nil
	}
	if kind.spread && slices.ContainsFunc(x.in, func(v *graph.Value) bool { return x.flat[v] }) {
		for i := range x.in { // the layer counts axes, or tensors have different ones
			x.in[i] = x.spreadBatch(x.in[i])
		}
	}
	if x.why != nil {
		return nil
	}
	results := kind.rule(x)
	// A parameter that no rule reads may change what the layer means.
	if num := x.findUnread(); num != 0 && x.why == nil && x.err == nil {
		x.refusef("parameter %d is not supported", num)
	}
	if x.why == nil && x.err == nil && len(results) != x.outputs {
		x.refusef("%d outputs are not supported; want %d", x.outputs, len(results))
	}
	return results
}

// refusef records the reason for which the layer cannot be converted, unless there is one already.
func (x *layer) refusef(format string, v ...any) {
	if x.why == nil {
		x.why = fmt.Errorf(format, v...)
	}
}

// refuse adds a node that no layer implements.
func (x *layer) refuse(kind string, out []string) {
	n := x.newNode("coreml."+kind, attrs{"why": {Text: x.why.Error()}}, x.in)
	for _, s := range out {
		v := x.findOrAddValue(s)
		v.Why = fmt.Sprintf("shape of %q, a result of %s, is unknown", s, x.name)
		n.Out = append(n.Out, v)
		if x.dims != nil && len(out) == 1 {
			v.Stated = &graph.Result{Dims: x.dims, Type: graph.Float}
			v.Dims, v.Type = x.dims, graph.Float
		}
	}
	for _, v := range x.in { // inputs may have been spread for a rule
		x.addTensor(v)
	}
	x.model.Nodes = append(x.model.Nodes, n)
}

// addNodes adds the nodes of the layer, whose results get the names in out.
func (x *layer) addNodes(results []*graph.Value, out []string) {
	own := map[*graph.Value]bool{}
	for _, n := range x.nodes {
		for _, v := range n.Out {
			own[v] = true
		}
	}
	for i, v := range results {
		if !own[v] { // an input or a constant
			flat := x.flat[v]
			v = x.emit("Identity", nil, v)
			x.flat[v] = flat
		}
		own[v] = false // it has its name
		v.Name = out[i]
	}
	for _, n := range x.nodes {
		for _, v := range n.Out {
			x.addTensor(v)
		}
	}
	for _, v := range x.consts {
		x.addTensor(v)
		x.model.Consts[v.Name] = v.Const
	}
	x.model.Nodes = append(x.model.Nodes, x.nodes...)
}

// addTensor adds a tensor of the layer to the network.
func (x *layer) addTensor(v *graph.Value) {
	if v.Given() && x.model.Values[v.Name] == nil {
		x.model.Values[v.Name] = v
	}
}

// attrs holds the attributes of a node by name.
type attrs map[string]*graph.Attr

func (x *layer) newNode(op string, a attrs, in []*graph.Value) *graph.Node {
	return &graph.Node{Name: x.name, Op: op, In: in, Attr: a, Opset: opset, Off: int64(x.off)}
}

// newValue returns a new tensor, whose name is unique in the network.
func (x *layer) newValue() *graph.Value {
	for {
		x.steps++
		v := &graph.Value{Name: fmt.Sprintf("%s/step %d", x.name, x.steps)}
		if x.model.Values[v.Name] == nil {
			return v
		}
	}
}

// emit appends a node with operator op, and returns its result, or a scalar if the layer cannot be
// converted. A nil input is an omitted one.
func (x *layer) emit(op string, a attrs, in ...*graph.Value) *graph.Value {
	return x.emitAll(op, a, 1, in...)[0]
}

// emitAll does the same as emit for a node with the given number of results.
func (x *layer) emitAll(op string, a attrs, results int, in ...*graph.Value) []*graph.Value {
	out := make([]*graph.Value, results)
	for i := range out {
		out[i] = &graph.Value{Dims: []int{}, Type: graph.Float}
	}
	// After a refusal, values without a name let a rule run to its end without a check at each step.
	if x.why != nil {
		return out
	}
	for i := range in {
		if in[i] == nil {
			in[i] = &graph.Value{}
		}
	}
	n := x.newNode(op, a, in)
	for i := range out {
		v := x.newValue()
		out[i].Name = v.Name
	}
	n.Out = slices.Clone(out) // the caller may change its list
	r, err := ops.Infer(n)
	if err == nil && len(r) < results {
		err = fmt.Errorf("%s has %d results; want %d", op, len(r), results)
	}
	if err != nil {
		x.why = err
		return out
	}
	for i := range out {
		out[i].Dims, out[i].Type = r[i].Dims, r[i].Type
	}
	x.nodes = append(x.nodes, n)
	return out
}

// constant returns a new constant of shape dims.
func (x *layer) constant(c *graph.Const) *graph.Value {
	v := x.newValue()
	v.Set(c)
	x.consts = append(x.consts, v)
	return v
}

// number returns a constant with a single element.
func (x *layer) number(v float64) *graph.Value {
	return x.constant(&graph.Const{Dims: []int{}, Type: graph.Float, Numbers: []float64{v}})
}

// maxFilled bounds the elements of all constants that a file does not have but its layers need, such as
// the scales of a norm.
const maxFilled = 1 << 20

// uniform returns a list of n elements that are the same.
func (x *layer) uniform(v float64, n int) *graph.Value {
	if x.filled += n; x.filled > maxFilled {
		x.refusef("missing weights exceed the limit of %d elements", maxFilled)
		n = 0
	}
	return x.constant(&graph.Const{Dims: []int{n}, Type: graph.Float, Numbers: slices.Repeat([]float64{v}, n)})
}

// list returns a constant that is a list of integers.
func (x *layer) list(v ...int) *graph.Value {
	numbers := make([]float64, len(v))
	for i := range v {
		numbers[i] = float64(v[i])
	}
	return x.constant(&graph.Const{Dims: []int{len(v)}, Type: graph.Int64, Numbers: numbers})
}

// weights returns the weights in the given field as a constant of shape dims, or nil if the layer
// lacks the field.
func (x *layer) weights(m *message, num protowire.Number, dims ...int) *graph.Value {
	return x.weightsOfParts(m, num, dims[0], dims...)
}

// weightsOfParts does the same as weights, for quantized weights whose first axis does not have an element for
// each output channel, of which there are parts.
func (x *layer) weightsOfParts(m *message, num protowire.Number, parts int, dims ...int) *graph.Value {
	var c *graph.Const
	m.each(num, func(f wire.Field) error {
		err := f.Want(protowire.BytesType)
		if err == nil {
			c, err = readWeights(f.Body, dims, parts)
		}
		var malformed *wire.FormatError
		if err != nil && !errors.As(err, &malformed) {
			x.refusef("%v", err)
			return nil
		}
		return err
	})
	if c == nil {
		return nil
	}
	return x.constant(c)
}

// reshape returns v in another shape.
func (x *layer) reshape(v *graph.Value, dims ...int) *graph.Value {
	if slices.Equal(v.Dims, dims) {
		return v
	}
	return x.emit("Reshape", nil, v, x.list(dims...))
}

// spreadBatch returns v with all five axes if it lacks the batch.
func (x *layer) spreadBatch(v *graph.Value) *graph.Value {
	if !x.flat[v] || len(v.Dims) != 4 {
		return v
	}
	return x.reshape(v, v.Dims[0], 1, v.Dims[1], v.Dims[2], v.Dims[3])
}

// onPlanes calls f with v as a tensor of axes N, channel, height and width, where N are the axes before
// the channel as one, and returns the result of f with these axes restored.
func (x *layer) onPlanes(v *graph.Value, f func(v *graph.Value) *graph.Value) *graph.Value {
	rank := len(v.Dims)
	if rank < 3 {
		x.refusef("input has %d axes; want at least 3", rank)
		return v
	}
	if x.flat[v] || rank == 4 {
		y := f(v)
		x.flat[y] = x.flat[v]
		return y
	}
	before := v.Dims[:rank-3]
	merged := x.reshape(v, append([]int{graph.Elements(before)}, v.Dims[rank-3:]...)...)
	if x.why != nil {
		return v
	}
	y := f(merged)
	if len(y.Dims) != 4 {
		x.refusef("result has shape %v; want 4 axes", y.Dims)
		return y
	}
	return x.reshape(y, append(slices.Clone(before), y.Dims[1:]...)...)
}
