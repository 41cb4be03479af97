package anesim

import (
	"anesim/loader/lower/join"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"anesim/loader"
	"anesim/loader/cache"
	"anesim/loader/layer"
	"anesim/loader/lower"
	"anesim/loader/network"
	"anesim/loader/network/list"
	"anesim/loader/network/onnx"
	"anesim/loader/network/partition"
	"anesim/loader/network/weights"
)

// A Kind says what a model is.
type Kind uint8

// Kinds of models.
const (
	KindProgram Kind = iota // a compiled program
	KindLayer               // one layer, to be lowered
	KindNetwork             // a network, to be lowered
)

// String names the kind.
func (k Kind) String() string {
	switch k {
	case KindProgram:
		return "program"
	case KindLayer:
		return "layer"
	case KindNetwork:
		return "network"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// A Model is what an engine can run: a compiled program, one layer, or a network. It may
// be run any number of times, from several goroutines at once.
type Model struct {
	name    string
	kind    Kind
	program *loader.Program   // of KindProgram
	net     *list.Network     // of the other kinds; a layer is a network of one
	keys    map[string]string // of KindLayer

	mu      sync.Mutex
	lowered *lowered // the last one made, so that a model that runs again need not be lowered again
}

// OpenOptions are what a file leaves open.
type OpenOptions struct {
	// Dims are the sizes of a network's dimensions by name; see [network.Options].
	Dims map[string]int
	// InMemory keeps every tensor between a network's layers in memory, where a compiler
	// would keep what fits in the L2.
	InMemory bool
	// Tables takes one table for functions that have an exact form of several layers; see
	// [network.Options].
	Tables bool
	// Program says what a bare text leaves open.
	Program loader.Options
}

// Open reads the model in a file, or in the directory of a Core ML package. See [Read].
func Open(path string) (*Model, error) { return new(OpenOptions).Open(path) }

// Read reads a model of size bytes. The end of its name says a network: .yaml or .yml a
// list of layers, .onnx an ONNX graph, .mlmodel and .mil a Core ML model or its program
// (see package [network]); so does the content of such a file under any other name. All else is a compiled program, whose form its content says (see [loader.Read]).
//
// Errors are those of the readers: *[network.FormatError], *[network.DimError],
// *[loader.FormatError], *[loader.UnsupportedError], or that of r.
func Read(name string, r io.ReaderAt, size int64) (*Model, error) {
	return new(OpenOptions).Read(name, r, size)
}

// Open is Open with options.
func (o *OpenOptions) Open(path string) (*Model, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() && isNetwork(path) {
		return o.network(path, func(n network.Options) (*list.Network, error) { return network.Open(path, n) })
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if !o.Program.InFile {
		defer f.Close()
	}
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, errors.New("is a directory")
	}
	if extension, err := networkExtension(path, f, info.Size()); err != nil {
		return nil, err
	} else if extension != "" && isNetwork(path) { // values of it may stand in other files
		return o.network(path, func(n network.Options) (*list.Network, error) { return network.Open(path, n) })
	}
	return o.Read(filepath.Base(path), f, info.Size())
}

// Read is Read with options. What of a network stands in other files is not read.
func (o *OpenOptions) Read(name string, r io.ReaderAt, size int64) (*Model, error) {
	if size == 0 {
		return nil, errors.New("the file is empty")
	}
	extension, err := networkExtension(name, r, size)
	if err != nil {
		return nil, err
	}
	if extension == "" {
		if len(o.Dims) > 0 {
			return nil, &OptionError{Option: "Dims", What: "a compiled program has no dimensions to give a size"}
		}
		p, err := o.Program.Read(name, r, size)
		if err != nil {
			return nil, err
		}
		return FromProgram(p), nil
	}
	if size < 0 || size > onnx.MaxBytes {
		return nil, &list.FormatError{Off: 0, What: fmt.Sprintf("file of %d bytes, at most %d are read", size, int64(onnx.MaxBytes))}
	}
	// ReadAll grows with what arrives: a size that is not true costs nothing.
	data, err := io.ReadAll(io.NewSectionReader(r, 0, size))
	if err != nil {
		return nil, err
	}
	return o.network(name, func(n network.Options) (*list.Network, error) {
		if !isNetwork(name) {
			return network.Read(name+extension, data, n)
		}
		return network.Read(name, data, n)
	})
}

// network is the model of a network that read reads.
func (o *OpenOptions) network(name string, read func(network.Options) (*list.Network, error)) (*Model, error) {
	n, err := read(network.Options{Dims: o.Dims, Tables: o.Tables})
	if err != nil {
		return nil, err
	}
	if n.Name == "" {
		base := filepath.Base(name)
		n.Name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	n.InMemory = n.InMemory || o.InMemory
	return FromNetwork(n), nil
}

// networkExtension returns the extension of a network's file: that of its name, or what its
// content would have, or "" of a compiled program.
func networkExtension(name string, r io.ReaderAt, size int64) (string, error) {
	head := make([]byte, min(4096, max(0, size)))
	n, err := r.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return "", err
	}
	head = head[:n]
	switch {
	case bytes.HasPrefix(head, []byte{0xce, 0xfa, 0xef, 0xbe}): // a container, whatever its name
		return "", nil
	case isNetwork(name):
		return strings.ToLower(filepath.Ext(filepath.Clean(name))), nil
	case listsLayers(head):
		return ".yaml", nil
	case bytes.HasPrefix(head, []byte("program(")):
		return ".mil", nil
	}
	return messageExtension(r, size), nil
}

// messageExtension returns the extension of a protocol-buffer message that is an ONNX or a
// Core ML model, "" of anything else. Both begin with a version; then an ONNX model has its
// graph in field 7, and a Core ML model its kind of model in a field from 200 on. The fields
// have to end where the file does.
func messageExtension(r io.ReaderAt, size int64) (extension string) {
	const (
		mostFields = 1 << 10
		onnxGraph  = 7
		coremlKind = 200
	)
	var tag [2 * binary.MaxVarintLen64]byte
	for at, fields := int64(0), 0; at < size; fields++ {
		n, _ := r.ReadAt(tag[:min(int64(len(tag)), size-at)], at)
		field, width := binary.Uvarint(tag[:n])
		if width <= 0 || fields == mostFields || at == 0 && field != 1<<3 {
			return ""
		}
		value, length := binary.Uvarint(tag[width:n])
		if length <= 0 {
			return ""
		}
		at += int64(width + length)
		switch field & 7 {
		case 0: // a number
		case 2: // so many bytes
			if value > uint64(size-at) {
				return ""
			}
			at += int64(value)
			switch number := field >> 3; {
			case number == onnxGraph:
				extension = ".onnx"
			case number >= coremlKind:
				extension = ".mlmodel"
			}
		default:
			return ""
		}
	}
	return extension
}

// isNetwork reports whether a name ends as a network's does.
func isNetwork(name string) bool {
	return slices.Contains(network.Extensions(), strings.ToLower(filepath.Ext(filepath.Clean(name))))
}

// listsLayers reports whether the start of a file is text with a key that only a list of
// layers has. A rune may be cut at the end.
func listsLayers(head []byte) bool {
	cut := head
	for i := 0; i < utf8.UTFMax && len(cut) > 0 && !utf8.Valid(cut); i++ {
		cut = cut[:len(cut)-1]
	}
	if !utf8.Valid(cut) || bytes.IndexByte(cut, 0) >= 0 {
		return false
	}
	for line := range bytes.Lines(cut) {
		if bytes.HasPrefix(line, []byte("layers:")) || bytes.HasPrefix(line, []byte("inputs:")) {
			return true
		}
	}
	return false
}

// FromProgram is the model of a program at hand.
func FromProgram(p *loader.Program) *Model {
	return &Model{name: p.Name, kind: KindProgram, program: p}
}

// FromNetwork is the model of a network at hand, which may not be changed from then on.
func FromNetwork(n *list.Network) *Model {
	return &Model{name: n.Name, kind: KindNetwork, net: n}
}

// Identity is the built-in program: a linear layer of 64 to 64 channels whose weights are
// the identity, in a container as the vendor's compiler writes one.
func Identity() *Model {
	p, err := lower.IdentityProgram()
	if err != nil { // it has no input to depend on
		panic(err)
	}
	return FromProgram(p)
}

// Layer is a model of one layer: an operation and its keys, each "key=value", as in
//
//	anesim.Layer("conv", "cin=256", "h=28", "w=28", "cout=256", "k=3", "pad=1")
//
// [keys.Operations] lists the operations with their keys. Its inputs are x and z (x0,
// x1, ... of a concat), its output y. Its constants are inputs too, which are
// pseudo-random unless they are given: "weights" ([cout][cin/groups][kh][kw], [k][n] of
// matmul, [n][k] of linear), "bias" and "second", a constant operand.
//
// Errors are a *[LayerError] or what the engine cannot do.
func Layer(op string, keys ...string) (*Model, error) {
	o, err := operation(op)
	if err != nil {
		return nil, err
	}
	values, err := o.ParseKeys(keys)
	if err != nil {
		return nil, layerError(op, err)
	}
	l, err := o.Single(values)
	if err != nil {
		return nil, refusal(op, values, layer.Memories{}, err)
	}
	l.Name = strings.Join(append([]string{op}, keys...), " ")
	l.Output = "y"
	n := &list.Network{Name: l.Name, Layers: []list.Layer{*l}, Outputs: []string{"y"}}
	return &Model{name: l.Name, kind: KindLayer, net: n, keys: values}, nil
}

// Name is the model's: that of its file or network, or a layer's operation and keys.
func (m *Model) Name() string { return m.name }

// Kind says what the model is.
func (m *Model) Kind() Kind { return m.kind }

// Network is the network of a model that is one or a single layer, nil of a program. It may
// not be changed.
func (m *Model) Network() *list.Network { return m.net }

// Programs are the programs that Run dispatches, in order: one of a program or a layer; of
// a network as few as its layers allow. Weights that the model does not have are made of
// o.Seed.
func (m *Model) Programs(ctx context.Context, o Options) ([]*loader.Program, error) {
	low, err := m.lower(ctx, &o, false)
	if err != nil {
		return nil, err
	}
	var list []*loader.Program
	for i := range low.programs {
		list = append(list, low.programs[i].Program)
	}
	return list, nil
}

// A lowered model is its programs.
type lowered struct {
	seed     uint64
	memories layer.Memories // that they are for
	sizes    bool           // programs that are only timed
	given    bool           // with weights that the options gave
	programs []partition.Program
	reasons  []string     // why a layer is in no program, "" where it is in one
	entry    *cache.Entry // that they are from or went to, nil without a cache
}

// Memories returns the memories that layers are lowered for: the L2 of the chip, but no larger
// than its addresses reach, and room for at least one word of weights in each lane.
func (o *Options) Memories() (m layer.Memories) {
	if n := o.Chip.L2Bytes.Value; 0 < n && n < layer.MaxL2 {
		m.L2 = int(n) &^ 63
	}
	if n := int(o.Chip.KernelMemory.Value) &^ 63; n > 0 && n != layer.MaxLane {
		m.Lane = n
	}
	return m
}

// lower makes the model's programs, or takes those of the run before: with sizes those
// that are only timed will do.
func (m *Model) lower(ctx context.Context, o *Options, sizes bool) (*lowered, error) {
	if m.kind == KindProgram {
		return ofProgram(m.program), nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.lowered; l != nil && l.seed == o.Seed && l.memories == o.Memories() && (!l.sizes || sizes) && !l.given && !o.givesWeights() {
		return l, nil
	}
	low := &lowered{seed: o.Seed, memories: o.Memories(), sizes: sizes, given: o.givesWeights()}
	make := func() error { return m.lowerAnew(ctx, low, o) }
	var err error
	if o.Cache != nil && !low.given {
		err = m.lowerCached(low, o, make)
	} else {
		err = make()
	}
	if err != nil {
		return nil, err
	}
	m.lowered = low
	return low, nil
}

// lowerAnew makes the programs of a layer or a network.
func (m *Model) lowerAnew(ctx context.Context, low *lowered, o *Options) (err error) {
	if m.kind == KindLayer {
		return m.lowerLayer(low, o)
	}
	meter := o.meter(StageLower, len(m.net.Layers))
	how := partition.Lowering{Seed: o.Seed, SizesOnly: low.sizes, Memories: low.memories, Done: meter.add}
	low.programs, low.reasons, err = partition.Lower(ctx, m.net, how)
	return err
}

// lowerLayer makes the program of a single layer.
func (m *Model) lowerLayer(low *lowered, o *Options) error {
	l := m.net.Layers[0]
	if err := takeWeights(&l, o); err != nil {
		return err
	}
	complete, make := weights.Streamed, lower.Lower
	if low.sizes {
		complete, make = weights.Sizes, lower.Sized
	}
	w, err := complete(&l, o.Seed)
	if err != nil {
		return refusal(l.Op, m.keys, low.memories, err)
	}
	l.Lower.Memories = low.memories
	p, err := make(l.Lower, w)
	if err != nil {
		return refusal(l.Op, m.keys, low.memories, err)
	}
	p.Name = m.name
	low.programs = []partition.Program{{Program: p, Runs: []join.Run{{First: 0, Tasks: p.TaskCount}}}}
	low.reasons = []string{""}
	return nil
}
