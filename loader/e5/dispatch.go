package e5

import (
	"crypto/sha256"
	"fmt"

	"anesim/internal/enums"
	"anesim/loader"
)

// A Part is a piece of a network that the engine runs as one program.
type Part struct {
	Program   *loader.Program
	Container []byte // the program's container file
}

// New returns a dispatch descriptor, the vendor's list of execution steps, for a network that
// consists of the given parts. The steps are a cast of each input from the host's dense layout to the
// engine's strides, one inference for each part in order, and a cast of each output back: a model with
// five states and an input has six casts, an inference and six casts (chapter 23). Tensors have the
// names of the ports of the parts. build becomes the build information. New returns an error if there
// are no parts.
func New(build []Entry, parts ...Part) (*Program, error) {
	if len(parts) == 0 {
		return nil, fmt.Errorf("dispatch descriptor has no programs; want at least one")
	}
	p := &Program{Build: build, Version: formatVersion}
	symbol := func(name string) uint32 {
		p.Symbols = append(p.Symbols, name)
		return uint32(len(p.Symbols) - 1)
	}
	add := func(kind enums.OpType, in, out []uint32, operands []Tensor, cast *Cast, inference *Inference) {
		// Each operation has two sections, so half of their number counts the operations.
		name := fmt.Sprintf("Op%d_%v", len(p.Sections)/2, kind)
		o := &Operation{Name: name, Type: kind, Inputs: in, Outputs: out, Frame: name + "__arg_frame", Attrs: name + "__op_attrs"}
		symbol(name)
		p.Sections = append(p.Sections,
			Section{Name: o.Frame, Kind: ArgFrame, Operation: o, Operands: operands},
			Section{Name: o.Attrs, Kind: Attributes, Cast: cast, Inference: inference})
	}
	half := &Cast{From: enums.TensorFloat16, To: enums.TensorFloat16, Pack: 1}
	first, last := parts[0].Program, parts[len(parts)-1].Program
	// The tensors on both sides of a cast have one name in the program. The prefix keeps their symbols
	// apart.
	host, hostTensors := describeTensors(first, loader.Input, symbol, "host ")
	engine, engineTensors := describeTensors(first, loader.Input, symbol, "")
	for i := range host {
		add(enums.OpTypeCast, host[i:i+1], engine[i:i+1], []Tensor{pack(hostTensors[i]), engineTensors[i]}, half, nil)
	}
	for i, part := range parts {
		if i > 0 {
			engine, engineTensors = describeTensors(part.Program, loader.Input, symbol, "")
		}
		out, outTensors := describeTensors(part.Program, loader.Output, symbol, "")
		add(enums.OpTypeAneInference, engine, out, append(engineTensors, outTensors...), nil, &Inference{
			Procedure: part.Program.Procedure,
			Hash:      hashOf(sha256.Sum256(part.Container)),
			Symbol:    fmt.Sprintf("program_%d", i),
			Options:   part.Program.Banner.Target,
		})
		engine, engineTensors = out, outTensors
	}
	back, backTensors := describeTensors(last, loader.Output, symbol, "host ")
	for i := range back {
		add(enums.OpTypeCast, engine[i:i+1], back[i:i+1], []Tensor{engineTensors[i], pack(backTensors[i])}, half, nil)
	}
	return p, nil
}

// hashOf returns the anehash of a container with the given SHA-256 digest: the SHA-256 of the digest,
// since the documents call it a double SHA-256 (chapter 5), in uppercase hexadecimal.
func hashOf(digest [sha256.Size]byte) string { return fmt.Sprintf("%X", sha256.Sum256(digest[:])) }

// pack returns tensor x with the dense strides of a host's array.
func pack(x Tensor) Tensor {
	x.Stride = make([]uint64, len(x.Dim))
	next := uint64(2) // bytes of an fp16 element
	for i := len(x.Dim) - 1; i >= 0; i-- {
		x.Stride[i] = next
		next *= x.Dim[i]
	}
	x.StrideBatch, x.StrideChannels, x.StrideHeight, x.StrideWidth = x.Stride[0], x.Stride[1], x.Stride[2], x.Stride[3]
	return x
}

// describeTensors returns the layouts of a program's ports in direction d, and the indices
// of their names in the symbol table. The function symbol adds a name to the table and
// returns its index.
func describeTensors(p *loader.Program, d loader.Direction, symbol func(string) uint32, prefix string) ([]uint32, []Tensor) {
	var names []uint32
	var list []Tensor
	for i := range p.Ports {
		q := &p.Ports[i]
		if q.Direction != d {
			continue
		}
		names = append(names, symbol(prefix+q.Name))
		x := Tensor{
			Batch: uint64(q.Shape[0]), Channels: uint64(q.Shape[1]), Height: uint64(q.Shape[2]), Width: uint64(q.Shape[3]), Sequence: 1,
			StrideBatch: q.Strides[0], StrideChannels: q.Strides[1], StrideHeight: q.Strides[2], StrideWidth: q.Strides[3],
			Type: enums.TensorFloat16, Pack: 1,
		}
		for i := range q.Shape {
			x.Dim, x.Stride = append(x.Dim, uint64(q.Shape[i])), append(x.Stride, q.Strides[i])
		}
		list = append(list, x)
	}
	return names, list
}
