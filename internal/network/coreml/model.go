package coreml

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"anesim/internal/network/mil"
	"anesim/internal/network/wire"
)

// A Model is the content of a Core ML model file. Inputs and Outputs describe the model's
// interface. Either Program or Layers computes the outputs from the inputs.
type Model struct {
	Version int64 // of the specification
	Inputs  []Feature
	Outputs []Feature
	Program *mil.Program
	// Functions describes the functions of a program with several, and Default is the name of the one
	// that is used if the user names none.
	Functions []Function
	Default   string
	// Layers is the message NeuralNetwork of a model of layers, or nil. Those of a classifier and
	// of a regressor have the same fields for layers. It shares memory with the file.
	Layers *wire.Message
}

// A Function describes the interface of one function of a program.
type Function struct {
	Name            string
	Inputs, Outputs []Feature
}

// A Feature describes an input or an output of a model.
type Feature struct {
	Name string
	Type string  // "image", or an array's element type as numpy spells it
	Dims []int64 // shape of an array, or height and width of an image
	// Color is the order of an image's channels: "gray", "rgb", "bgr", or "" if the file does not
	// state it.
	Color string
	// Shapes are the shapes that the user may choose, or nil if Dims is the only one. For an image, they
	// are heights and widths.
	Shapes *mil.Shapes
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
	err := wire.Message{Data: data}.FieldsOfFile("a Core ML model", func(f wire.Field) error {
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
		// Reported only if the file has no network at all.
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

// readDescription reads a message ModelDescription: inputs (field 1) and outputs (10), or several functions
// (20), each with its own, and the name of the one that is used by default (21).
func (m *Model) readDescription(f wire.Field) error {
	if err := f.Want(protowire.BytesType); err != nil {
		return err
	}
	return f.Body.Fields(func(f wire.Field) error {
		switch f.Num {
		case 1:
			return appendFeature(&m.Inputs, f)
		case 10:
			return appendFeature(&m.Outputs, f)
		case 20:
			return m.readFunction(f)
		case 21:
			return f.Text(&m.Default)
		}
		return nil
	})
}

// appendFeature appends the description of an input or an output to list.
func appendFeature(list *[]Feature, f wire.Field) error {
	x, err := readFeature(f)
	if *list = append(*list, x); len(*list) > maxFeatures {
		return &wire.FormatError{Off: int64(f.Off), What: fmt.Sprintf("model exceeds the limit of %d inputs or %[1]d outputs", maxFeatures)}
	}
	return err
}

// readFunction reads a message FunctionDescription.
func (m *Model) readFunction(f wire.Field) error {
	if err := f.Want(protowire.BytesType); err != nil {
		return err
	}
	var fn Function
	err := f.Body.Fields(func(f wire.Field) error {
		switch f.Num {
		case 1:
			return f.Text(&fn.Name)
		case 2:
			return appendFeature(&fn.Inputs, f)
		case 3:
			return appendFeature(&fn.Outputs, f)
		}
		return nil
	})
	if m.Functions = append(m.Functions, fn); len(m.Functions) > maxFeatures {
		return &wire.FormatError{Off: int64(f.Off), What: fmt.Sprintf("model exceeds the limit of %d functions", maxFeatures)}
	}
	return err
}

// arrayTypes maps the numbers of array element types to their names.
var arrayTypes = map[uint64]string{65568: "float32", 65600: "float64", 131104: "int32", 131080: "int8", 65552: "float16"}

// colors maps the numbers of color spaces to the order of the channels.
var colors = map[uint64]string{10: "gray", 20: "rgb", 30: "bgr"}

func readFeature(f wire.Field) (Feature, error) {
	var x Feature
	err := forEachMessageField(f, func(f wire.Field) error {
		switch f.Num {
		case 1:
			return f.Text(&x.Name)
		case 3:
			return forEachMessageField(f, func(f wire.Field) error {
				switch f.Num {
				case 4:
					return x.readImage(f)
				case 5:
					return x.readArray(f)
				}
				return nil
			})
		}
		return nil
	})
	if x.Shapes != nil {
		x.Shapes.Default = x.Dims
	}
	return x, err
}

// forEachMessageField calls each for every field of f, which holds a message.
func forEachMessageField(f wire.Field, each func(wire.Field) error) error {
	if err := f.Want(protowire.BytesType); err != nil {
		return err
	}
	return f.Body.Fields(each)
}

// readImage reads a message ImageFeatureType.
func (x *Feature) readImage(f wire.Field) error {
	x.Type = "image"
	// size reads a message with the width in field 1 and the height in field 2.
	size := func(f wire.Field) ([]int64, error) {
		var w, h int64
		err := forEachMessageField(f, func(f wire.Field) error {
			switch f.Num {
			case 1:
				return f.Integer(&w)
			case 2:
				return f.Integer(&h)
			}
			return nil
		})
		return []int64{h, w}, err
	}
	var err error
	if x.Dims, err = size(f); err != nil {
		return err
	}
	return forEachMessageField(f, func(f wire.Field) error {
		switch f.Num {
		case 3:
			x.Color = colors[f.N]
		case 21:
			return forEachMessageField(f, func(f wire.Field) error {
				if f.Num != 1 {
					return nil
				}
				s, err := size(f)
				x.addShape(s)
				return err
			})
		case 31:
			ranges := make([][2]int64, 2)
			x.flexibleShapes().Ranges = ranges
			return forEachMessageField(f, func(f wire.Field) error {
				if f.Num != 1 && f.Num != 2 {
					return nil
				}
				return readRange(f, &ranges[2-f.Num]) // the width is first
			})
		}
		return nil
	})
}

// readArray reads a message ArrayFeatureType.
func (x *Feature) readArray(f wire.Field) error {
	return forEachMessageField(f, func(f wire.Field) error {
		switch f.Num {
		case 1:
			return f.Integers(&x.Dims)
		case 2:
			if err := f.Want(protowire.VarintType); err != nil {
				return err
			}
			x.Type = arrayTypes[f.N]
		// The numbers are those of Apple's FeatureTypes.proto: 21 is a list of shapes, 31 a range for each
		// axis.
		case 21:
			return forEachMessageField(f, func(f wire.Field) error {
				var shape []int64
				err := forEachMessageField(f, func(f wire.Field) error {
					if f.Num == 1 {
						return f.Integers(&shape)
					}
					return nil
				})
				x.addShape(shape)
				return err
			})
		case 31:
			s := x.flexibleShapes()
			return forEachMessageField(f, func(f wire.Field) error {
				s.Ranges = append(s.Ranges, [2]int64{})
				return readRange(f, &s.Ranges[len(s.Ranges)-1])
			})
		}
		return nil
	})
}

func (x *Feature) flexibleShapes() *mil.Shapes {
	if x.Shapes == nil {
		x.Shapes = &mil.Shapes{}
	}
	return x.Shapes
}

func (x *Feature) addShape(shape []int64) {
	s := x.flexibleShapes()
	s.Listed = append(s.Listed, shape)
}

// readRange reads a message SizeRange: the least and the largest extent, which is -1 for no limit.
func readRange(f wire.Field, r *[2]int64) error {
	return forEachMessageField(f, func(f wire.Field) error {
		switch f.Num {
		case 1:
			return f.Integer(&r[0])
		case 2:
			return f.Integer(&r[1])
		}
		return nil
	})
}
