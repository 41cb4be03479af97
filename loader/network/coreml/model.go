package coreml

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"anesim/loader/network/mil"
	"anesim/loader/network/wire"
)

// A Model is the content of a Core ML model file. Inputs and Outputs describe the model's
// interface. Either Program or Layers computes the outputs from the inputs.
type Model struct {
	Version int64 // of the specification
	Inputs  []Feature
	Outputs []Feature
	Program *mil.Program
	// Layers is the message NeuralNetwork of a model of layers, or nil. Those of a classifier and
	// of a regressor have the same fields for layers. It shares memory with the file.
	Layers *wire.Message
}

// A Feature describes an input or an output of a model.
type Feature struct {
	Name string
	Type string  // "image", or an array's element type as numpy spells it
	Dims []int64 // shape of an array, or height and width of an image
	// Color is the order of an image's channels: "gray", "rgb", "bgr", or "" if the file does not
	// state it.
	Color string
}

// otherKinds describes the models that are neither programs nor networks, by their field number.
var otherKinds = map[protowire.Number]string{
	200: "a pipeline (classifier)", 201: "a pipeline (regressor)", 202: "a pipeline", 300: "a linear model", 301: "a support vector machine",
	302: "trees", 304: "a Bayesian model", 400: "a linear model", 401: "a support vector machine", 402: "trees", 404: "nearest neighbors",
	501: "a recommender", 555: "a custom model", 556: "a link to a model", 900: "an identity", 3000: "a model in a model",
}

// Read reads a Core ML model from data, the content of a model file. It returns a
// *[wire.FormatError] if the file is malformed, or if the model is neither a program nor a neural
// network of layers but, for example, trees.
func Read(data []byte) (*Model, error) {
	m := &Model{}
	other := ""
	err := wire.Message{Data: data}.Fields(func(f wire.Field) error {
		switch f.Num {
		case 1:
			return f.Integer(&m.Version)
		case 2:
			return m.readDescription(f)
		case 502:
			if err := f.Want(protowire.BytesType); err != nil {
				return err
			}
			var err error
			m.Program, err = mil.Decode(f.Body)
			return err
		case 303, 403, 500: // a regressor, a classifier, and any other network
			if m.Layers != nil {
				return &wire.FormatError{Off: int64(f.Off), What: "model has more than one network"}
			}
			m.Layers = &f.Body
			return f.Want(protowire.BytesType)
		}
		if k, ok := otherKinds[f.Num]; ok && other == "" {
			other = k
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case m.Program != nil && m.Layers != nil:
		return nil, &wire.FormatError{What: "model is both a program and a neural network; want one of them"}
	case m.Program == nil && m.Layers == nil && other != "":
		return nil, &wire.FormatError{What: fmt.Sprintf("model is %s; want an ML program (mlProgram) or a neural network", other)}
	case m.Program == nil && m.Layers == nil:
		return nil, &wire.FormatError{What: "not a Core ML model: no program and no network found"}
	}
	return m, nil
}

const maxFeatures = 1 << 12

func (m *Model) readDescription(f wire.Field) error {
	if err := f.Want(protowire.BytesType); err != nil {
		return err
	}
	return f.Body.Fields(func(f wire.Field) error {
		list := &m.Inputs
		switch f.Num {
		case 1:
		case 10:
			list = &m.Outputs
		default:
			return nil
		}
		x, err := readFeature(f)
		if *list = append(*list, x); len(*list) > maxFeatures {
			return &wire.FormatError{Off: int64(f.Off), What: fmt.Sprintf("model exceeds the limit of %d inputs or %[1]d outputs", maxFeatures)}
		}
		return err
	})
}

// arrayTypes maps the numbers of array element types to their names.
var arrayTypes = map[uint64]string{65568: "float32", 65600: "float64", 131104: "int32", 131080: "int8", 65552: "float16"}

// colors maps the numbers of color spaces to the order of the channels.
var colors = map[uint64]string{10: "gray", 20: "rgb", 30: "bgr"}

func readFeature(f wire.Field) (Feature, error) {
	var x Feature
	visit := func(f wire.Field, each func(wire.Field) error) error {
		if err := f.Want(protowire.BytesType); err != nil {
			return err
		}
		return f.Body.Fields(each)
	}
	err := visit(f, func(f wire.Field) error {
		switch f.Num {
		case 1:
			return f.Text(&x.Name)
		case 3:
			return visit(f, func(f wire.Field) error {
				switch f.Num {
				case 4:
					x.Type = "image"
					var w, h int64
					err := visit(f, func(f wire.Field) error {
						switch f.Num {
						case 1:
							return f.Integer(&w)
						case 2:
							return f.Integer(&h)
						case 3:
							x.Color = colors[f.N]
						}
						return nil
					})
					x.Dims = []int64{h, w}
					return err
				case 5:
					return visit(f, func(f wire.Field) error {
						switch f.Num {
						case 1:
							return f.Integers(&x.Dims)
						case 2:
							if err := f.Want(protowire.VarintType); err != nil {
								return err
							}
							x.Type = arrayTypes[f.N]
						}
						return nil
					})
				}
				return nil
			})
		}
		return nil
	})
	return x, err
}
