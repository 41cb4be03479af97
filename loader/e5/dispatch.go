package e5

import (
	"crypto/sha256"
	"fmt"

	"anesim/loader"
	"anesim/loader/enums"
)

// A Part is a piece of a network that the engine runs as one program.
type Part struct {
	Program   *loader.Program
	Container []byte // the program's container file
}

// New returns a dispatch descriptor, the vendor's list of execution steps, for a network that
// consists of the given parts. The steps are a cast to the engine's layout, one inference for each
// part in order, and a cast back. Tensors have the names of the ports of the parts. build becomes
// the build information. New returns an error if there are no parts.
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
	add(enums.OpTypeCast, host, engine, append(hostTensors, engineTensors...), half, nil)
	for i, part := range parts {
		if i > 0 {
			engine, engineTensors = describeTensors(part.Program, loader.Input, symbol, "")
		}
		out, outTensors := describeTensors(part.Program, loader.Output, symbol, "")
		add(enums.OpTypeAneInference, engine, out, append(engineTensors, outTensors...), nil, &Inference{
			Procedure: part.Program.Procedure,
			Hash:      fmt.Sprintf("%X", sha256.Sum256(part.Container)),
			Symbol:    fmt.Sprintf("program_%d", i),
			Options:   part.Program.Banner.Target,
		})
		engine, engineTensors = out, outTensors
	}
	back, backTensors := describeTensors(last, loader.Output, symbol, "host ")
	add(enums.OpTypeCast, engine, back, append(engineTensors, backTensors...), half, nil)
	return p, nil
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
