package neural

import (
	"cmp"

	"anesim/internal/network/coreml"
	"anesim/internal/network/graph"
	"anesim/internal/network/wire"
)

// readPreprocessing converts a message NeuralNetworkPreprocessing, which changes an image before the layers
// read it: each pixel times a scale, plus a bias of its channel; or minus the same pixel of a mean image.
func (r *reader) readPreprocessing(body wire.Message, inputs []coreml.Feature) error {
	var f failure
	x := &layer{reader: r, message: newMessage(body, &f), off: body.Off}
	name := x.text(1)
	for _, in := range inputs { // without a name, it is the first image
		if name == "" && in.Type == "image" {
			name = in.Name
		}
	}
	if f.err != nil {
		return f.err
	}
	if r.images[name] == nil {
		return &wire.FormatError{Off: int64(body.Off), What: "preprocessing of an input that is not an image: " + cmp.Or(name, "no input is")}
	}
	image := r.findOrAddValue(name)
	x.name, x.in, x.outputs = name+"/preprocessing", []*graph.Value{image}, 1
	if r.made[x.name] {
		return &wire.FormatError{Off: int64(body.Off), What: "image " + name + " is preprocessed twice"}
	}
	r.made[x.name] = true
	results := x.convert(&kind{name: "preprocessing", rule: addPreprocessing, least: 1})
	if f.err != nil {
		return f.err
	}
	if x.why != nil {
		x.refuse("preprocessing", []string{x.name})
	} else {
		x.addNodes(results, []string{x.name})
	}
	// Layers that name the image read this tensor from now on.
	r.preprocessed[name] = r.findOrAddValue(x.name)
	return nil
}

func addPreprocessing(x *layer) []*graph.Value {
	image := x.in[0]
	scaler, mean := x.part(10), x.part(11)
	if (scaler == nil) == (mean == nil) {
		x.refusef("want either a scaler or a mean image")
		return nil
	}
	c, h, w := image.Dims[1], image.Dims[2], image.Dims[3]
	if mean != nil {
		m := x.floatList(mean, 1, c, h, w)
		return x.one(x.emit("Sub", nil, image, m))
	}
	y := image
	// A scale of 0 means that the file has none: it would remove the image.
	if s := scaler.float(10, 1); s != 1 && s != 0 {
		y = x.emit("Mul", nil, y, x.number(float64(s)))
	}
	blue, green, red, gray := scaler.float(20, 0), scaler.float(21, 0), scaler.float(22, 0), scaler.float(30, 0)
	// A gray image has one bias, and colors are in the order of the image's channels.
	biases := []float64{float64(gray)}
	switch x.colors[image.Name] {
	case "rgb":
		biases = []float64{float64(red), float64(green), float64(blue)}
	case "bgr":
		biases = []float64{float64(blue), float64(green), float64(red)}
	}
	for _, b := range biases {
		if b != 0 {
			bias := x.constant(&graph.Const{Dims: []int{1, c, 1, 1}, Type: graph.Float, Numbers: biases})
			y = x.emit("Add", nil, y, bias)
			break
		}
	}
	return x.one(y)
}

// one returns a list of one result, which has the axes of the first input.
func (x *layer) one(y *graph.Value) []*graph.Value {
	if len(x.in) > 0 && y != x.in[0] {
		x.flat[y] = x.flat[x.in[0]]
	}
	return []*graph.Value{y}
}
