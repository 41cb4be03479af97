package coreml

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"anesim/loader/network/mil"
	"anesim/loader/network/wire"
)

// A Model is a program and what its inputs and outputs are to its user.
type Model struct {
	Version int64 // of the specification
	Inputs  []Feature
	Outputs []Feature
	Program *mil.Program
}

// A Feature is an input or an output.
type Feature struct {
	Name string
	Type string  // "image", or an array's elements as numpy spells them
	Dims []int64 // of an array; of an image height and width
}

// kinds are the models that are no program, by field.
var kinds = map[protowire.Number]string{
	200: "a pipeline (classifier)", 201: "a pipeline (regressor)", 202: "a pipeline", 300: "a linear model", 301: "a support vector machine",
	302: "trees", 303: "a neural network of layers (regressor)", 304: "a Bayesian model", 400: "a linear model", 401: "a support vector machine",
	402: "trees", 403: "a neural network of layers (classifier)", 404: "nearest neighbours", 500: "a neural network of layers",
	501: "a recommender", 555: "a custom model", 556: "a link to a model", 900: "an identity", 3000: "a model in a model",
}

// Read reads a model. Errors are a *[wire.FormatError].
func Read(data []byte) (*Model, error) {
	m := &Model{}
	other := ""
	err := wire.Message{Data: data}.Fields(func(f wire.Field) error {
		switch f.Num {
		case 1:
			return f.Integer(&m.Version)
		case 2:
			return m.description(f)
		case 502:
			if err := f.Want(protowire.BytesType); err != nil {
				return err
			}
			var err error
			m.Program, err = mil.Decode(f.Body)
			return err
		}
		if k, ok := kinds[f.Num]; ok && other == "" {
			other = k
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case m.Program == nil && other != "":
		return nil, &wire.FormatError{What: fmt.Sprintf("the model is %s; a program (mlProgram) is read", other)}
	case m.Program == nil:
		return nil, &wire.FormatError{What: "not a Core ML model: it has no program"}
	}
	return m, nil
}

const maxFeatures = 1 << 12

func (m *Model) description(f wire.Field) error {
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
		x, err := feature(f)
		if *list = append(*list, x); len(*list) > maxFeatures {
			return &wire.FormatError{Off: int64(f.Off), What: fmt.Sprintf("more than %d inputs or outputs", maxFeatures)}
		}
		return err
	})
}

// arrays are the types of an array's elements by number.
var arrays = map[uint64]string{65568: "float32", 65600: "float64", 131104: "int32", 131080: "int8", 65552: "float16"}

func feature(f wire.Field) (Feature, error) {
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
							x.Type = arrays[f.N]
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
