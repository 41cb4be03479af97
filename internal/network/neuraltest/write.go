package neuraltest

import (
	"encoding/binary"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"anesim/internal/network/wire"
)

// A Message holds part of a Core ML model.
type Message = wire.Encoding

// Join returns one message with the fields of all parts.
func Join(parts ...Message) Message { return slices.Concat(parts...) }

// Packed returns a message with a packed list of integers in the given field.
func Packed(num protowire.Number, v ...int) Message {
	var list []byte
	for _, x := range v {
		list = protowire.AppendVarint(list, uint64(x))
	}
	return Message{}.Bytes(num, list)
}

// Weights returns a message WeightParams with float32 values in the given field.
func Weights(num protowire.Number, v ...float64) Message {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
	}
	return Message{}.Bytes(num, Message{}.Bytes(1, b))
}

// Borders returns a message BorderAmounts.
func Borders(top, bottom, left, right int) Message {
	return Message{}.Bytes(10, Message{}.Int(1, top).Int(2, bottom)).Bytes(10, Message{}.Int(1, left).Int(2, right))
}

// Input and Output describe an array of float32 in the model's description.
func Input(name string, dims ...int) Message  { return array(1, name, dims) }
func Output(name string, dims ...int) Message { return array(10, name, dims) }

func array(field protowire.Number, name string, dims []int) Message {
	const float32Elements = 65568
	return Message{}.Bytes(field, Message{}.Text(1, name).Bytes(3, Message{}.Bytes(5, append(Packed(1, dims...), Message{}.Int(2, float32Elements)...))))
}

// Image describes an input that is an image in the given color space: 10 is gray, 20 is RGB and 30 is BGR.
func Image(name string, height, width, colors int) Message {
	return Message{}.Bytes(1, Message{}.Text(1, name).Bytes(3, Message{}.Bytes(4, Message{}.Int(1, width).Int(2, height).Int(3, colors))))
}

// Layer returns a layer. kind is the number of its type's field, which holds the parameters.
func Layer(name string, kind protowire.Number, params Message, in, out []string) Message {
	l := Message{}.Text(1, name)
	for _, s := range in {
		l = l.Text(2, s)
	}
	for _, s := range out {
		l = l.Text(3, s)
	}
	return Message{}.Bytes(1, l.Bytes(kind, params))
}

// Model returns the content of a model file. description has the inputs and outputs, and layers are as
// [Layer] returns them. exact says that arrays have the axes that are declared.
func Model(description Message, exact bool, layers ...Message) []byte {
	net := Join(layers...)
	if exact {
		net = net.Int(5, 1).Int(6, 1)
	}
	return Message{}.Int(1, 4).Bytes(2, description).Bytes(500, net)
}
